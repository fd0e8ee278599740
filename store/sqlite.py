"""SQLite: one file in WAL mode, every commit on disk, one writer at a time."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from domain.envelope import GENESIS
from store import errors
from store.backend import Rows, StreamRow

PAGE_SIZE = 8192
"""Bytes. With 4096, lines of more than a kilobyte cost twice the writes; larger gains nothing."""

BUSY_TIMEOUT_S = 5.0
"""How long to wait for another writer; a URL's `?timeout=` overrides it."""

_BEGIN = "ganger_begin"
"""Execution option: the statement that begins a transaction, empty for none."""

_ERRORS: dict[int, tuple[type[errors.StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (
        errors.StoreLocked,
        "is locked by another process: try again, or stop that process",
    ),
    sqlite3.SQLITE_LOCKED: (errors.StoreLocked, "is locked by another connection: try again"),
    sqlite3.SQLITE_READONLY: (
        errors.StoreReadOnly,
        "is read-only: check the permissions of the file and its folder",
    ),
    sqlite3.SQLITE_FULL: (errors.StoreFull, "cannot grow, the disk or quota is full: free some space"),
    sqlite3.SQLITE_CANTOPEN: (
        errors.StoreUnavailable,
        (
            "cannot be opened: check that its folder exists and the permissions of both; where nothing can be"
            " written, read it as sqlite:///file:PATH?immutable=1&uri=true"
        ),
    ),
    sqlite3.SQLITE_PERM: (errors.StoreUnavailable, "may not be opened: check its permissions"),
    sqlite3.SQLITE_NOTADB: (
        errors.NotAStore,
        "is not an SQLite database, so not a store of ganger: give another path",
    ),
    sqlite3.SQLITE_CORRUPT: (errors.StoreDamaged, "is damaged: restore it from a copy or an exported log"),
    sqlite3.SQLITE_IOERR: (
        errors.StoreUnavailable,
        "cannot be read or written, the disk reports an error: check it",
    ),
}


class SQLite:
    """The SQLite backend."""

    unlocked_limit = 0  # there are no round trips to save

    def __init__(self, url: URL, *, durable: bool) -> None:
        self.engine = create_engine(
            url,
            # sqlite3 itself begins no transactions: `_begin` does, and says of which kind.
            connect_args={"isolation_level": None, "timeout": BUSY_TIMEOUT_S} | _timeout(url),
            pool_size=8,
            max_overflow=56,
        )
        self.reader = self.engine
        self.writer: Engine = self.engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        synchronous = "FULL" if durable else "OFF"

        @event.listens_for(self.engine, "connect")
        def _connected(connection: sqlite3.Connection, _record: object) -> None:
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")

        event.listen(self.engine, "begin", _begin)

    def close(self) -> None:
        self.engine.dispose()

    def lock_stream(self, connection: Connection, name: str) -> StreamRow:
        # BEGIN IMMEDIATE has locked the file already.
        row = _stream_row(connection, name)
        if row is None:
            connection.exec_driver_sql(
                "INSERT INTO streams (name, position, hash, at_us, objects, lease_epoch)"
                " VALUES (?, 0, ?, 0, 0, 0)",
                (name, GENESIS),
            )
            row = _stream_row(connection, name)
            assert row is not None
        return row

    def object_ids(self, connection: Connection, stream_id: int, subjects: Sequence[str]) -> dict[str, int]:
        rows = connection.exec_driver_sql(
            "SELECT o.subject, o.id FROM json_each(?) AS asked"
            " CROSS JOIN objects AS o ON o.stream_id = ? AND o.subject = asked.value",
            (json.dumps(subjects), stream_id),
        )
        return {row.subject: row.id for row in rows}

    def write(self, connection: Connection, rows: Rows) -> None:
        run = connection.exec_driver_sql
        after = rows.after
        if rows.objects:
            run("INSERT INTO objects (stream_id, subject, id) VALUES (?, ?, ?)", list(rows.objects))
        run(
            "INSERT INTO events (stream_id, position, type, at_us, line, hash) VALUES (?, ?, ?, ?, ?, ?)",
            list(rows.events),
        )
        if rows.subjects:
            run("INSERT INTO subjects (stream_id, object_id, position) VALUES (?, ?, ?)", list(rows.subjects))
        if rows.keys:
            run(
                'INSERT INTO idempotency (stream_id, "key", "first", "last", digest) VALUES (?, ?, ?, ?, ?)',
                list(rows.keys),
            )
        run(
            "UPDATE streams SET position = ?, hash = ?, at_us = ?, objects = ? WHERE id = ?",
            (after.position, after.hash, after.at_us, after.objects, after.id),
        )

    def write_unlocked(self, rows: Rows) -> bool:
        raise NotImplementedError("SQLite appends under its lock")

    def explain(self, error: DBAPIError, where: str) -> errors.StoreError:
        code = getattr(error.orig, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in _ERRORS:  # the low byte is the primary result code
            kind, text = _ERRORS[code & 0xFF]
            return kind(f"the store {where} {text} ({error.orig})")
        if "Could not decode to UTF-8" in str(error.orig):  # said by sqlite3 itself, without a code
            return errors.StoreDamaged(f"the store {where} is damaged: a text is not UTF-8")
        return errors.StoreError(f"the store {where} answered: {error.orig}")


def prepare_file(engine: Engine) -> None:
    """Set what an SQLite file keeps for life; for a file that has no tables yet."""
    with engine.execution_options(**{_BEGIN: ""}).connect() as connection:
        connection.exec_driver_sql(f"PRAGMA page_size = {PAGE_SIZE}")
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _begin(connection: Connection) -> None:
    statement = connection.get_execution_options().get(_BEGIN, "BEGIN")
    if statement:
        connection.exec_driver_sql(statement)


def _timeout(url: URL) -> dict[str, Any]:
    timeout = url.query.get("timeout")
    return {} if timeout is None else {"timeout": float(str(timeout))}


def _stream_row(connection: Connection, name: str) -> StreamRow | None:
    row = connection.exec_driver_sql(
        "SELECT id, position, hash, at_us, objects, lease_epoch FROM streams WHERE name = ?", (name,)
    ).one_or_none()
    return None if row is None else StreamRow(*row)
