"""One flipped bit, wherever it is in a file or in the rows of a store, is found where it is."""

import io
import re

import msgspec
import pytest
from sqlalchemy import Table, select, update

from build import START, group, node, pod
from domain.errors import CorruptLog
from store import tables
from store.archive import export_log, import_log, read_archive
from store.engine import Store
from store.errors import BadArchive, StoreError
from store.log import EventLog
from store.verify import verify
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker
from worker.windows import beginning_at


@pytest.fixture
def cluster(sqlite_store: Store) -> Cluster:
    """A gang that runs, and one that has to wait."""
    clock = VirtualClock(START)
    cluster = Cluster.open(sqlite_store, "whole", clock=clock)
    cluster.apply([node("n", cpu="2"), group("g", 2), *[pod(f"g-{n}", cpu="1", group="g") for n in range(2)]])
    Worker(cluster).settle(clock)
    cluster.apply([pod("late", cpu="1")])
    Worker(cluster).settle(clock)
    return cluster


@pytest.fixture(params=["whole", "window"])
def archive(cluster: Cluster, request: pytest.FixtureRequest) -> bytes:
    """The log of `cluster`, or what came after its first binding."""
    out = io.BytesIO()
    export_log(cluster.log, out, beginning=beginning_at(cluster, 7) if request.param == "window" else None)
    return out.getvalue()


def test_every_byte_of_a_file_counts(archive: bytes) -> None:
    label = re.search(rb'"stream":"([^"]*)"', archive)
    assert label is not None
    header = archive.index(b"\n")
    found = 0
    for place in range(len(archive)):
        if label.start(1) <= place < label.end(1):
            continue  # a log has one head hash under whatever name it is kept
        flipped = bytearray(archive)
        flipped[place] ^= 1 << place % 8
        with pytest.raises(BadArchive) as caught:
            list(read_archive(io.BytesIO(flipped)).events)
        if place > header:
            assert caught.value.line == archive.count(b"\n", 0, place) + 1
        found += 1
    assert found > 2000


def test_every_value_of_a_store_counts(cluster: Cluster, archive: bytes) -> None:
    log = EventLog(cluster.log.store, "copy")
    import_log(log.store, log.stream, io.BytesIO(archive))
    with log.store.reading() as connection:
        stream_id = connection.execute(
            select(tables.streams.c.id).where(tables.streams.c.name == log.stream)
        ).scalar_one()
    found = 0
    for table, skipped in (
        (tables.events, {"stream_id"}),
        (tables.objects, {"stream_id"}),
        (tables.subjects, {"stream_id"}),
        (tables.beginnings, {"stream_id"}),
        (tables.streams, {"id", "name", "lease_epoch", "lease_holder", "lease_expires_us"}),
    ):
        found += _flip_all(log, table, stream_id, skipped)
    verify(log, deep=True)
    assert found > 300


def _flip_all(log: EventLog, table: Table, stream_id: int, skipped: set[str]) -> int:
    """Flip one bit of every value in the stream's rows of `table`, bytes by bytes; how many were found."""
    owner = table.c.id if table is tables.streams else table.c.stream_id
    with log.store.reading() as connection:
        rows = [row._asdict() for row in connection.execute(select(table).where(owner == stream_id))]
    keys = [column.name for column in table.primary_key]
    found = 0
    for row in rows:
        same = [table.c[name] == row[name] for name in keys]
        for name, value in row.items():
            if name in skipped:
                continue
            for flipped in _flipped(value):
                changed = {name: flipped}
                at = [column == changed.get(column.name, row[column.name]) for column in table.primary_key]
                with log.store.writing() as connection:
                    taken = connection.execute(select(table).where(*at)).all() if at != same else []
                    if name in keys and taken:
                        continue
                    connection.execute(update(table).where(*same).values(changed))
                with pytest.raises((CorruptLog, StoreError)) as caught:
                    verify(EventLog(log.store, log.stream), deep=True)
                if table is tables.events and name in ("line", "hash"):
                    assert isinstance(caught.value, CorruptLog)
                    assert caught.value.position == row["position"]
                with log.store.writing() as connection:
                    connection.execute(update(table).where(*at).values({name: value}))
                found += 1
    return found


def _flipped(value: object) -> list[object]:
    """`value` with a bit flipped, in every seventh of its bytes."""
    match value:
        case int():
            return [value ^ 1, value ^ 64]
        case str():
            return [chr(ord(value[0]) ^ 1) + value[1:]]
        case bytes():
            places = range(0, len(value), 7)
            return [
                value[:place] + bytes([value[place] ^ 1 << place % 8]) + value[place + 1 :]
                for place in places
            ]
        case _:
            raise AssertionError(msgspec.json.encode(value))
