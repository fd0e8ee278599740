"""PostgreSQL: many machines, row locks, COPY for bulk and one round trip for a few events."""

import hashlib
from collections.abc import Sequence
from typing import Any

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError

from domain.envelope import GENESIS
from store import errors
from store.backend import Rows, StreamRow

COPY_FROM = 256
"""From how many events on COPY is faster than arrays in one statement."""

_ERRORS: dict[str, tuple[type[errors.StoreError], str]] = {
    "53100": (errors.StoreFull, "cannot grow, its disk is full: free some space"),
    "25006": (errors.StoreReadOnly, "is read-only: is it a standby?"),
    "42501": (errors.StoreReadOnly, "does not let this user do that: grant it the rights"),
    "55P03": (errors.StoreLocked, "is locked by another process: try again"),
    "57014": (errors.StoreLocked, "took longer than its statement timeout allows: try again"),
    "40P01": (errors.StoreLocked, "was in a deadlock with another process: try again"),
    "42P01": (errors.SchemaOutdated, "has not all tables of ganger: run `ganger db upgrade`"),
    "XX001": (errors.StoreDamaged, "is damaged: restore it from a copy or an exported log"),
    "XX002": (errors.StoreDamaged, "is damaged: restore it from a copy or an exported log"),
}
"""By SQLSTATE."""

_MOVE_HEAD = """
UPDATE streams SET position = %b, hash = %b, at_us = %b, objects = %b
WHERE id = %b AND position = %b AND hash = %b AND objects = %b AND lease_epoch = %b
RETURNING id
"""

_WRITE_EVENTS = f"""
WITH moved AS ({_MOVE_HEAD}),
added_objects AS (
    INSERT INTO objects (stream_id, subject, id)
    SELECT moved.id, new.* FROM moved, unnest(%b::text[], %b::bigint[]) AS new
),
added_events AS (
    INSERT INTO events (stream_id, position, type, at_us, line, hash)
    SELECT moved.id, new.* FROM moved,
        unnest(%b::bigint[], %b::text[], %b::bigint[], %b::bytea[], %b::bytea[]) AS new
),
added_subjects AS (
    INSERT INTO subjects (stream_id, object_id, position)
    SELECT moved.id, new.* FROM moved, unnest(%b::bigint[], %b::bigint[]) AS new
)
"""

_WRITE_KEYS = """,
added_keys AS (
    INSERT INTO idempotency (stream_id, key, first, last, digest)
    SELECT moved.id, new.* FROM moved, unnest(%b::text[], %b::bigint[], %b::bigint[], %b::bytea[]) AS new
)
"""

_NOTIFY = "SELECT pg_notify(%b::text, %b::text) FROM moved"

_MOVE_AND_NOTIFY = f"WITH moved AS ({_MOVE_HEAD}) {_NOTIFY}"

_COPIES = {
    "objects": ("stream_id, subject, id", ("int4", "text", "int8")),
    "events": (
        "stream_id, position, type, at_us, line, hash",
        ("int4", "int8", "text", "int8", "bytea", "bytea"),
    ),
    "subjects": ("stream_id, object_id, position", ("int4", "int8", "int8")),
    "idempotency": ("stream_id, key, first, last, digest", ("int4", "text", "int8", "int8", "bytea")),
}


def channel(stream: str) -> str:
    """The NOTIFY channel of a stream's appends, whose payload is the head position."""
    return f"ganger_{hashlib.sha256(stream.encode()).hexdigest()[:40]}"


class PostgreSQL:
    """The PostgreSQL backend."""

    unlocked_limit = COPY_FROM - 1

    def __init__(self, url: URL, *, durable: bool) -> None:
        if not durable:
            options = f"{url.query.get('options', '')} -c synchronous_commit=off"
            url = url.update_query_dict({"options": options})
        self.engine = create_engine(url, pool_size=8, max_overflow=56)
        self.reader: Engine = self.engine.execution_options(isolation_level="REPEATABLE READ")
        self.writer = self.engine
        # Connections of their own, that need not be switched to autocommit and back for each append.
        self._single = create_engine(
            url, isolation_level="AUTOCOMMIT", pool_reset_on_return=None, pool_size=4, max_overflow=60
        )

    def close(self) -> None:
        self.engine.dispose()
        self._single.dispose()

    def lock_stream(self, connection: Connection, name: str) -> StreamRow:
        row = _locked_row(connection, name)
        if row is None:
            connection.exec_driver_sql(
                "INSERT INTO streams (name, position, hash, at_us, objects, lease_epoch)"
                " VALUES (%s, 0, %s, 0, 0, 0) ON CONFLICT (name) DO NOTHING",
                (name, GENESIS),
            )
            row = _locked_row(connection, name)
            assert row is not None
        return row

    def object_ids(self, connection: Connection, stream_id: int, subjects: Sequence[str]) -> dict[str, int]:
        rows = connection.exec_driver_sql(
            "SELECT o.subject, o.id FROM unnest(%s::text[]) AS asked (subject)"
            " JOIN objects AS o ON o.stream_id = %s AND o.subject = asked.subject",
            (list(subjects), stream_id),
        )
        return {row.subject: row.id for row in rows}

    def write(self, connection: Connection, rows: Rows) -> None:
        if len(rows.events) < COPY_FROM:
            moved = _write_at_once(connection, rows)
        else:
            parameters = (*_move_parameters(rows), *_notice(rows))
            moved = bool(connection.exec_driver_sql(_MOVE_AND_NOTIFY, parameters).all())
            _copy(connection, rows)
        assert moved, "the head moved under its lock"

    def write_unlocked(self, rows: Rows) -> bool:
        with self._single.connect() as connection:
            return _write_at_once(connection, rows)

    def explain(self, error: DBAPIError, where: str) -> errors.StoreError:
        answer = " ".join(str(error.orig).split())
        state = getattr(error.orig, "sqlstate", None)
        if state in _ERRORS:
            kind, text = _ERRORS[state]
            return kind(f"the store {where} {text} ({answer})")
        if error.connection_invalidated:
            self.close()  # the others have gone the same way: the next call connects anew
        if error.connection_invalidated or (
            isinstance(error.orig, psycopg.OperationalError) and state is None
        ):
            return errors.StoreUnavailable(f"the store {where} cannot be reached: {answer}")
        return errors.StoreError(f"the store {where} answered: {answer}")


def _locked_row(connection: Connection, name: str) -> StreamRow | None:
    row = connection.exec_driver_sql(
        "SELECT id, position, hash, at_us, objects, lease_epoch FROM streams WHERE name = %s FOR UPDATE",
        (name,),
    ).one_or_none()
    return None if row is None else StreamRow(*row)


def _write_at_once(connection: Connection, rows: Rows) -> bool:
    """Move the head and add everything in one statement; False, and nothing added, if it is not there."""
    parameters = [
        *_move_parameters(rows),
        *_columns(rows.objects, 3),
        *_columns(rows.events, 6),
        *_columns(rows.subjects, 3),
    ]
    statement = _WRITE_EVENTS + _NOTIFY
    if rows.keys:  # seldom, and a part without rows costs time as well
        statement = _WRITE_EVENTS + _WRITE_KEYS + _NOTIFY
        parameters += _columns(rows.keys, 5)
    return bool(connection.exec_driver_sql(statement, (*parameters, *_notice(rows))).all())


def _move_parameters(rows: Rows) -> tuple[Any, ...]:
    before, after = rows.before, rows.after
    return (
        *(after.position, after.hash, after.at_us, after.objects),
        *(before.id, before.position, before.hash, before.objects, before.lease_epoch),
    )


def _notice(rows: Rows) -> tuple[str, str]:
    return channel(rows.stream), str(rows.after.position)


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Rows as one list a column, without the first column: that is the stream's id in all of them."""
    return (
        [list(column) for column in zip(*rows, strict=True)][1:] if rows else [[] for _ in range(width - 1)]
    )


def _copy(connection: Connection, rows: Rows) -> None:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    with driver.cursor() as cursor:
        for table, content in (
            ("objects", rows.objects),
            ("events", rows.events),
            ("subjects", rows.subjects),
            ("idempotency", rows.keys),
        ):
            if content:
                columns, types = _COPIES[table]
                with cursor.copy(f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)") as copy:
                    copy.set_types(types)
                    for row in content:
                        copy.write_row(row)
