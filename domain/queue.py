"""The scheduling queue: what waits, in which lane, and who is tried next.

An entity is a standalone Pod or the root of a group tree with all of its pending Pods. Its lane is
a function of what the log says and the time: no event is needed for a backoff to end. The queue
itself only keeps indexes, so that finding the next entity costs nothing for those that rest.
Source: kube-scheduler 1.37, scheduling queue; a refused entity rests until something changed
(docs/decisions/0008-no-attempt-without-a-reason.md).
"""

import enum
import heapq
from collections.abc import Iterator
from math import isqrt
from typing import Any, NamedTuple, TypeVar

import msgspec

from domain.shapes import PodShape
from domain.times import SECOND

SILENCE_US = 300 * SECOND
"""How long the Pods of an incomplete tree are held before they say so: as long as kube-scheduler
leaves anything in the unschedulable lane."""

SortKey = tuple[int, int, int, str, str, str]

Entry = TypeVar("Entry", bound=tuple[Any, ...])
"""What a heap holds: ends with the ticket and the name of an entity."""


class Lane(enum.StrEnum):
    """Where an entity waits. The values are those of kube-scheduler's queue metrics."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    INCOMPLETE = "incomplete"


class Verdict(enum.IntEnum):
    """How the last attempt of an entity ended, while it has not been tried again."""

    UNTRIED = 0
    """Not tried yet, or tried with success and members left over: it is due at once."""
    REJECTED = 1
    ERROR = 2
    WAITING = 3
    """Rejected, and there will be room once the victims of its preemption have ended."""


class Hold(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Why an entity may not enter the active lane; `text` as kube-scheduler logs it."""

    lane: Lane
    plugin: str
    text: str


class Stir(enum.IntEnum):
    """What kind of change could turn a refusal around, from rare to frequent.

    An entity sleeps on the last kind that can matter to it. Which changes of that kind do is for the
    hints to say (`domain.hints`); erring means trying once too often, never too seldom.
    """

    OWN = 0
    """Only its own Pods and groups."""
    ROOM = 1
    """More room on a node that it could have: the node came or changed, or something left it."""
    MOVE = 2
    """Anything that changes which node would be chosen, such as a Pod bound elsewhere."""
    RULE = 3
    """What only rules about other Pods can see, such as a Pod that began to end."""


class Asks(NamedTuple):
    """What a refused entity asks for: `pods` Pods, of the distinct `shapes`.

    `keys` are the labels that groups below a root choose a domain of. What one chooses is not there for the
    next, and the choice depends on all that is in use in a domain, whoever could be there.
    """

    shapes: tuple[PodShape, ...]
    pods: int
    keys: tuple[str, ...] = ()


class Wish(NamedTuple):
    """What all entities that are woken by the same changes have in common, but for their size."""

    stir: Stir
    shapes: tuple[PodShape, ...]
    keys: tuple[str, ...] = ()


class Entity(msgspec.Struct, kw_only=True, gc=False, array_like=True):
    """One thing in the queue. `name` is its subject: `Pod/default/a` or `PodGroup/default/g`.

    `timestamp` is when it began to wait (microseconds); `attempts` counts all attempts of this
    entity, `unschedulable` and `errors` those that its backoff is counted from. `changed` is the
    position of the last event about itself, `woken` that of the first other one since its last attempt
    that could matter to it, `snapshot` the one this attempt was decided on,
    `last_attempt` where that attempt stands, and `findings` a digest of what it found, which stand
    at `findings_at`. `incomplete_us` is since when some group above its Pods has been missing, or the way
    up to a root has had no end (microseconds); None where there is a root.
    """

    name: str
    uid: str
    priority: int
    timestamp: int
    arrival: int
    is_pod: bool
    attempts: int = 0
    unschedulable: int = 0
    errors: int = 0
    verdict: Verdict = Verdict.UNTRIED
    wakes_on: Stir = Stir.OWN
    changed: int = 0
    woken: int = 0
    snapshot: int = 0
    due_us: int = 0
    last_attempt: int = 0
    findings: bytes = b""
    findings_at: int = 0
    hold: Hold | None = None
    incomplete_us: int | None = None

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]

    @property
    def key(self) -> str:
        return self.name.partition("/")[2]

    @property
    def speaks_us(self) -> int | None:
        """The moment at which its Pods say that their tree is incomplete; None if it is not."""
        if self.incomplete_us is None or self.hold is None or self.hold.lane is not Lane.INCOMPLETE:
            return None
        return self.incomplete_us + SILENCE_US

    @property
    def rejected(self) -> bool:
        """Whether its last attempt found no room, or none yet."""
        return self.verdict in (Verdict.REJECTED, Verdict.WAITING)

    def order(self) -> SortKey:
        """Who goes first in the active lane: the smaller key."""
        _, namespace, name = self.name.split("/")
        return (-self.priority, self.timestamp, self.arrival, namespace, name, self.uid)


def backoff_us(count: int, pods: int, *, initial: int, longest: int) -> int:
    """How long an entity with `pods` queued Pods backs off after `count` failures in a row.

    Doubles from `initial` up to `longest` × sqrt(pods), in whole microseconds.
    """
    cap = longest if pods <= 1 else isqrt(longest * longest * pods)
    if count > cap.bit_length():
        return cap
    return min(initial << (count - 1), cap)


def due_after(timestamp: int, backoff: int) -> int:
    """The first moment at which the backoff is over: lanes are looked at on whole seconds."""
    return ((timestamp + backoff) // SECOND + 1) * SECOND


_NOTHING = Asks((), 0)
_FEW = 32
"""Overtaken entries that a heap may have whatever its size."""


class Queue:
    """All entities, and the indexes that find the next one.

    `stirred[k]` is the position of the last change of kind `k`, whomever it could help: what counts
    for attempts that were under way then. The heaps may hold entries that have been overtaken; an
    entry counts while its ticket is the entity's latest.
    """

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self.stirred = [0] * len(Stir)
        self._tickets: dict[str, int] = {}
        self._issued = 0
        self._untried: dict[str, int] = {}
        """Tickets of those that became due at once and have no place in `_ready` yet, by name."""
        self._ready: list[tuple[SortKey, int, str]] = []
        self._waiting: list[tuple[int, SortKey, int, str]] = []
        self._poppable: list[tuple[int, SortKey, int, str]] = []
        self._silent: list[tuple[int, int, str]] = []
        self._asks: dict[str, Asks] = {}
        self._asleep: list[dict[Wish, dict[int, dict[str, int]]]] = [{} for _ in Stir]
        """Tickets of those that sleep, by kind, wish, number of Pods and name."""
        self._beds: dict[str, tuple[Wish, int]] = {}
        """Where in `_asleep` each of them is."""
        self.by_clock = False

    def lane(self, entity: Entity, now: int) -> Lane:
        """The lane in which `entity` is at `now`."""
        if entity.hold is not None:
            return entity.hold.lane
        if entity.verdict is Verdict.UNTRIED:
            return Lane.ACTIVE
        awake = self.awake(entity)
        if now < entity.due_us and (awake or not entity.is_pod):
            return Lane.BACKOFF
        return Lane.ACTIVE if awake else Lane.UNSCHEDULABLE

    def awake(self, entity: Entity) -> bool:
        """Whether the log holds something newer than its last attempt that could matter."""
        if self.by_clock and not (entity.is_pod and entity.rejected):
            return True
        return self.woken_at(entity) > entity.snapshot

    def woken_at(self, entity: Entity) -> int:
        """The position of the last change that could matter to `entity`."""
        return max(entity.changed, entity.woken)

    def put(self, entity: Entity, asks: Asks | None = None) -> None:
        """Take in `entity`, or look again at one whose standing has changed.

        `asks` is what it asked for in its last attempt, if that is news.
        """
        name = entity.name
        self.entities[name] = entity
        self._issued += 1
        ticket = self._tickets[name] = self._issued
        if self._beds:
            self._no_longer_asleep(name)
        if asks is not None:
            self._asks[name] = asks
        if entity.hold is not None:
            if (speaks := entity.speaks_us) is not None:
                self._push(self._silent, (speaks, ticket, name))
            return
        if entity.verdict is Verdict.UNTRIED:
            self._untried[name] = ticket
        elif self.awake(entity):
            self._await_due(entity, ticket)
        elif entity.wakes_on is not Stir.OWN:
            shapes, pods, keys = self._asks.get(name, _NOTHING)
            wish = Wish(entity.wakes_on, shapes, keys)
            self._asleep[wish.stir].setdefault(wish, {}).setdefault(pods, {})[name] = ticket
            self._beds[name] = wish, pods

    def drop(self, name: str) -> None:
        """Forget an entity that has no pending Pod any more."""
        if self.entities.pop(name, None) is not None:
            del self._tickets[name]
            self._untried.pop(name, None)
            self._no_longer_asleep(name)
            self._asks.pop(name, None)

    def note(self, kind: Stir, position: int) -> None:
        """Something of `kind` happened at `position`, whoever is to be woken by it."""
        self.stirred[kind] = position

    def last_stir(self, kind: Stir) -> int:
        """The position of the last change of `kind` or of a rarer one; 0 if there was none."""
        return max(self.stirred[1 : kind + 1], default=0)

    def stir(self, kind: Stir, position: int) -> None:
        """Something of `kind` happened at `position`: wake all that sleep on it or on a later one."""
        self.note(kind, position)
        for wish in self.wishes(kind):
            self.wake(wish, position)

    @property
    def anyone_sleeps(self) -> bool:
        """Whether somebody waits for more than a change of its own."""
        return bool(self._beds)

    def wishes(self, kind: Stir = Stir.ROOM) -> list[Wish]:
        """What there is that somebody sleeps on, from `kind` on."""
        return [wish for wishes in self._asleep[kind:] for wish in wishes]

    def wake(self, wish: Wish, position: int, *, beyond: int = -1) -> None:
        """Wake those with `wish` that have more than `beyond` Pods, for what happened at `position`."""
        sizes = self._asleep[wish.stir][wish]
        for pods in [pods for pods in sizes if pods > beyond]:
            for name, ticket in sizes.pop(pods).items():
                entity = self.entities[name]
                entity.woken = position
                del self._beds[name]
                self._await_due(entity, ticket)
        if not sizes:
            del self._asleep[wish.stir][wish]

    def rouse(self, name: str, position: int) -> None:
        """Wake one entity, if it sleeps on anything but its own Pods."""
        if self._no_longer_asleep(name):
            entity = self.entities[name]
            entity.woken = position
            self._await_due(entity, self._tickets[name])

    def _no_longer_asleep(self, name: str) -> bool:
        """Take `name` out of those that sleep; whether it was there."""
        bed = self._beds.pop(name, None)
        if bed is None:
            return False
        wish, pods = bed
        by_size = self._asleep[wish.stir][wish]
        del by_size[pods][name]
        if not by_size[pods]:
            del by_size[pods]
            if not by_size:
                del self._asleep[wish.stir][wish]
        return True

    def _await_due(self, entity: Entity, ticket: int) -> None:
        early = entity.is_pod and entity.rejected
        heap = self._poppable if early else self._waiting
        self._push(heap, (entity.due_us, entity.order(), ticket, entity.name))

    def _push(self, heap: list[Entry], entry: Entry) -> None:
        """Add `entry` to `heap`, which does not come to hold more overtaken entries than others."""
        if len(heap) > 2 * len(self._tickets) + _FEW:
            heap[:] = filter(self._counts, heap)
            heapq.heapify(heap)
        heapq.heappush(heap, entry)

    def _counts(self, entry: tuple[Any, ...]) -> bool:
        return bool(self._tickets.get(entry[-1]) == entry[-2])

    def first_due(self, now: int) -> Entity | None:
        """The entity to try at `now`: the head of the active lane; if that is empty, the single
        Pod that is first in backoff (kube-scheduler's SchedulerPopFromBackoffQ)."""
        self._line_up()
        for heap in (self._waiting, self._poppable):
            while (entry := self._head(heap)) is not None and entry[0] <= now:
                heapq.heappop(heap)
                heapq.heappush(self._ready, (entry[1], entry[2], entry[3]))
        if (ready := self._head(self._ready)) is not None:
            entity = self.entities[ready[-1]]
            if self.lane(entity, now) is Lane.ACTIVE:
                return entity
            return self._first_due_by_search(now)
        poppable = self._head(self._poppable)
        return None if poppable is None else self.entities[poppable[-1]]

    @property
    def crowded(self) -> bool:
        """Whether more than one entity may be due; never wrong in saying no to what `first_due` has seen."""
        self._line_up()
        return len(self._ready) + len(self._poppable) > 1

    def _line_up(self) -> None:
        """Give those that became due at once their place in line.

        An entity whose Pods come or leave one after the other gets it once, when somebody asks.
        """
        for name, ticket in self._untried.items():
            self._push(self._ready, (self.entities[name].order(), ticket, name))
        self._untried.clear()

    def _head(self, heap: list[Entry]) -> Entry | None:
        while heap:
            entry = heap[0]
            if self._counts(entry):
                return entry
            heapq.heappop(heap)
        return None

    def _first_due_by_search(self, now: int) -> Entity | None:
        """`first_due` without the indexes, which know only times that go forward."""
        active = [entity for entity in self.entities.values() if self.lane(entity, now) is Lane.ACTIVE]
        if active:
            return min(active, key=Entity.order)
        early = [
            entity
            for entity in self.entities.values()
            if entity.is_pod and entity.rejected and self.lane(entity, now) is Lane.BACKOFF
        ]
        return min(early, key=lambda entity: (entity.due_us, entity.order()), default=None)

    def next_due(self) -> int | None:
        """The earliest moment at which some entity is or will be due, if no event comes before;
        0 if one is due at any time, None if all rest."""
        self._line_up()
        if self._head(self._ready) is not None or self._head(self._poppable) is not None:
            return 0
        entry = self._head(self._waiting)
        return None if entry is None else entry[0]

    def next_to_speak(self, now: int) -> int | None:
        """The earliest moment after `now` at which Pods say that their tree is incomplete."""
        while (entry := self._head(self._silent)) is not None and entry[0] <= now:
            heapq.heappop(self._silent)
        return None if entry is None else entry[0]

    def in_order(self, now: int) -> Iterator[tuple[Lane, Entity]]:
        """Every entity with its lane, lane by lane, each in the order in which it will be tried."""
        lanes = {name: self.lane(entity, now) for name, entity in self.entities.items()}
        rank = {lane: number for number, lane in enumerate(Lane)}

        def turn(entity: Entity) -> tuple[int, int, SortKey]:
            lane = lanes[entity.name]
            return rank[lane], entity.due_us if lane is Lane.BACKOFF else 0, entity.order()

        for entity in sorted(self.entities.values(), key=turn):
            yield lanes[entity.name], entity
