"""Snapshots of what was folded from a log: a cache beside it, never a truth.

Kept are the newest few, for starting up, and older ones far apart, so that any past position can be
had by folding at most `spacing` events.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Final

import zstandard
from sqlalchemy import Connection, Row, Select, and_, delete, insert, select

from store.engine import Store
from store.errors import StoreError
from store.tables import events, snapshots, streams

LEVEL: Final = 1
"""Of zstd: the fastest; what is in a snapshot compresses well at any."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the caller folded up to `position`, where the log's hash was `chain_hash`."""

    position: int
    chain_hash: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Loaded:
    """The snapshot that was found, None if there is none; `notes` say which were no good, and why."""

    snapshot: Snapshot | None
    notes: list[str] = field(default_factory=list)


class Snapshots:
    """The snapshots of `stream` whose bodies are in the caller's format number `format`."""

    def __init__(
        self,
        store: Store,
        stream: str,
        *,
        format: int,  # noqa: A002 — the word for it
        newest: int = 3,
        spacing: int = 1_000,
    ) -> None:
        self._store = store
        self._stream = stream
        self._format = format
        self._newest = newest
        self._spacing = spacing

    def save(self, position: int, chain_hash: bytes, body: bytes) -> None:
        """Keep `body` as the snapshot at `position`, instead of one that is there, and drop what is too old.

        Raises StoreError, also if the stream has no event at `position`.
        """
        compressed = zstandard.ZstdCompressor(level=LEVEL).compress(body)
        with self._store.writing() as connection:
            stream_id = self._stream_id(connection)
            if stream_id is None:
                raise StoreError(f"stream {self._stream!r} has no events to take a snapshot of")
            self._delete(connection, stream_id, [position])
            connection.execute(
                insert(snapshots).values(
                    stream_id=stream_id,
                    position=position,
                    format=self._format,
                    chain_hash=chain_hash,
                    digest=hashlib.sha256(compressed).digest(),
                    body=compressed,
                )
            )
            self._delete(connection, stream_id, self._superfluous(connection, stream_id))

    def load(self, at_or_before: int | None = None) -> Loaded:
        """The newest good snapshot, not after `at_or_before`.

        One that is torn, of another format or of another log is passed over, noted, and deleted where
        the store can be written.
        """
        notes: list[str] = []
        bad: list[int] = []
        with self._store.reading() as connection:
            stream_id = self._stream_id(connection)
            if stream_id is None:
                return Loaded(None)
            found = None
            for position in self._positions(connection, stream_id, at_or_before):
                row = connection.execute(_with_event(stream_id, position)).one()
                fault = self._fault(row)
                if fault is None:
                    found = Snapshot(
                        position, row.chain_hash, zstandard.ZstdDecompressor().decompress(row.body)
                    )
                    break
                notes.append(f"snapshot at position {position} ignored: {fault}")
                bad.append(position)
        if bad:
            notes += self._discard(stream_id, bad)
        return Loaded(found, notes)

    def inspect(self, position: int) -> tuple[bytes | None, str | None]:
        """The body of the snapshot at `position`, or what is wrong with it; it is left where it is.

        Neither for one of another format.
        """
        with self._store.reading() as connection:
            stream_id = self._stream_id(connection)
            row = connection.execute(_with_event(stream_id or 0, position)).one_or_none()
        if row is None:
            return None, "it is gone"
        if row.format != self._format:
            return None, None
        fault = self._fault(row)
        if fault is not None:
            return None, fault
        return zstandard.ZstdDecompressor().decompress(row.body), None

    def positions(self) -> list[int]:
        """Where there are snapshots, newest first, good or not."""
        with self._store.reading() as connection:
            stream_id = self._stream_id(connection)
            return [] if stream_id is None else self._positions(connection, stream_id, None)

    def _stream_id(self, connection: Connection) -> int | None:
        return connection.execute(select(streams.c.id).where(streams.c.name == self._stream)).scalar()

    def _positions(self, connection: Connection, stream_id: int, at_or_before: int | None) -> list[int]:
        query = select(snapshots.c.position).where(snapshots.c.stream_id == stream_id)
        if at_or_before is not None:
            query = query.where(snapshots.c.position <= at_or_before)
        return list(connection.execute(query.order_by(snapshots.c.position.desc())).scalars())

    def _fault(self, row: Row[int, bytes, bytes, bytes, bytes]) -> str | None:
        """What is wrong with a snapshot, None if nothing is."""
        if row.format != self._format:
            return f"it is in format {row.format}, not {self._format}"
        if hashlib.sha256(row.body).digest() != row.digest:
            return "it is damaged"
        if row.hash != row.chain_hash:
            return "it was taken of another log"
        return None

    def _superfluous(self, connection: Connection, stream_id: int) -> list[int]:
        """All but the newest few and the newest of every `spacing` positions."""
        positions = self._positions(connection, stream_id, None)
        kept = set(positions[: self._newest])
        spans: set[int] = set()
        for position in positions:
            span = position // self._spacing
            if span not in spans:
                spans.add(span)
                kept.add(position)
        return [position for position in positions if position not in kept]

    def _delete(self, connection: Connection, stream_id: int, positions: list[int]) -> None:
        if positions:
            connection.execute(
                delete(snapshots).where(
                    snapshots.c.stream_id == stream_id, snapshots.c.position.in_(positions)
                )
            )

    def _discard(self, stream_id: int, positions: list[int]) -> list[str]:
        try:
            with self._store.writing() as connection:
                self._delete(connection, stream_id, positions)
        except StoreError as error:
            return [f"ignored snapshots were not deleted: {error}"]
        return []


def _with_event(stream_id: int, position: int) -> Select[int, bytes, bytes, bytes, bytes]:
    """A snapshot beside the hash of the event at its position, None if there is no such event."""
    same = and_(events.c.stream_id == snapshots.c.stream_id, events.c.position == snapshots.c.position)
    return (
        select(
            snapshots.c.format, snapshots.c.digest, snapshots.c.chain_hash, snapshots.c.body, events.c.hash
        )
        .join_from(snapshots, events, same, isouter=True)
        .where(snapshots.c.stream_id == stream_id, snapshots.c.position == position)
    )
