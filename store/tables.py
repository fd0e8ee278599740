"""The tables. Migrations make them; a test holds the two equal.

Random identifiers would dirty a page an event, so everything is keyed by small integers in order of
appearance. `events` has no foreign keys: streams are never deleted, and a check for each row of a
bulk insert is dear. What they would guard, `store.verify` checks.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

VERSION_TABLE: Final = "ganger_schema"
"""Where Alembic keeps the revision; also what marks a database as ganger's."""

ATTEMPT: Final = "GroupAttempted"
"""The one event type that is looked up as such, and so has an index."""

metadata = MetaData()

_Name = Text().with_variant(Text(collation="C"), "postgresql")
"""Text in order of code points in every database, whatever its language: the same order, and faster."""

streams = Table(
    "streams",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", _Name, nullable=False),
    Column("position", BigInteger, nullable=False),  # of the newest event, 0 if none
    Column("hash", LargeBinary, nullable=False),  # of the newest event
    Column("at_us", BigInteger, nullable=False),  # of the newest event
    Column("objects", BigInteger, nullable=False),  # how many the stream has named; also the newest one's id
    Column("lease_epoch", BigInteger, nullable=False),  # 0: never leased
    Column("lease_holder", Text),
    Column("lease_expires_us", BigInteger),
    UniqueConstraint("name", name="uq_streams_name"),
)

events = Table(
    "events",
    metadata,
    Column("stream_id", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("type", _Name, nullable=False),  # a copy of what is in the line, as `at_us` is
    Column("at_us", BigInteger, nullable=False),
    Column("line", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)
Index(
    "ix_events_attempts",
    events.c.stream_id,
    events.c.position,
    sqlite_where=text(f"type = '{ATTEMPT}'"),
    postgresql_where=text(f"type = '{ATTEMPT}'"),
)

objects = Table(
    "objects",
    metadata,
    Column("stream_id", Integer, primary_key=True, autoincrement=False),
    Column("subject", _Name, primary_key=True),
    Column("id", BigInteger, nullable=False),  # 1, 2, 3 … in order of first appearance in the stream
    sqlite_with_rowid=False,
)

subjects = Table(
    "subjects",
    metadata,
    Column("stream_id", Integer, primary_key=True, autoincrement=False),
    Column("object_id", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("stream_id", Integer, primary_key=True, autoincrement=False),
    Column("key", _Name, primary_key=True),
    Column("first", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # of what was asked for
    sqlite_with_rowid=False,
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("stream_id", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),  # of what is in the body, the caller's number
    Column("chain_hash", LargeBinary, nullable=False),  # of the event at `position`
    Column("digest", LargeBinary, nullable=False),  # sha256 of the body as kept
    Column("body", LargeBinary, nullable=False),  # zstd
)

beginnings = Table(
    "beginnings",
    metadata,
    Column("stream_id", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, nullable=False),  # of the last event that is not in the stream
    Column("at_us", BigInteger, nullable=False),  # of that event
    Column("chain_hash", LargeBinary, nullable=False),  # of that event
    Column("start_hash", LargeBinary, nullable=False),  # of the state and all carried events
    Column("line", LargeBinary, nullable=False),  # the state, see store.beginnings
)

origins = Table(
    "origins",
    metadata,
    Column("stream_id", Integer, primary_key=True, autoincrement=False),
    Column("parent", _Name, nullable=False),  # the stream that this one is a fork of
    Column("position", BigInteger, nullable=False),  # of the last event in common
    Column("hash", LargeBinary, nullable=False),  # of that event
)
