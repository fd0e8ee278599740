"""What the two databases do differently, behind one interface."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from domain.envelope import GENESIS
from store.errors import StoreError


@dataclass(frozen=True, slots=True)
class StreamRow:
    """The head of a stream as an append needs it: one row, read under its lock.

    `objects` is how many objects the stream has named so far; their ids run from 1 to it.
    """

    id: int
    position: int = 0
    hash: bytes = GENESIS
    at_us: int = 0
    objects: int = 0
    lease_epoch: int = 0

    def moved(self, *, position: int, chain_hash: bytes, at_us: int, objects: int) -> "StreamRow":
        """The row after events up to `position`."""
        return replace(self, position=position, hash=chain_hash, at_us=at_us, objects=objects)


EventRow = tuple[int, int, str, int, bytes, bytes]
"""stream_id, position, type, at_us, line, hash."""

ObjectRow = tuple[int, str, int]
"""stream_id, subject, id."""

SubjectRow = tuple[int, int, int]
"""stream_id, object_id, position."""

KeyRow = tuple[int, str, int, int, bytes]
"""stream_id, idempotency key, first, last, digest."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What one transaction adds to `stream`: `before` and `after` are its head."""

    stream: str
    before: StreamRow
    after: StreamRow
    events: Sequence[EventRow]
    objects: Sequence[ObjectRow]
    subjects: Sequence[SubjectRow]
    keys: Sequence[KeyRow]


class Backend(Protocol):
    """One database engine. Connections are inside a transaction that the caller began.

    `reader` is `engine` for transactions that see one state of the database, `writer` for those that
    write. `unlocked_limit` is up to how many events `write_unlocked` takes, 0 where it would gain nothing.
    """

    engine: Engine
    reader: Engine
    writer: Engine
    unlocked_limit: int

    def close(self) -> None:
        """Close every connection."""
        ...

    def lock_stream(self, connection: Connection, name: str) -> StreamRow:
        """The stream's row, made if it is not there, nobody else's until the transaction ends."""
        ...

    def object_ids(self, connection: Connection, stream_id: int, subjects: Sequence[str]) -> dict[str, int]:
        """The ids of those subjects that the stream has named already."""
        ...

    def write(self, connection: Connection, rows: Rows) -> None:
        """Write `rows` under the lock of `lock_stream`, and tell the other processes at commit."""
        ...

    def write_unlocked(self, rows: Rows) -> bool:
        """Write `rows` in one round trip if the head still is `rows.before`, else nothing; True if it did."""
        ...

    def explain(self, error: DBAPIError, where: str) -> StoreError:
        """What `error` means to the user of the store at `where`."""
        ...
