"""Reading: ranges, history by subject, by type, by time; and that an index serves them."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import event as sa_event

from domain.envelope import GENESIS
from domain.errors import CorruptLog
from drafts import draft, drafts
from store import tables
from store.chain import EMPTY_HEAD
from store.engine import Store
from store.log import HISTORY_PAGE, PAGE, EventLog, stream_names

NewLog = Callable[[], EventLog]


@pytest.mark.parametrize(
    ("after", "until", "expected"),
    [
        pytest.param(0, None, [1, 2, 3, 4, 5], id="all"),
        pytest.param(2, None, [3, 4, 5], id="after"),
        pytest.param(0, 3, [1, 2, 3], id="until"),
        pytest.param(1, 2, [2], id="one"),
        pytest.param(3, 3, [], id="empty range"),
        pytest.param(4, 2, [], id="backwards"),
        pytest.param(3, 99, [4, 5], id="until beyond the head"),
        pytest.param(5, None, [], id="after the head"),
        pytest.param(9, None, [], id="after beyond the head"),
    ],
)
def test_read(log: EventLog, after: int, until: int | None, expected: list[int]) -> None:
    log.append(drafts(5), at=1)
    assert [event.position for event in log.read(after, until)] == expected


def test_a_stream_that_is_not_there_is_empty(log: EventLog) -> None:
    assert log.head() == EMPTY_HEAD == (0, GENESIS, 0)
    assert list(log.read()) == list(log.history("Pod/default/a")) == list(log.of_type("PodAdded")) == []
    assert log.get(1) is None
    assert log.position_at(10**18) == 0


def test_many_pages_are_one_state_of_the_log(log: EventLog) -> None:
    """What is appended while a reader reads is not part of what it reads."""
    log.append(drafts(2 * PAGE + 5), at=1)
    reader = log.read()
    positions = [next(reader).position]
    log.append(drafts(1), at=1)
    positions += [event.position for event in reader]
    assert positions == list(range(1, 2 * PAGE + 6))


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(1, id="first"),
        pytest.param(3, id="inner"),
        pytest.param(5, id="last"),
        pytest.param(PAGE + 3, id="on the second page"),
    ],
)
def test_a_missing_event_is_not_passed_over(log: EventLog, gone: int) -> None:
    log.append(drafts(PAGE + 5 if gone > 5 else 5), at=1)
    stream_id = _stream_id(log)
    with log.store.writing() as connection:
        connection.execute(
            tables.events.delete().where(
                tables.events.c.stream_id == stream_id, tables.events.c.position == gone
            )
        )
    read: list[int] = []
    with pytest.raises(CorruptLog) as caught:
        read.extend(event.position for event in log.read())
    assert caught.value.position == gone
    assert read == list(range(1, gone))


def test_positions_are_given_in_the_order_of_the_log(log: EventLog) -> None:
    log.append(drafts(5), at=1)
    assert [event.position for event in log.read_positions([5, 2, 9, 2])] == [2, 5]
    assert log.read_positions([]) == []
    assert log.get(3) == list(log.read())[2]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, [1, 3, 5, 7, 9], id="all"),
        pytest.param({"newest_first": True}, [9, 7, 5, 3, 1], id="newest first"),
        pytest.param({"limit": 2}, [1, 3], id="limit"),
        pytest.param({"limit": 2, "newest_first": True}, [9, 7], id="limit, newest first"),
        pytest.param({"limit": 0}, [], id="limit 0"),
        pytest.param({"after": 3}, [5, 7, 9], id="after"),
        pytest.param({"until": 7}, [1, 3, 5, 7], id="until"),
        pytest.param({"after": 2, "until": 8, "limit": 1, "newest_first": True}, [7], id="everything"),
    ],
)
@pytest.mark.parametrize("by", ["subject", "type"])
def test_history_and_type(log: EventLog, by: str, options: dict[str, int], expected: list[int]) -> None:
    for number in range(1, 11):
        log.append([draft("odd", kind="Odd") if number % 2 else draft("even", kind="Even")], at=number)
    found = (
        log.history("Pod/default/odd", **options) if by == "subject" else log.of_type("Odd", **options)  # type: ignore[arg-type]
    )
    assert [event.position for event in found] == expected


def test_no_position_is_too_large_to_be_asked_for(log: EventLog) -> None:
    log.append([draft("a")], at=1)
    far = 2**70
    assert log.get(far) is None
    for read in (log.read, partial(log.history, "Pod/default/a"), partial(log.of_type, "Odd")):
        assert list(read(after=far)) == []
        assert list(read(after=far, until=far + 1)) == []
    assert [event.position for event in log.history("Pod/default/a", until=far)] == [1]


def test_a_long_history_comes_in_pages(log: EventLog) -> None:
    count = 2 * HISTORY_PAGE + 3
    log.append([draft("a") for _ in range(count)], at=1)
    everything = list(range(1, count + 1))
    assert [e.position for e in log.history("Pod/default/a")] == everything
    assert [e.position for e in log.history("Pod/default/a", newest_first=True)] == everything[::-1]
    assert [e.position for e in log.history("Pod/default/a", limit=HISTORY_PAGE + 1)] == everything[
        : HISTORY_PAGE + 1
    ]


def test_an_event_is_in_the_history_of_all_its_subjects(log: EventLog) -> None:
    log.append([draft(subjects=["Pod/default/a", "Node/n1"]), draft("a"), draft(subjects=[])], at=1)
    assert [e.position for e in log.history("Node/n1")] == [1]
    assert [e.position for e in log.history("Pod/default/a")] == [1, 2]
    assert list(log.history("Pod/default/b")) == []


@pytest.mark.parametrize("warm", [False, True], ids=["first use", "later use"])
@pytest.mark.parametrize(
    ("look", "index"),
    [
        pytest.param(lambda log: log.history("Pod/default/p7"), "subjects", id="history"),
        pytest.param(
            lambda log: log.of_type(tables.ATTEMPT, newest_first=True), "ix_events_attempts", id="attempts"
        ),
        pytest.param(lambda log: log.read(3), "events", id="read"),
    ],
)
def test_an_index_serves_it(
    sqlite_store: Store, look: Callable[[EventLog], object], index: str, warm: bool
) -> None:
    log = EventLog(sqlite_store, "default")
    log.append([*drafts(20), draft("p7", kind=tables.ATTEMPT)], at=1)
    if warm:
        list(look(log))  # type: ignore[call-overload]
    statements: list[tuple[str, object]] = []

    def listener(
        _connection: object, _cursor: object, statement: str, parameters: object, *_: object
    ) -> None:
        statements.append((statement, parameters))

    sa_event.listen(sqlite_store.engine, "before_cursor_execute", listener)
    assert list(look(log))  # type: ignore[call-overload]
    sa_event.remove(sqlite_store.engine, "before_cursor_execute", listener)

    plans: list[str] = []
    with sqlite_store.reading() as connection:
        for statement, parameters in statements:
            if statement.startswith("SELECT"):
                rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)  # type: ignore[arg-type]
                plans += [row.detail for row in rows]
    assert plans
    assert any(index in plan for plan in plans)
    assert not [plan for plan in plans if plan.startswith("SCAN") or "TEMP B-TREE" in plan]


@pytest.mark.parametrize(
    ("at", "expected"),
    [(0, 0), (4, 0), (5, 2), (6, 2), (7, 3), (8, 3), (9, 6), (10**18, 6)],
)
def test_position_at(log: EventLog, at: int, expected: int) -> None:
    for time, count in ((5, 2), (7, 1), (9, 3)):
        log.append(drafts(count), at=time)
    assert log.position_at(at) == expected


def test_streams_are_named_once_they_have_events(store: Store) -> None:
    assert stream_names(store) == []
    for name in ("b", "é", "B", "a"):
        EventLog(store, name).append([draft()], at=1)
    EventLog(store, "empty").append([], at=1)
    assert stream_names(store) == ["B", "a", "b", "é"]


def _stream_id(log: EventLog) -> int:
    with log.store.reading() as connection:
        query = tables.streams.select().where(tables.streams.c.name == log.stream)
        return int(connection.execute(query).one().id)
