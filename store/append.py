"""One append: what a batch becomes, and whether it may be appended where the stream now is."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import ge
from typing import NamedTuple, Protocol

import msgspec

from domain.envelope import Draft, chain, encode_line
from domain.errors import PositionConflict
from store.backend import EventRow, KeyRow, ObjectRow, Rows, StreamRow, SubjectRow
from store.chain import Head, StoredEvent
from store.errors import CommitConflict, IdempotencyMismatch, StaleEpoch

Guard = Callable[[Sequence[StoredEvent]], bool]
"""Whether a decision still holds after these events, which were appended since its snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Events to append together, and on which conditions.

    `at` is the caller's time in microseconds. `expected` is the head the caller has seen, `epoch`
    its lease's. `guard` is asked about what was appended after `snapshot_position`, if anything was.
    An idempotency key makes a repetition give the first result.
    """

    drafts: Sequence[Draft]
    at: int
    expected: int | None = None
    idempotency_key: str | None = None
    epoch: int | None = None
    guard: Guard | None = None
    snapshot_position: int | None = None

    def __post_init__(self) -> None:
        if (self.guard is None) != (self.snapshot_position is None):
            raise ValueError("a guard and a snapshot position go together")
        for draft in self.drafts:
            if any(map(ge, draft.subjects, draft.subjects[1:])):
                raise ValueError(f"subjects must be sorted and without repetition: {draft.subjects}")


class Appended(NamedTuple):
    """Where a batch is in the log; `last = first - 1` for an empty one. `head_hash` is that of `last`.

    `replayed`: nothing was appended now, this is what an earlier append under the same key did.
    """

    first: int
    last: int
    head_hash: bytes
    replayed: bool = False


class KeyUse(NamedTuple):
    """What an idempotency key was used for: the batch from `first` to `last`, with the hash of `last`."""

    first: int
    last: int
    digest: bytes
    head_hash: bytes


class Past(Protocol):
    """What the stream holds already, as far as an append needs to look back."""

    def key_use(self, key: str) -> KeyUse | None:
        """What `key` was used for before."""
        ...

    def tail(self, after: int) -> Sequence[StoredEvent]:
        """The events after position `after`."""
        ...


class Unwritten:
    """The rows of one transaction, growing event by event until they are written.

    `known` maps subjects to the ids that the stream gave them before; of the subjects that come up it
    must hold all that the stream has named.
    """

    def __init__(self, stream: str, head: StreamRow, known: Mapping[str, int]) -> None:
        self.stream = stream
        self.head = head
        self.new_ids: dict[str, int] = {}
        self._before = head
        self._known = known
        self._events: list[EventRow] = []
        self._objects: list[ObjectRow] = []
        self._subjects: list[SubjectRow] = []
        self._keys: list[KeyRow] = []

    def __len__(self) -> int:
        return len(self._events)

    def rows(self) -> Rows:
        """Everything added so far, to be written at once."""
        return Rows(
            self.stream,
            self._before,
            self.head,
            self._events,
            self._objects,
            self._subjects,
            self._keys,
        )

    def add(self, event: StoredEvent, subjects: Sequence[str]) -> None:
        """Add an event that was stored elsewhere, as it is; the caller has checked that it is next."""
        objects = self._index(event.position, subjects, self.head.objects)
        self._events.append((self.head.id, *event))
        self.head = self.head.moved(
            position=event.position, chain_hash=event.hash, at_us=event.at, objects=objects
        )

    def begin(self, head: Head) -> None:
        """Go on after `head`, whatever lies before it."""
        self.head = self.head.moved(
            position=head.position, chain_hash=head.hash, at_us=head.at, objects=self.head.objects
        )

    def _index(self, position: int, subjects: Sequence[str], objects: int) -> int:
        """Index an event by subject; new subjects get the ids after `objects`. Returns the newest id."""
        stream_id, known, new_ids = self.head.id, self._known, self.new_ids
        for subject in subjects:
            object_id = known.get(subject) or new_ids.get(subject)
            if object_id is None:
                object_id = objects = objects + 1
                new_ids[subject] = object_id
                self._objects.append((stream_id, subject, object_id))
            self._subjects.append((stream_id, object_id, position))
        return objects


class Appending(Unwritten):
    """Batches on their way into the log, each placed behind the ones before it. `past` lies before `head`."""

    def __init__(self, stream: str, head: StreamRow, known: Mapping[str, int], past: Past) -> None:
        super().__init__(stream, head, known)
        self._past = past

    def append(self, batch: Batch) -> Appended:
        """Add `batch` at the head.

        Raises IdempotencyMismatch, StaleEpoch, PositionConflict or CommitConflict, and adds nothing.
        """
        key = batch.idempotency_key
        digest = b"" if key is None else digest_of(batch.drafts)
        if key is not None:
            used = self._key_use(key)
            if used is not None:
                if used.digest != digest:
                    raise IdempotencyMismatch(self.stream, key)
                return Appended(used.first, used.last, used.head_hash, replayed=True)
        self._check(batch)
        first = self.head.position + 1
        if batch.drafts:
            self._add_drafts(batch.drafts, max(batch.at, self.head.at_us))
            if key is not None:
                self._keys.append((self.head.id, key, first, self.head.position, digest))
        return Appended(first, self.head.position, self.head.hash)

    def _check(self, batch: Batch) -> None:
        head = self.head
        if batch.epoch is not None and batch.epoch != head.lease_epoch:
            raise StaleEpoch(self.stream, epoch=batch.epoch, current=head.lease_epoch)
        if batch.expected is not None and batch.expected != head.position:
            raise PositionConflict(self.stream, expected=batch.expected, head=head.position)
        if batch.guard is not None and batch.snapshot_position is not None:
            tail = self._tail(batch.snapshot_position)
            if tail and not batch.guard(tail):
                raise CommitConflict(
                    self.stream, snapshot_position=batch.snapshot_position, head=head.position
                )

    def _key_use(self, key: str) -> KeyUse | None:
        for _, used, first, last, digest in self._keys:
            if used == key:
                return KeyUse(first, last, digest, self._event(last).hash)
        return self._past.key_use(key)

    def _tail(self, after: int) -> Sequence[StoredEvent]:
        """What follows `after`: stored before this transaction, then what it adds."""
        start = self._before.position
        added = [self._event(position) for position in range(max(after, start) + 1, self.head.position + 1)]
        return added if after >= start else [*self._past.tail(after), *added]

    def _event(self, position: int) -> StoredEvent:
        return StoredEvent(*self._events[position - self._before.position - 1][1:])

    def _add_drafts(self, drafts: Sequence[Draft], at: int) -> None:
        head = self.head
        stream_id, position, chain_hash, objects = head.id, head.position, head.hash, head.objects
        batch = position + 1
        for draft in drafts:
            position += 1
            line = encode_line(draft, position=position, batch=batch, at=at)
            chain_hash = chain(chain_hash, line)
            self._events.append((stream_id, position, draft.type, at, line, chain_hash))
            objects = self._index(position, draft.subjects, objects)
        self.head = head.moved(position=position, chain_hash=chain_hash, at_us=at, objects=objects)


def digest_of(drafts: Sequence[Draft]) -> bytes:
    """What tells one request from another under the same idempotency key: all that the drafts say."""
    return hashlib.sha256(msgspec.json.encode(drafts)).digest()
