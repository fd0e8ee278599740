"""What holds of any log."""

import shutil
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.envelope import Draft, decode_line
from domain.errors import GangerError
from drafts import SUBJECTS, TYPES, any_drafts, draft, drafts
from store.append import Batch
from store.engine import Store, open_store
from store.log import EventLog
from store.verify import verify

NewLog = Callable[[], EventLog]


def cut(items: Sequence[Draft], at: set[int]) -> list[Sequence[Draft]]:
    """`items` in pieces, cut at some places."""
    edges = [0, *sorted(at), len(items)]
    return [items[start:end] for start, end in pairwise(edges)]


@given(any_drafts(max_size=12), st.data())
def test_batches_split_differently_say_the_same(
    new_log: NewLog, items: list[Draft], data: st.DataObject
) -> None:
    """Only `batch` and `index` tell how a log was appended, and one transaction or many tells nothing."""
    places = st.sets(st.integers(0, len(items)))
    whole, one_by_one, together = new_log(), new_log(), new_log()
    whole.append(items, at=5)
    pieces = cut(items, data.draw(places))
    for piece in pieces:
        one_by_one.append(piece, at=5)
    for group in cut(pieces, {edge for edge in data.draw(places) if edge <= len(pieces)}):  # type: ignore[arg-type]
        together.append_all([Batch(drafts=piece, at=5) for piece in group])  # type: ignore[arg-type]

    assert list(one_by_one.read()) == list(together.read())
    assert [told(log) for log in (one_by_one, together)] == [told(whole)] * 2
    assert [draft_of(line) for _, line in lines(whole)] == items
    for log in (whole, one_by_one, together):
        assert verify(log, deep=True) == log.head()


def lines(log: EventLog) -> list[tuple[int, bytes]]:
    """Positions and lines."""
    return [(event.position, event.line) for event in log.read()]


def told(log: EventLog) -> list[object]:
    """The envelopes without what tells the batches apart."""
    return [msgspec.structs.replace(decode_line(line), batch=0, index=0) for _, line in lines(log)]


def draft_of(line: bytes) -> Draft:
    """What the author of the event knew."""
    envelope = decode_line(line)
    return Draft(
        type=envelope.kind,
        version=envelope.version,
        subjects=envelope.subjects,
        payload=bytes(envelope.payload),
        actor=envelope.actor,
        cause=envelope.cause,
    )


@given(st.lists(any_drafts(max_size=6), max_size=5), st.data())
def test_history_and_type_are_filters_of_the_log(
    new_log: NewLog, batches: list[list[Draft]], data: st.DataObject
) -> None:
    log = new_log()
    for batch in batches:
        log.append(batch, at=1)
    bound = st.integers(0, sum(map(len, batches)) + 1)
    after, until, limit = data.draw(bound), data.draw(st.none() | bound), data.draw(st.none() | bound)
    newest_first = data.draw(st.booleans())
    subject, kind = data.draw(st.sampled_from(SUBJECTS)), data.draw(st.sampled_from(TYPES))

    def expected(matches: Callable[[Draft], bool]) -> list[int]:
        positions = [event.position for event in log.read(after, until) if matches(draft_of(event.line))]
        return positions[:: -1 if newest_first else 1][:limit]

    options = {"after": after, "until": until, "limit": limit, "newest_first": newest_first}
    assert [e.position for e in log.history(subject, **options)] == expected(lambda d: subject in d.subjects)  # type: ignore[arg-type]
    assert [e.position for e in log.of_type(kind, **options)] == expected(lambda d: d.type == kind)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 9), any_drafts(max_size=3)), max_size=8), st.integers(0, 10))
def test_the_position_at_a_time(new_log: NewLog, batches: list[tuple[int, list[Draft]]], at: int) -> None:
    log = new_log()
    for time, batch in batches:
        log.append(batch, at=time)
    assert log.position_at(at) == sum(event.at <= at for event in log.read())


@pytest.fixture(scope="module")
def closed_store(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with a hundred events, all of it in the file itself."""
    path = Path(shutil.copy(sqlite_template, tmp_path_factory.mktemp("closed") / "ganger.db"))
    store = open_store(str(path), create=False)
    log = EventLog(store, "default")
    for number in range(10):
        log.append([*drafts(9, f"{number}-"), draft("a", kind="GroupAttempted")], at=number)
    store.close()
    return path


@given(st.data())
def test_a_flipped_bit_in_the_file_is_found_or_harmless(closed_store: Path, data: st.DataObject) -> None:
    """Wherever it is: in a page's header, a record's type, an index or free space. Never a traceback."""
    good = closed_store.read_bytes()
    bit = data.draw(st.integers(0, 8 * len(good) - 1))
    damaged = bytearray(good)
    damaged[bit // 8] ^= 1 << bit % 8
    path = closed_store.with_name("damaged.db")
    for leftover in ("-wal", "-shm"):
        path.with_name(path.name + leftover).unlink(missing_ok=True)
    path.write_bytes(damaged)
    undamaged = open_store(str(closed_store), create=False)
    try:
        store = open_store(str(path), create=False, durable=False)
    except GangerError:
        undamaged.close()
        return
    try:
        verify(EventLog(store, "default"), deep=True)
        assert everything(store) == everything(undamaged)
    except GangerError:
        pass
    finally:
        store.close()
        undamaged.close()


def everything(store: Store) -> list[object]:
    """What a reader can learn about the log."""
    log = EventLog(store, "default")
    return [log.head(), list(log.read()), list(log.history("Pod/default/a")), log.get(50), log.position_at(5)]
