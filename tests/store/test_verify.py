"""Whatever is wrong with a log is found, at its position."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, func, insert, select, update

from domain.envelope import chain, decode_line
from domain.errors import CorruptLog
from drafts import any_drafts, draft, drafts
from store.chain import Head
from store.log import EventLog
from store.tables import events, objects, streams, subjects
from store.verify import verify

NewLog = Callable[[], EventLog]
Tamper = Callable[[Connection, int], object]


def set_event(position: int, /, **values: Any) -> Tamper:
    """Overwrite columns of one event."""

    def tamper(connection: Connection, stream_id: int) -> None:
        at = (events.c.stream_id == stream_id) & (events.c.position == position)
        connection.execute(update(events).where(at).values(**values))

    return tamper


def set_head(**values: Any) -> Tamper:
    """Overwrite columns of the stream."""
    return lambda connection, stream_id: connection.execute(
        update(streams).where(streams.c.id == stream_id).values(**values)
    )


def drop_event(position: int) -> Tamper:
    """Delete one event."""
    return lambda connection, stream_id: connection.execute(
        delete(events).where(events.c.stream_id == stream_id, events.c.position == position)
    )


def swap_events(one: int, two: int) -> Tamper:
    """Exchange the positions of two events."""

    def tamper(connection: Connection, stream_id: int) -> None:
        for source, target in ((one, -1), (two, one), (-1, two)):
            set_event(source, position=target)(connection, stream_id)

    return tamper


def rechain(position: int, /, **changes: Any) -> Tamper:
    """Change what a line says, and every hash from there on so that the chain holds again."""

    def tamper(connection: Connection, stream_id: int) -> None:
        query = select(events).where(events.c.stream_id == stream_id).order_by(events.c.position)
        rows = connection.execute(query).all()
        previous = rows[position - 2].hash if position > 1 else bytes(32)
        for row in rows[position - 1 :]:
            line = row.line
            if row.position == position:
                line = msgspec.json.encode(msgspec.structs.replace(decode_line(line), **changes))
            previous = chain(previous, line)
            set_event(row.position, line=line, hash=previous)(connection, stream_id)
        set_head(hash=previous)(connection, stream_id)

    return tamper


TAMPERS = [
    pytest.param(set_event(4, line=b"{}"), 4, id="line replaced"),
    pytest.param(set_event(1, hash=bytes(32)), 1, id="first hash"),
    pytest.param(set_event(9, hash=bytes(32)), 9, id="last hash"),
    pytest.param(set_event(4, hash=b""), 4, id="hash emptied"),
    pytest.param(set_event(4, type="PodDeleted"), 4, id="type"),
    pytest.param(set_event(4, at_us=3), 4, id="time"),
    pytest.param(set_event(9, position=12), 9, id="last moved away"),
    pytest.param(set_event(9, position=0), 9, id="last moved before the first"),
    pytest.param(drop_event(1), 1, id="first dropped"),
    pytest.param(drop_event(5), 5, id="inner dropped"),
    pytest.param(drop_event(9), 9, id="last dropped"),
    pytest.param(swap_events(5, 6), 5, id="two swapped"),
    pytest.param(set_head(position=8), 9, id="head behind"),
    pytest.param(set_head(position=10), 10, id="head ahead"),
    pytest.param(set_head(hash=bytes(32)), 9, id="hash of the head"),
    pytest.param(set_head(at_us=99), 9, id="time of the head"),
    pytest.param(rechain(4, position=3), 4, id="position in a line, chain mended"),
    pytest.param(rechain(4, kind="PodDeleted"), 4, id="type in a line, chain mended"),
    pytest.param(rechain(4, at=3), 4, id="time in a line, chain mended"),
    pytest.param(rechain(5, batch=5), 5, id="batch in a line, chain mended"),
    pytest.param(rechain(5, index=0), 5, id="index in a line, chain mended"),
]


@pytest.mark.parametrize(("tamper", "position"), TAMPERS)
def test_tampering_is_found(log: EventLog, tamper: Tamper, position: int) -> None:
    nine_events(log)
    verify(log, deep=True)
    damage(log, tamper)
    with pytest.raises(CorruptLog, match=f"^position {position}: ") as caught:
        verify(log)
    assert caught.value.position == position


def test_time_that_goes_back_is_found(log: EventLog) -> None:
    nine_events(log)
    damage(log, rechain(7, at=1))
    damage(log, set_event(7, at_us=1))
    with pytest.raises(CorruptLog, match="position 7: time goes back from 2 to 1"):
        verify(log)


def drop_index(position: int) -> Tamper:
    """Take one event out of the index by subject."""
    return lambda connection, stream_id: connection.execute(
        delete(subjects).where(subjects.c.stream_id == stream_id, subjects.c.position == position)
    )


def add_index(position: int) -> Tamper:
    """Index an event under a subject that it does not have."""

    def tamper(connection: Connection, stream_id: int) -> None:
        newest = select(func.max(objects.c.id)).where(objects.c.stream_id == stream_id)
        other = connection.execute(newest).scalar_one()
        connection.execute(insert(subjects).values(stream_id=stream_id, object_id=other, position=position))

    return tamper


def forget_object(name: str) -> Tamper:
    """Take an object out of the index."""
    return lambda connection, stream_id: connection.execute(
        delete(objects).where(objects.c.stream_id == stream_id, objects.c.subject == name)
    )


@pytest.mark.parametrize(
    ("tamper", "position"),
    [
        pytest.param(drop_index(1), 1, id="first entry dropped"),
        pytest.param(drop_index(5), 5, id="inner entry dropped"),
        pytest.param(drop_index(9), 9, id="last entry dropped"),
        pytest.param(add_index(3), 3, id="entry added"),
        pytest.param(forget_object("Pod/default/p2"), 3, id="object forgotten"),
    ],
)
def test_a_wrong_index_is_found_by_a_deep_look(log: EventLog, tamper: Tamper, position: int) -> None:
    nine_events(log)
    damage(log, tamper)
    verify(log)
    with pytest.raises(CorruptLog) as caught:
        verify(log, deep=True)
    assert caught.value.position == position


def test_from_the_middle(log: EventLog) -> None:
    nine_events(log)
    four = log.get(4)
    assert four is not None
    start = Head(4, four.hash, four.at)
    assert verify(log, start=start, deep=True) == log.head()
    assert verify(log, start=log.head()) == log.head()
    with pytest.raises(CorruptLog) as caught:
        verify(log, start=Head(4, bytes(32), four.at))
    assert caught.value.position == 5
    with pytest.raises(CorruptLog):
        verify(log, start=Head(10, bytes(32), 9))


def test_progress_is_told(log: EventLog) -> None:
    log.append(drafts(10_001), at=1)
    told: list[int] = []
    verify(log, progress=told.append)
    assert told == [10_000]


@given(st.lists(any_drafts(max_size=4), max_size=4), st.data())
def test_a_flipped_bit_is_found_where_it_is(
    new_log: NewLog, batches: list[list[Any]], data: st.DataObject
) -> None:
    log = new_log()
    for number, batch in enumerate(batches):
        log.append(batch, at=number)
    assert verify(log, deep=True) == log.head()
    stored = list(log.read())
    if not stored:
        return
    event = data.draw(st.sampled_from(stored))
    column = data.draw(st.sampled_from(["line", "hash"]))
    value = bytearray(getattr(event, column))
    bit = data.draw(st.integers(0, 8 * len(value) - 1))
    value[bit // 8] ^= 1 << bit % 8
    damage(log, set_event(event.position, **{column: bytes(value)}))
    with pytest.raises(CorruptLog) as caught:
        verify(log)
    assert caught.value.position == event.position


def nine_events(log: EventLog) -> None:
    """Batches of 3, 3, 2 and 1 events at times 1, 2, 2 and 9; the Pods are p0 to p2, p9 only in the last."""
    log.append(drafts(3), at=1)
    log.append([draft("p0"), draft("p1"), draft("p2")], at=2)
    log.append([draft("p0"), draft("p1")], at=2)
    log.append([draft("p9")], at=9)


def damage(log: EventLog, tamper: Tamper) -> None:
    """Change the rows of `log` behind its back."""
    with log.store.writing() as connection:
        stream_id = connection.execute(select(streams.c.id).where(streams.c.name == log.stream)).scalar_one()
        tamper(connection, stream_id)
