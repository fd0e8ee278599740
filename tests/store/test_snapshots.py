"""Snapshots are a cache: whatever is wrong with one, it is passed over, told, and made again."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from domain.envelope import GENESIS
from drafts import drafts
from store.engine import open_store
from store.errors import StoreError
from store.log import EventLog
from store.snapshots import Snapshot, Snapshots
from store.tables import events, snapshots, streams

NewLog = Callable[[], EventLog]


def save(kept: Snapshots, log: EventLog, *positions: int) -> None:
    """Snapshots whose bodies say where they are."""
    for position in positions:
        event = log.get(position)
        assert event is not None
        kept.save(position, event.hash, b"state at %d" % position)


def damage(log: EventLog, position: int, /, **values: Any) -> None:
    """Overwrite columns of a snapshot."""
    with log.store.writing() as connection:
        stream_id = select(streams.c.id).where(streams.c.name == log.stream).scalar_subquery()
        where = (snapshots.c.stream_id == stream_id) & (snapshots.c.position == position)
        connection.execute(update(snapshots).where(where).values(**values))


@pytest.fixture
def kept(log: EventLog) -> Snapshots:
    """The snapshots of `log`, which has ten events."""
    log.append(drafts(10), at=1)
    return Snapshots(log.store, log.stream, format=1)


@pytest.mark.parametrize(
    ("at_or_before", "expected"), [(None, 9), (100, 9), (9, 9), (8, 5), (5, 5), (4, 2), (1, None)]
)
def test_the_newest_not_after(
    kept: Snapshots, log: EventLog, at_or_before: int | None, expected: int | None
) -> None:
    save(kept, log, 5, 2, 9)
    loaded = kept.load(at_or_before)
    assert loaded.notes == []
    if expected is None:
        assert loaded.snapshot is None
    else:
        event = log.get(expected)
        assert event is not None
        assert loaded.snapshot == Snapshot(expected, event.hash, b"state at %d" % expected)


def test_none_of_an_empty_stream(new_log: NewLog) -> None:
    log = new_log()
    kept = Snapshots(log.store, log.stream, format=1)
    assert (kept.load().snapshot, kept.positions()) == (None, [])
    with pytest.raises(StoreError, match="no events"):
        kept.save(0, GENESIS, b"")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        pytest.param({"body": b"torn"}, "it is damaged", id="torn"),
        pytest.param({"body": b""}, "it is damaged", id="emptied"),
        pytest.param({"digest": bytes(32)}, "it is damaged", id="digest"),
        pytest.param({"chain_hash": bytes(32)}, "it was taken of another log", id="another log"),
        pytest.param({"position": 99}, "it was taken of another log", id="beyond the head"),
        pytest.param({"format": 2}, "it is in format 2, not 1", id="another format"),
    ],
)
def test_a_bad_one_is_passed_over_told_and_deleted(
    kept: Snapshots, log: EventLog, values: dict[str, Any], reason: str
) -> None:
    save(kept, log, 3, 7)
    damage(log, 7, **values)
    position = values.get("position", 7)
    loaded = kept.load()
    assert loaded.snapshot is not None
    assert loaded.snapshot.position == 3
    assert loaded.notes == [f"snapshot at position {position} ignored: {reason}"]
    assert kept.positions() == [3]
    assert kept.load().notes == []
    save(kept, log, 7)
    assert kept.load().snapshot == Snapshot(7, log.read_positions([7])[0].hash, b"state at 7")


def test_all_bad_is_none(kept: Snapshots, log: EventLog) -> None:
    save(kept, log, 3, 7)
    for position in (3, 7):
        damage(log, position, body=b"?")
    loaded = kept.load()
    assert loaded.snapshot is None
    assert len(loaded.notes) == 2


def test_a_log_that_changed_under_it(kept: Snapshots, log: EventLog) -> None:
    save(kept, log, 7)
    with log.store.writing() as connection:
        stream_id = select(streams.c.id).where(streams.c.name == log.stream).scalar_subquery()
        where = (events.c.stream_id == stream_id) & (events.c.position == 7)
        connection.execute(update(events).where(where).values(hash=bytes(32)))
    assert kept.load().snapshot is None


def test_saved_again_it_is_replaced(kept: Snapshots, log: EventLog) -> None:
    save(kept, log, 7)
    kept.save(7, log.read_positions([7])[0].hash, b"better")
    loaded = kept.load()
    assert loaded.snapshot is not None
    assert loaded.snapshot.body == b"better"


def test_a_bad_one_in_a_store_that_cannot_be_written(sqlite_store: Any) -> None:
    log = EventLog(sqlite_store, "default")
    log.append(drafts(10), at=1)
    save(Snapshots(sqlite_store, "default", format=1), log, 3, 7)
    damage(log, 7, body=b"torn")
    read_only = open_store(f"sqlite:///file:{sqlite_store.where}?mode=ro&uri=true", create=False)
    loaded = Snapshots(read_only, "default", format=1).load()
    read_only.close()
    assert loaded.snapshot is not None
    assert loaded.snapshot.position == 3
    assert loaded.notes[0] == "snapshot at position 7 ignored: it is damaged"
    assert loaded.notes[1].startswith("ignored snapshots were not deleted: ")


def test_which_are_kept(log: EventLog) -> None:
    """The newest two, and the newest of every ten positions."""
    log.append(drafts(45), at=1)
    kept = Snapshots(log.store, log.stream, format=1, newest=2, spacing=10)
    save(kept, log, *range(1, 46))
    assert kept.positions() == [45, 44, 39, 29, 19, 9]
