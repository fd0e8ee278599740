"""What is free on the nodes: the private copy of the node table that one cycle plays with."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from domain.crowd import Crowd
from domain.host_ports import HostPorts
from domain.peers import Peer
from domain.profile import DEFAULT_PROFILE, Profile
from domain.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from domain.roster import Balance, Mask, Roster, Rows, Whole, whole_numbers
from domain.shapes import PodShape


class Ask(NamedTuple):
    """What one Pod of a shape takes.

    `columns` are pairs of column and amount; `unknown` are the resources for which there is no
    column, since no node has them. `taken`, of shape (R + 2,), is what it adds to `Room.used`.
    """

    columns: list[tuple[int, int]]
    unknown: list[str]
    cpu: int
    memory: int
    scored_cpu: int
    scored_memory: int
    taken: Whole


def ask_of(roster: Roster, shape: PodShape) -> Ask:
    """What one Pod of `shape` takes of the nodes in `roster`."""
    requests = {name: int(amount) for name, amount in shape.requests}
    scored = [int(shape.scored_cpu), int(shape.scored_memory)]
    taken = [1 if resource == PODS else requests.get(resource, 0) for resource in roster.resources]
    return Ask(
        columns=[(roster.column[name], amount) for name, amount in requests.items() if name in roster.column],
        unknown=[name for name in requests if name not in roster.column],
        cpu=requests.get(CPU, 0),
        memory=requests.get(MEMORY, 0),
        scored_cpu=scored[0],
        scored_memory=scored[1],
        taken=whole_numbers(taken + scored),
    )


class Load(NamedTuple):
    """cpu and memory of n nodes, as scores see them.

    `used` are true requests, `scored` those with defaults for containers that state none. `balance`
    is None where it does not fit int64. `others` are further resources that the profile scores and
    the Pod asks for: what the nodes have, and what is in use once the Pod is there.
    """

    cpu: Whole
    memory: Whole
    used_cpu: Whole
    used_memory: Whole
    scored_cpu: Whole
    scored_memory: Whole
    balance: Balance | None
    others: dict[str, tuple[Whole, Whole]]


class Watcher(Protocol):
    """Someone who wants to know of every Pod that is put into a room or taken out again."""

    def note(self, peer: Peer, row: int, times: int) -> None:
        """`times` more Pods like `peer` are on the node in `row`."""


T = TypeVar("T")
W = TypeVar("W", bound=Watcher)

_LARGEST_TOGETHER = 2**40
"""More of something than this, many times over on a node that has no such room, may not fit int64."""

_KEPT_NODES = 5_000_000
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
        self._kept: dict[tuple[Callable[..., Any], PodShape], Any] = {}
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
        at = {outer: inside for inside, outer in enumerate(rows.tolist())}
        inner.expected = {at[row]: list(peers) for row, peers in self.expected.items() if row in at}
        return inner

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

    def load(self, shape: PodShape, rows: Rows | slice, placed: NDArray[np.int64] | int = 0) -> Load:
        """cpu and memory of `rows` once `placed` more Pods of `shape` are on each of them."""
        cpu, memory, ask = self.roster.column[CPU], self.roster.column[MEMORY], self.ask(shape)
        used = [self.used[column][rows] for column in (cpu, memory, -2, -1)]
        if isinstance(placed, np.ndarray):
            asked = (ask.cpu, ask.memory, ask.scored_cpu, ask.scored_memory)
            placed = placed.astype(self.used.dtype)
            used = [column + placed * amount for column, amount in zip(used, asked, strict=True)]
        balance = None if self._wide else self.roster.balance
        used_cpu, used_memory, scored_cpu, scored_memory = used
        others = {
            resource: (self.allocatable[column][rows], self._in_use(column, ask, rows, placed))
            for resource, column in self._other_columns(ask)
        }
        return Load(
            cpu=self.allocatable[cpu][rows],
            memory=self.allocatable[memory][rows],
            used_cpu=used_cpu,
            used_memory=used_memory,
            scored_cpu=scored_cpu,
            scored_memory=scored_memory,
            balance=balance and Balance(balance.product[rows], balance.factor[rows]),
            others=others,
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

    def kept(self, make: Callable[["Room", PodShape], T], shape: PodShape) -> T:
        """`make(self, shape)`, made once for as long as it is among the newest of some size."""
        found: T | None = self._kept.get((make, shape))
        if found is None:
            if len(self._kept) >= max(1, _KEPT_NODES // len(self)):
                del self._kept[next(iter(self._kept))]
            found = self._kept[make, shape] = make(self, shape)
        return found

    def _add(self, rows: Sequence[int], shape: PodShape, times: int, told: Watcher | None = None) -> None:
        taken = self._taken(shape)
        counts: Mapping[int, int] = {rows[0]: 1} if len(rows) == 1 else Counter(rows)
        self.touched.extend(counts)
        for row, count in counts.items():
            self.used[:, row] += taken * (count * times)
            if shape.peer is not None:
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

    def _in_use(self, column: int, ask: Ask, rows: Rows | slice, placed: NDArray[np.int64] | int) -> Whole:
        """What is in use of a resource on `rows` with `placed` Pods and one more."""
        more = placed.astype(self.used.dtype) + 1 if isinstance(placed, np.ndarray) else 1 + placed
        used: Whole = self.used[column][rows] + more * ask.taken[column]
        return used

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
