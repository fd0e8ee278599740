"""Where a log begins that is only a window of a longer one.

It begins after a position, at a State that is kept with it, and carries those older events that
objects of that State still refer to: the ones with their manifests, bindings and last attempts.
State and carried events have a chain of hashes of their own, since what lay between them is gone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, insert, select

from domain.envelope import GENESIS, canonical, chain
from domain.errors import CorruptLog
from store.chain import Head, StoredEvent
from store.tables import beginnings, events, streams


class StateLine(msgspec.Struct, frozen=True, kw_only=True):
    """The State at which a log begins: `state` as encoded in the program's `format`, base64 on the wire.

    `position` and `at` are those of the last event that is in it. Fields stand in the order of the line.
    """

    at: int
    format: int
    position: int
    state: bytes

    @property
    def line(self) -> bytes:
        """The canonical line."""
        return canonical(self)


@dataclass(frozen=True)
class Beginning:
    """`head` is the last event before the log, `line` the canonical StateLine, `carried` older events'
    lines in the order of the log."""

    head: Head
    line: bytes
    carried: Sequence[bytes] = ()

    @property
    def state(self) -> StateLine:
        """The State in `line`."""
        return read_state_line(self.line)

    def chained(self) -> Iterator[tuple[bytes, bytes]]:
        """Every line with its hash in the chain of the beginning, that of the State first."""
        digest = GENESIS
        for line in (self.line, *self.carried):
            digest = chain(digest, line)
            yield line, digest

    @property
    def start_hash(self) -> bytes:
        """The hash that stands for the whole beginning."""
        *_, (_, digest) = self.chained()
        return digest


def read_state_line(line: bytes) -> StateLine:
    """What `line` says. Raises CorruptLog if it is not canonical or no StateLine."""
    try:
        state = msgspec.json.decode(line, type=StateLine)
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not the state that a log begins at: {error}") from error
    if canonical(state) != line:
        raise CorruptLog("the state that the log begins at is not canonical")
    return state


def read_beginning(connection: Connection, stream: str) -> tuple[Beginning, bytes, list[StoredEvent]] | None:
    """Where `stream` begins, its start hash and carried events as they are kept; None if it begins at 1."""
    row = connection.execute(
        select(beginnings)
        .join(streams, streams.c.id == beginnings.c.stream_id)
        .where(streams.c.name == stream)
    ).one_or_none()
    if row is None:
        return None
    query = (
        select(events.c.position, events.c.type, events.c.at_us, events.c.line, events.c.hash)
        .where(events.c.stream_id == row.stream_id, events.c.position <= row.position)
        .order_by(events.c.position)
    )
    carried = [StoredEvent(*each) for each in connection.execute(query)]
    head = Head(row.position, row.chain_hash, row.at_us)
    return Beginning(head, row.line, [event.line for event in carried]), row.start_hash, carried


def write_beginning(connection: Connection, stream_id: int, beginning: Beginning) -> None:
    """Note where a stream begins; its carried events are written like others."""
    connection.execute(
        insert(beginnings).values(
            stream_id=stream_id,
            position=beginning.head.position,
            at_us=beginning.head.at,
            chain_hash=beginning.head.hash,
            start_hash=beginning.start_hash,
            line=beginning.line,
        )
    )
