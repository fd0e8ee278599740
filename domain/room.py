"""What is free on the nodes: the private copy of the node table that one cycle plays with."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import add
from typing import Any, NamedTuple, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from domain.crowd import Crowd
from domain.host_ports import HostPorts
from domain.peers import Peer
from domain.profile import DEFAULT_PROFILE, Profile
from domain.resources import EPHEMERAL_STORAGE, PODS
from domain.roster import CPU_AND_MEMORY, Balance, Mask, Roster, Rows, Whole, whole_numbers
from domain.shapes import PodShape


class Ask(NamedTuple):
    """What one Pod of a shape takes.

    `columns` are pairs of column and amount; `unknown` are the resources for which there is no
    column, since no node has them. `amounts` and `taken`, of R + 2, are what it adds to `Room.used`;
    `requested` and `scored`, of shape (2, 1), are its cpu and memory, true and as scores count them.
    """

    columns: list[tuple[int, int]]
    unknown: list[str]
    amounts: list[int]
    taken: Whole
    requested: Whole
    scored: Whole


def ask_of(roster: Roster, shape: PodShape) -> Ask:
    """What one Pod of `shape` takes of the nodes in `roster`."""
    requests = {name: int(amount) for name, amount in shape.requests}
    amounts = [1 if resource == PODS else requests.get(resource, 0) for resource in roster.resources]
    amounts += [int(shape.scored_cpu), int(shape.scored_memory)]
    taken = whole_numbers(amounts)
    return Ask(
        columns=[(roster.column[name], amount) for name, amount in requests.items() if name in roster.column],
        unknown=[name for name in requests if name not in roster.column],
        amounts=amounts,
        taken=taken,
        requested=taken[CPU_AND_MEMORY, np.newaxis],
        scored=taken[SCORED, np.newaxis],
    )


class Load(NamedTuple):
    """cpu and memory of n nodes, as scores see them, for one more Pod on each of them.

    `allocatable` and `divisor`, the same but 1 where there is none, are of shape (2, n); `both`, of
    shape (n,), is 1 for nodes that have cpu and memory, else 0. `used`, of shape (2, 2, n), are true
    requests without and with the Pod: first cpu, then memory. `scored`, of shape (2, n), is what is in use
    with the Pod, with defaults for containers that state none. `balance` is None where it does not fit
    int64. `others` are further resources that the profile scores and the Pod asks for: what the nodes
    have, and what is in use with the Pod.
    """

    allocatable: Whole
    divisor: Whole
    both: NDArray[np.int64]
    used: Whole
    scored: Whole
    balance: Balance | None
    others: dict[str, tuple[Whole, Whole]]


class LoadAt(NamedTuple):
    """The same of one node: what is `used` without the Pod, what the Pod has `requested`, what is `scored`
    with it."""

    cpu: int
    memory: int
    used_cpu: int
    used_memory: int
    requested_cpu: int
    requested_memory: int
    scored_cpu: int
    scored_memory: int


class Watcher(Protocol):
    """Someone who wants to know of every Pod that is put into a room or taken out again."""

    def note(self, peer: Peer, row: int, times: int) -> None:
        """`times` more Pods like `peer` are on the node in `row`."""


class Kept:
    """What is known of the nodes of a room, which `Room.kept` brings up to date with what was touched.

    It does not hold the room, so that a room goes as soon as nobody needs it.
    """

    def __init__(self, room: "Room") -> None:
        self._seen = len(room.touched)

    def over(self) -> Self:
        """The same for a copy of the room."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._seen = 0
        other._part()
        return other

    def catch_up(self, room: "Room") -> None:
        """Look again at the nodes of `room` that were touched since."""
        touched = room.touched[self._seen :]
        if touched:
            self._seen += len(touched)
            self._look_again(room, touched)

    def _look_again(self, room: "Room", touched: list[int]) -> None:
        """Something was changed on the nodes in these rows, which may repeat."""
        raise NotImplementedError

    def _part(self) -> None:
        """Have arrays of its own from now on instead of those of what it is a copy of."""
        raise NotImplementedError


K = TypeVar("K", bound=Kept)
A = TypeVar("A", bound=Hashable)
W = TypeVar("W", bound=Watcher)

SCORED = slice(-2, None)
"""The columns of `Room.used` with cpu and memory as scores count them."""

_FEW = 8
"""So many Pods are put on their nodes sooner one by one than together."""

_LARGEST_TOGETHER = 2**40
"""More of something than this, many times over on a node that has no such room, may not fit int64."""

_KEPT_NODES = 2_000_000
"""Shapes times nodes of which something is kept; it takes a few dozen bytes each."""


class Room:
    """Allocatable and used amounts of N nodes, in the order of their names.

    `allocatable` is (R, N) in the order of `roster.resources`; `used` is (R + 2, N): the same, then
    cpu and memory with the defaults of scoring. A row is an index into `roster.names`. `crowd` are the
    Pods that were there when the cycle began; `watching` is told who has come or gone since. `profile` is
    what says which of the filters and scores count for the Pods that are tried here. `outer` is the room
    that this one is a part of, if any, with the rows of its nodes there.
    """

    def __init__(
        self,
        roster: Roster,
        used: Whole,
        ports: HostPorts,
        crowd: Crowd,
        profile: Profile = DEFAULT_PROFILE,
        outer: "tuple[Room, Rows] | None" = None,
    ) -> None:
        self.roster = roster
        self.profile = profile
        self.outer = outer
        self.allocatable = roster.allocatable
        self.used = used
        self.ports = ports
        self._reserved: Whole | None = None
        """What nominated Pods will use, as `used`: filters count it, scores do not."""
        self.crowd = crowd
        self._lent = False
        """Whether `ports` belong to another room, too, and must not be changed."""
        self.expected: dict[int, list[Peer]] = {}
        """What rules see of the Pods for whom room is kept, by row: they count on that node only."""
        self._assumed: dict[tuple[Peer, int], int] = {}
        self._watchers: dict[PodShape, Watcher] = {}
        self._kept: dict[tuple[Callable[..., Any], Hashable], Any] = {}
        self._basis: tuple[Room, int] | None = None
        """The room that this one is a copy of, and how much was touched there when it became one."""
        self._outer_touched = 0 if outer is None else len(outer[0].touched)
        self.touched: list[int] = []
        """The rows of the nodes on which something was changed, in order."""
        if np.object_ in (self.allocatable.dtype, self.used.dtype):
            self._widen()

    def __len__(self) -> int:
        return len(self.roster)

    @property
    def names(self) -> list[str]:
        """The names of the nodes, by row."""
        return self.roster.names

    def within(self, key: str, domain: int) -> "Room":
        """What is free on the nodes of one domain of the label `key`: a room that has no others.

        `domain` is a number in `roster.domains(key)`. What is assumed there is not assumed here. Rules
        about other Pods look beyond it, at the nodes of this room, too.
        """
        rows = self.roster.domains(key).rows_of(domain)
        part = self.roster.part(key, domain)
        inner = Room(part, self.used[:, rows], self.ports, self.crowd, self.profile, (self, rows))
        self._lent = inner._lent = True
        if self._reserved is not None:
            inner._reserved = self._reserved[:, rows]
        if self.expected:
            at = {outer: inside for inside, outer in enumerate(rows.tolist())}
            inner.expected = {at[row]: list(peers) for row, peers in self.expected.items() if row in at}
        return inner

    def inside(self, key: str, name: str) -> "Room":
        """`within` the domain of `key` with this name."""
        return self.within(key, self.roster.domains(key).names.index(name))

    def for_cycle(self) -> "Room":
        """An independent copy for one cycle, which goes on from what is kept here."""
        copy = Room(self.roster, self.used.copy(), self.ports.copy(), self.crowd, self.profile)
        copy._basis = (self, len(self.touched))
        return copy

    def follow(self, used: Whole, rows: Iterable[int]) -> None:
        """Go on with `used`, which is what it was but for the nodes in `rows`."""
        self.used = used
        self.touched.extend(rows)
        if np.object_ in (self.allocatable.dtype, used.dtype):
            self._widen()

    def unchanged_outer(self) -> "tuple[Room, Rows] | None":
        """`outer`, as long as nothing was touched there since this room became a part of it."""
        return None if self.outer is None or len(self.outer[0].touched) > self._outer_touched else self.outer

    def copy(self) -> "Room":
        """The same room for Pods that no rule sees."""
        copy = Room(self.roster, self.used.copy(), self.ports, self.crowd, self.profile)
        self._lent = copy._lent = True
        copy._reserved = self._reserved
        return copy

    def filled(self, counts: NDArray[np.int64], shape: PodShape) -> "Room":
        """A copy with so many Pods of `shape` on each node."""
        filled = self.copy()
        taken = filled.ask(shape).taken[:, np.newaxis]
        filled.used += taken * counts.astype(filled.used.dtype)
        return filled

    def assume_each(self, rows: Rows, shape: PodShape) -> None:
        """Put a Pod of `shape`, that no rule sees and that has no host ports, on each of `rows`."""
        taken = self.ask(shape).taken[:, np.newaxis]
        self.used[:, rows] += taken
        self.touched.extend(rows.tolist())

    def ask(self, shape: PodShape) -> Ask:
        """What one Pod of `shape` takes."""
        ask = self.roster.remembered(ask_of, shape)
        if ask.taken.dtype == np.object_ or (self._overfills and np.any(ask.taken > _LARGEST_TOGETHER)):
            self._widen()
        return ask

    def free(self, column: int, rows: Rows | slice = slice(None)) -> Whole:
        """What is left of a resource on `rows`; negative where more is in use than there is."""
        free: Whole = self.allocatable[column][rows] - self.used[column][rows]
        return free if self._reserved is None else free - self._reserved[column][rows]

    def taken_ports(self, shape: PodShape) -> Mask:
        """The nodes on which a host port that `shape` wants is taken."""
        return self.roster.mask(self.ports.conflicts(shape.host_ports))

    def capacity(self, shape: PodShape, rows: Rows | slice, limit: int) -> NDArray[np.int64]:
        """How many more Pods of `shape` each of `rows` has room for, at most `limit`.

        Resources and host ports are looked at by the filters that are on.
        """
        ask = self.ask(shape)
        if self._overfills:
            fits: Whole = np.full(self.used[0][rows].shape, limit, dtype=np.int64)
        else:
            fits = np.minimum(self.free(self.roster.column[PODS], rows), 0 if ask.unknown else limit)
            for column, amount in ask.columns:
                fits = np.minimum(fits, self.free(column, rows) // amount)
        if shape.host_ports and self.profile.filters_by("NodePorts"):
            fits = np.minimum(fits, np.where(self.taken_ports(shape)[rows], 0, 1))
        return np.maximum(fits, 0).astype(np.int64)

    def capacity_at(self, shape: PodShape, row: int, limit: int) -> int:
        """`capacity` of one node, which takes no arrays."""
        if shape.host_ports or self._overfills:
            return int(self.capacity(shape, np.array([row]), limit)[0])
        ask = self.ask(shape)
        if ask.unknown:
            return 0
        allocatable: list[int] = self.allocatable[:, row].tolist()
        used: list[int] = self.used[:, row].tolist()
        if self._reserved is not None:
            used = list(map(add, used, self._reserved[:, row].tolist()))
        pods = self.roster.column[PODS]
        places = min(limit, allocatable[pods] - used[pods])
        for column, amount in ask.columns:
            places = min(places, (allocatable[column] - used[column]) // amount)
        return max(places, 0)

    def load(self, shape: PodShape, rows: Rows | slice, placed: NDArray[np.int64] | int = 0) -> Load:
        """cpu and memory of `rows` for one more Pod of `shape` after `placed` more."""
        ask, shares = self.ask(shape), self.roster.shares
        counts: Whole = np.arange(2)[:, np.newaxis] + placed  # without the Pod, and with it
        if self._wide:
            counts = counts.astype(np.object_)
        balance = None if self._wide else self.roster.balance
        return Load(
            allocatable=self.allocatable[CPU_AND_MEMORY, rows],
            divisor=shares.divisor[:, rows],
            both=shares.both[rows],
            used=self.used[CPU_AND_MEMORY, rows][:, np.newaxis] + ask.requested[:, np.newaxis] * counts,
            scored=self.used[SCORED, rows] + ask.scored * counts[1],
            balance=balance and Balance(balance.product[rows], balance.factor[rows]),
            others={
                resource: (
                    self.allocatable[column][rows],
                    self.used[column][rows] + counts[1] * ask.taken[column],
                )
                for resource, column in self._other_columns(ask)
            },
        )

    def load_at(self, shape: PodShape, row: int) -> LoadAt:
        """`load` of one node, in Python's integers."""
        # pods, cpu, memory, others; of what is used, then cpu and memory as scores count them
        _, more_cpu, more_memory, *_, scored_cpu, scored_memory = self.ask(shape).amounts
        _, cpu, memory, *_ = self.allocatable[:, row].tolist()
        _, used_cpu, used_memory, *_, all_cpu, all_memory = self.used[:, row].tolist()
        return LoadAt(
            cpu,
            memory,
            used_cpu,
            used_memory,
            more_cpu,
            more_memory,
            all_cpu + scored_cpu,
            all_memory + scored_memory,
        )

    def assume(self, row: int, shape: PodShape) -> None:
        """Put a Pod of `shape` on the node in `row`."""
        self.assume_all([row], shape)

    def assume_all(self, rows: Sequence[int], shape: PodShape, told: Watcher | None = None) -> None:
        """Put a Pod of `shape` on the node in each of `rows`, which may repeat.

        `told` has heard of them already.
        """
        self._add(rows, shape, 1, told)
        if shape.host_ports:
            ports = self._own_ports()
            for row in rows:
                ports.take(self.roster.names[row], shape.host_ports)

    def reserve(self, row: int, shape: PodShape) -> None:
        """Keep room for a Pod of `shape` that is nominated to the node in `row`: whoever comes there must
        fit with it, and without it."""
        taken = self.ask(shape).taken
        if self._reserved is None:
            self._reserved = np.zeros_like(self.used)
        self._reserved[:, row] += taken
        self.touched.append(row)
        if shape.host_ports:
            self._own_ports().take(self.roster.names[row], shape.host_ports)
        if shape.peer is not None:
            self.expected.setdefault(row, []).append(shape.peer)

    def forget(self, row: int, shape: PodShape) -> None:
        """Undo `assume`."""
        self._add([row], shape, -1)
        if shape.host_ports:
            self._own_ports().give_back(self.roster.names[row], shape.host_ports)

    def forget_all(self, counts: Mapping[int, int], shape: PodShape) -> None:
        """Take so many Pods of `shape` off the node in each row. Of those of the crowd, `shape` must have
        the peer that they have there, if any rule is in play."""
        taken = self._taken(shape)
        self.used[:, list(counts)] -= taken[:, np.newaxis] * np.array(list(counts.values()))
        self.touched.extend(counts)
        if shape.host_ports:
            ports = self._own_ports()
            for row, count in counts.items():
                for _ in range(count):
                    ports.give_back(self.roster.names[row], shape.host_ports)
        if shape.peer is not None:
            for row, count in counts.items():
                self._note(shape.peer, row, -count)

    def watching(self, make: Callable[["Room", PodShape], W], shape: PodShape) -> W:
        """`make(self, shape)`, made once and told of all Pods with a peer that have come or gone, or will."""
        found = self._watchers.get(shape)
        if found is None:
            found = self._watchers[shape] = make(self, shape)
            for (peer, row), times in self._assumed.items():
                found.note(peer, row, times)
        return cast("W", found)

    def _own_ports(self) -> HostPorts:
        if self._lent:
            self.ports, self._lent = self.ports.copy(), False
        return self.ports

    def kept(self, make: Callable[["Room", A], K], about: A) -> K:
        """`make(self, about)` as of now, made once for as long as it is among the last that were asked for.

        In a room for a cycle it begins with what earlier cycles found out.
        """
        found: K | None = self._kept.pop((make, about), None)
        if found is None:
            found = self._inherited(make, about)
        if found is None:
            found = make(self, about)
            if len(self._kept) >= max(1, _KEPT_NODES // len(self)):
                del self._kept[next(iter(self._kept))]
        self._kept[make, about] = found
        found.catch_up(self)
        return found

    def _inherited(self, make: Callable[["Room", A], K], about: A) -> K | None:
        """What the room that this one is a copy of has kept; None if that has gone its own way since."""
        if self._basis is None:
            return None
        basis, touched = self._basis
        return basis.kept(make, about).over() if len(basis.touched) == touched else None

    def _add(self, rows: Sequence[int], shape: PodShape, times: int, told: Watcher | None = None) -> None:
        taken = self._taken(shape)
        taken = taken if times == 1 else taken * times
        if len(rows) <= _FEW:
            for row in rows:
                self.used[:, row] += taken
            self.touched.extend(rows)
        else:
            counts = Counter(rows)
            self.used[:, list(counts)] += taken[:, np.newaxis] * np.array(list(counts.values()))
            self.touched.extend(counts)
        if shape.peer is not None:
            for row, count in Counter(rows).items():
                self._note(shape.peer, row, count * times, told)

    def _taken(self, shape: PodShape) -> Whole:
        """What one Pod of `shape` adds to `used`, fit to be multiplied."""
        taken = self.ask(shape).taken
        return taken.astype(np.object_, copy=False) if self._wide else taken

    def _note(self, peer: Peer, row: int, times: int, told: Watcher | None = None) -> None:
        self._assumed[peer, row] = self._assumed.get((peer, row), 0) + times
        for watcher in self._watchers.values():
            if watcher is not told:
                watcher.note(peer, row, times)

    def _other_columns(self, ask: Ask) -> list[tuple[str, int]]:
        """Resources beside cpu and memory that are scored for a Pod, with their columns.

        Extended ones are where it asks for them. Source: kube-scheduler 1.37, NodeResourcesFit.
        """
        column = self.roster.column
        return [
            (name, column[name])
            for name in self.profile.other_resources
            if name in column and (name == EPHEMERAL_STORAGE or ask.taken[column[name]])
        ]

    @property
    def _overfills(self) -> bool:
        """Whether Pods may be put where there is no room for them."""
        return not self.profile.filters_by("NodeResourcesFit")

    @property
    def _wide(self) -> bool:
        return self.used.dtype == np.object_

    def _widen(self) -> None:
        """Go on with Python's integers, since some amount is too large for int64."""
        self.allocatable = self.allocatable.astype(np.object_, copy=False)
        self.used = self.used.astype(np.object_, copy=False)
        if self._reserved is not None:
            self._reserved = self._reserved.astype(np.object_, copy=False)
