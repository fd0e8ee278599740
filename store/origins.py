"""Where a stream comes from that was kept of a fork: the stream it parted from, and where."""

from typing import NamedTuple

from sqlalchemy import Connection, insert, select

from store.tables import origins, streams


class Origin(NamedTuple):
    """The last event in common: its `position` in the stream `parent`, and its `hash` there."""

    parent: str
    position: int
    hash: bytes


def read_origin(connection: Connection, stream: str) -> Origin | None:
    """Where `stream` comes from; None if it is no fork."""
    query = (
        select(origins.c.parent, origins.c.position, origins.c.hash)
        .join(streams, streams.c.id == origins.c.stream_id)
        .where(streams.c.name == stream)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else Origin._make(row)


def write_origin(connection: Connection, stream_id: int, origin: Origin) -> None:
    """Note where a stream comes from."""
    connection.execute(insert(origins).values(stream_id=stream_id, **origin._asdict()))
