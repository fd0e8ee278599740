"""P6 and P7: a million events from an SQLite file into State."""

import sqlite3
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec
from eventsourcing.domain import DomainEvent
from eventsourcing.persistence import DatetimeAsISO, JSONTranscoder, Mapper, UUIDAsHex
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from benchmarks.books import book
from benchmarks.harness import Row, median_ratio
from domain.envelope import decode_line
from domain.reducer import fold
from domain.state import State
from domain.upcast import CURRENT
from store.engine import open_store
from store.log import EventLog

EVENTS = 1_000_000
_BATCH = 10_000


def measure() -> list[Row]:
    """The rows of this module."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.db"
        store = open_store(str(path), create=True, durable=False)
        log = EventLog(store, "bench")
        drafts = book(EVENTS)
        while batch := list(islice(drafts, _BATCH)):
            log.append(batch, at=0)

        def ours() -> State:
            return fold(State(), (CURRENT.event(event.type, event.line) for event in log.read()))

        def raw_select() -> int:
            connection = sqlite3.connect(path)
            query = "SELECT position, type, at_us, line, hash FROM events ORDER BY position"
            return sum(1 for _ in connection.execute(query))

        recorder, mapper = _peer(Path(folder) / "peer.db", log)

        def peer() -> int:
            read = recorder.select_notifications(start=1, limit=EVENTS)
            return sum(1 for each in read if mapper.to_domain_event(each))

        assert ours().position == raw_select() == peer() == EVENTS
        rows = [
            ("P6", "SQLite SELECT of the same rows, undecoded", median_ratio(ours, raw_select), 0.2),
            ("P7", "eventsourcing, read and decoded, no reducer", median_ratio(ours, peer), 2.8),
        ]
        store.close()
    return [
        Row(name, f"fold of {EVENTS:,} events into State", reference, ratio, f"≥ {target}×", ratio >= target)
        for name, reference, ratio, target in rows
    ]


class Recorded(DomainEvent):
    """A payload as an event of the peer library."""

    payload: dict[str, Any]


def _peer(path: Path, log: EventLog) -> tuple[SQLiteApplicationRecorder, Mapper[UUID]]:
    """The same payloads, kept by the peer library as its own events."""
    transcoder = JSONTranscoder()
    transcoder.register(UUIDAsHex())
    transcoder.register(DatetimeAsISO())
    mapper: Mapper[UUID] = Mapper(transcoder)
    recorder = SQLiteApplicationRecorder(SQLiteDatastore(str(path)))
    recorder.create_table()
    stream = uuid4()
    events = log.read()
    while batch := list(islice(events, _BATCH)):
        recorder.insert_events(
            [
                mapper.to_stored_event(
                    Recorded(
                        originator_id=stream,
                        originator_version=event.position,
                        timestamp=Recorded.create_timestamp(),
                        payload=msgspec.json.decode(decode_line(event.line).payload),
                    )
                )
                for event in batch
            ]
        )
    return recorder, mapper
