"""A branch of a log, in memory: it goes on from a position of another log, which it reads and never writes.

Nothing is copied: up to the position the branch is the other log, and its first own event has a hash
that follows from the one there.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import attrgetter

from domain.errors import PositionConflict
from store.append import Appending, Batch, KeyUse
from store.backend import StreamRow
from store.chain import EMPTY_HEAD, Head, StoredEvent
from store.errors import StoreError
from store.log import EventLog, Outcome, outcome_of
from store.snapshots import Loaded, Snapshot, Snapshots

_time = attrgetter("at")


class Branch(EventLog):
    """What follows position `position` of `trunk` here. Not to be shared between threads.

    `base` is the last event that both have. Raises StoreError if `trunk` does not reach so far.
    """

    def __init__(self, trunk: EventLog, position: int) -> None:
        super().__init__(trunk.store, trunk.stream)
        self.trunk = trunk
        self.base = _last_of(trunk, position)
        self._row = StreamRow(id=0, position=position, hash=self.base.hash, at_us=self.base.at)
        self._own: list[StoredEvent] = []
        self._ids: dict[str, int] = {}
        self._positions: dict[int, list[int]] = {}
        """Where the events stand that concern an object, by its id."""

    def own(self) -> Sequence[StoredEvent]:
        """The events of this branch alone."""
        return self._own

    def append_all(self, batches: Sequence[Batch], *, expected: int | None = None) -> list[Outcome]:
        """As `EventLog.append_all`; nothing is durable."""
        if expected is not None and expected != self._row.position:
            raise PositionConflict(self.stream, expected=expected, head=self._row.position)
        unwritten = Appending(self.stream, self._row, self._ids, self)
        outcomes = [outcome_of(unwritten, batch) for batch in batches]
        rows = unwritten.rows()
        self._own += (StoredEvent(*event[1:]) for event in rows.events)
        self._ids.update(unwritten.new_ids)
        for _, object_id, position in rows.subjects:
            self._positions.setdefault(object_id, []).append(position)
        self._row = unwritten.head
        return outcomes

    def read(self, after: int = 0, until: int | None = None) -> Iterator[StoredEvent]:
        """As `EventLog.read`."""
        own = self._between(after, until)
        if after >= self.base.position:
            return iter(own)
        return chain(self.trunk.read(after, self._within_trunk(until)), own)

    def read_positions(self, positions: Sequence[int]) -> list[StoredEvent]:
        """As `EventLog.read_positions`."""
        base = self.base.position
        older = [position for position in positions if position <= base]
        found = self.trunk.read_positions(older) if older else []
        newer = sorted({position for position in positions if base < position <= self._row.position})
        return found + [self._at(position) for position in newer]

    def history(
        self,
        subject: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[StoredEvent]:
        """As `EventLog.history`."""
        positions = self._positions.get(self._ids.get(subject, 0), [])
        low = bisect_right(positions, after)
        high = len(positions) if until is None else bisect_right(positions, until)
        own = [self._at(position) for position in positions[low:high]]
        older = self.trunk.history(
            subject, after=after, until=self._within_trunk(until), limit=limit, newest_first=newest_first
        )
        return self._joined(older, own, limit, newest_first=newest_first)

    def of_type(
        self,
        type: str,  # noqa: A002 — the word of the envelope
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[StoredEvent]:
        """As `EventLog.of_type`."""
        own = [event for event in self._between(after, until) if event.type == type]
        older = self.trunk.of_type(
            type, after=after, until=self._within_trunk(until), limit=limit, newest_first=newest_first
        )
        return self._joined(older, own, limit, newest_first=newest_first)

    def head(self) -> Head:
        """The newest event, of this branch or the one that it begins at."""
        return Head(self._row.position, self._row.hash, self._row.at_us)

    def position_at(self, at: int) -> int:
        """As `EventLog.position_at`."""
        own = bisect_right(self._own, at, key=_time)
        base = self.base.position
        return base + own if own or at >= self.base.at else min(base, self.trunk.position_at(at))

    def key_use(self, key: str) -> KeyUse | None:
        """Nothing: what was asked of the other log has not been asked of this one."""
        return None

    def tail(self, after: int) -> Sequence[StoredEvent]:
        """The events after `after`."""
        return list(self.read(after))

    def _within_trunk(self, until: int | None) -> int:
        base = self.base.position
        return base if until is None else min(until, base)

    def _between(self, after: int, until: int | None) -> list[StoredEvent]:
        base = self.base.position
        return self._own[max(after - base, 0) : None if until is None else max(until - base, 0)]

    def _at(self, position: int) -> StoredEvent:
        return self._own[position - self.base.position - 1]

    @staticmethod
    def _joined(
        older: Iterable[StoredEvent], own: Sequence[StoredEvent], limit: int | None, *, newest_first: bool
    ) -> Iterator[StoredEvent]:
        return islice(chain(reversed(own), older) if newest_first else chain(older, own), limit)


class BranchSnapshots(Snapshots):
    """The snapshots of a branch: `body` where it begins, before that those of the other log.

    What is saved is not kept.
    """

    def __init__(self, branch: Branch, body: bytes, *, format: int) -> None:  # noqa: A002
        trunk = branch.trunk
        super().__init__(trunk.store, trunk.stream, format=format)
        self._first = Snapshot(branch.base.position, branch.base.hash, body)

    def save(self, position: int, chain_hash: bytes, body: bytes) -> None:
        """Keep nothing: a branch is short."""

    def load(self, at_or_before: int | None = None) -> Loaded:
        """The newest snapshot, not after `at_or_before`."""
        if at_or_before is None or at_or_before >= self._first.position:
            return Loaded(self._first)
        return super().load(at_or_before)


def _last_of(trunk: EventLog, position: int) -> Head:
    if position == trunk.begins_after():
        beginning = trunk.beginning()
        return EMPTY_HEAD if beginning is None else beginning.head
    event = trunk.get(position)
    if event is None:
        raise StoreError(f"stream {trunk.stream!r} has no position {position} to go on from")
    return Head(position, event.hash, event.at)
