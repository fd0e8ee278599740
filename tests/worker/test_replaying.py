"""Replay: the same log decides the same again, and whatever was tampered with is found where it is."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from books import Book, Lines, lines_of
from build import START, fact, group, node, pod
from domain import events as ev
from domain.conflict import stands
from domain.envelope import GENESIS, Envelope, canonical, decode_line, encode_line
from domain.errors import CorruptLog
from domain.scheduling.cycle import decide
from domain.state import encode_state
from domain.times import SECOND
from domain.upcast import draft
from domain.version import SCHEDULER
from store.archive import export_log, open_archive
from store.engine import Store
from store.errors import BadArchive
from strategies import Action, actions, books, perform
from worker import replaying
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker
from worker.replaying import ArchivedLog, ReplayResult, StoredLog, replay


def gangs_in_turn() -> Book:
    """Two gangs that have to wait for each other, and a Pod that fits nowhere for a while."""
    run = {"ganger.dev/run-seconds": "20"}
    book = Book(
        node("n", cpu="2"),
        *[
            each
            for name in ("a", "b")
            for each in (
                group(name, 2),
                *[pod(f"{name}-{n}", cpu="1", group=name, annotations=run) for n in range(2)],
            )
        ],
        pod("big", cpu="3"),
    ).settle()
    book.apply([node("m", cpu="4")])
    return book.settle()


# The same again


@given(books(min_size=12))
def test_a_log_decides_the_same_again(book: Book) -> None:
    source = Lines(lines_of(book))
    result = replay(source)
    assert result.divergence is None
    assert result.events == len(book.events)
    assert result.attempts == sum(isinstance(event.payload, ev.GroupAttempted) for event in book.events)
    assert result.head_hash == source.stored[-1].hash


@given(books(min_size=8), st.lists(actions(), min_size=1, max_size=3))
def test_an_attempt_that_was_committed_after_others_wrote_decides_the_same(
    book: Book, meanwhile: list[Action]
) -> None:
    book.apply([group("extra", 2), *[pod(f"extra-{n}", cpu="500m", group="extra") for n in range(2)]])
    decision = decide(book.state, book.now)
    assert decision is not None
    before = book.state.copy()
    for action in meanwhile:
        perform(action, book)
    if all(stands(decision, event, before) for event in book.events[before.position :]):
        book.append(*decision.payloads)
    book.settle()
    assert replay(Lines(lines_of(book))).same


def test_a_stored_log_and_its_archive_replay_alike(store: Store, tmp_path: Path) -> None:
    clock = VirtualClock(START)
    cluster = Cluster.open(store, "c", clock=clock)
    cluster.apply([node("n", cpu="2"), group("g", 2), *[pod(f"g-{n}", cpu="1", group="g") for n in range(3)]])
    Worker(cluster).settle(clock)
    path = tmp_path / "log.jsonl.zst"
    with open_archive(path, "w") as file:
        export_log(cluster.log, file)
    reached: list[int] = []
    stored, archived = replay(StoredLog(cluster.log), reached.append), replay(ArchivedLog(path))
    assert stored == archived
    head = cluster.log.head()
    assert stored == ReplayResult(head.position, 2, 0, head.hash, None)
    assert reached == [head.position]


def test_an_empty_log_replays(store: Store) -> None:
    assert replay(StoredLog(Cluster.open(store, "c", clock=VirtualClock(0)).log)) == ReplayResult(
        0, 0, 0, GENESIS, None
    )


def test_progress_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "_PROGRESS_EVERY", 4)
    reached: list[int] = []
    replay(Lines(lines_of(Book(*[node(f"n{number}") for number in range(10)]))), reached.append)
    assert reached == [4, 8, 10]


# Tampered with


Edit = Callable[[dict], object]


def tampered(book: Book, kind: str, edit: Edit, *, number: int = 0) -> tuple[Lines, int]:
    """The log with one payload changed, all hashes made anew; and the position of the change."""
    lines = lines_of(book)
    position = [event.position for event in book.events if type(event.payload).__name__ == kind][number]
    read = decode_line(lines[position - 1])
    payload = msgspec.json.decode(read.payload)
    edit(payload)
    lines[position - 1] = rewritten(read, payload=msgspec.Raw(canonical(payload)))
    return Lines(lines), position


def rewritten(read: Envelope, **fields: object) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(read, **fields))


def to_another_node(payload: dict) -> None:
    payload["node"] = "m"


@pytest.mark.parametrize(
    ("kind", "edit", "recorded", "decided"),
    [
        pytest.param("PodBound", to_another_node, b'"node":"m"', b'"node":"n"', id="another node"),
        pytest.param(
            "GroupAttempted",
            lambda payload: payload["groups"][0].update(minimum=1),
            b'"minimum":1',
            b'"minimum":2',
            id="another finding",
        ),
        pytest.param(
            "GroupAttempted",
            lambda payload: payload.update(entity="PodGroup/default/b"),
            b'"entity":"PodGroup/default/b"',
            b'"entity":"PodGroup/default/a"',
            id="another entity",
        ),
        pytest.param(
            "GroupAttempted",
            lambda payload: payload.update(snapshot=5),
            b'"snapshot":5',
            b"",  # nothing was due there
            id="another snapshot",
        ),
        pytest.param(
            "GroupAttempted",
            lambda payload: payload.update(outcome="error"),
            b'"error"',
            b'"scheduled"',
            id="another outcome",
        ),
    ],
)
def test_a_changed_decision_is_found_where_it_is(
    kind: str, edit: Edit, recorded: bytes, decided: bytes
) -> None:
    source, position = tampered(with_second_node_from_the_start(), kind, edit)
    found = replay(source).divergence
    assert found is not None
    assert found.position == position
    assert found.recorded is not None
    assert recorded in found.recorded
    assert found.decided is None or decided in found.decided


def with_second_node_from_the_start() -> Book:
    members = [pod(f"{name}-{n}", cpu="1", group=name) for name in ("a", "b") for n in range(2)]
    return Book(node("n", cpu="4"), node("m", cpu="2"), group("a", 2), group("b", 2), *members).settle()


def test_a_decision_at_another_time_is_found() -> None:
    """At that time the entity still backed off."""
    book = Book(node("n", cpu="1"), group("g", 1), pod("g-0", cpu="2", group="g")).settle()
    book.apply([node("m", cpu="2")])
    book.settle()
    source, position = tampered(
        book, "GroupAttempted", lambda payload: payload.update(at=START + SECOND), number=1
    )
    found = replay(source).divergence
    assert found is not None
    assert (found.position, found.attempt, found.decided) == (position, position, None)


def test_a_binding_that_is_missing_is_found_after_what_is_there() -> None:
    book = Book(node("n", cpu="4"), group("g", 2), *[pod(f"g-{n}", cpu="1", group="g") for n in range(2)])
    book.cycle()
    lines = lines_of(book)
    found = replay(Lines(lines[:-1])).divergence
    assert found is not None
    assert (found.position, found.attempt, found.recorded) == (len(lines), len(lines) - 2, None)
    assert found.decided is not None
    assert b'"pod":"default/g-1"' in found.decided


def test_a_binding_too_many_is_found() -> None:
    book = Book(node("n", cpu="4"), pod("a", cpu="1"), pod("x", gates=["x/y"]))
    decision = decide(book.state, book.now)
    assert decision is not None
    extra = ev.PodBound(pod="default/x", uid=book.state.pods["default/x"].uid, node="n")
    book.append(*decision.payloads, extra)
    found = replay(Lines(lines_of(book))).divergence
    assert found is not None
    assert (found.position, found.decided) == (len(book.events), None)


def test_a_binding_without_an_attempt_is_found() -> None:
    book = Book(node("n", cpu="4"), pod("x", gates=["x/y"]))
    book.append(ev.PodBound(pod="default/x", uid=book.state.pods["default/x"].uid, node="n"))
    found = replay(Lines(lines_of(book))).divergence
    assert found is not None
    assert (found.position, found.attempt, found.decided) == (3, 3, None)


def test_an_attempt_at_what_was_not_due_is_found() -> None:
    book = Book(node("n"), pod("a"))
    book.cycle()
    again = ev.GroupAttempted(
        at=START, entity="Pod/default/a", number=2, outcome="scheduled", scheduler=SCHEDULER, snapshot=4
    )
    lines = lines_of(book)
    lines.append(encode_line(draft(again, actor="test"), position=5, batch=5, at=START))
    found = replay(Lines(lines)).divergence
    assert found is not None
    assert (found.position, found.decided) == (5, None)


def committed_late(payload: ev.Payload) -> tuple[Book, int]:
    """A log in which `payload` came between a decision for n and its commit; where that begins."""
    book = Book(node("m", cpu="1"), node("n", cpu="4"), pod("a", cpu="2"))
    decision = decide(book.state, book.now)
    assert decision is not None
    book.append(payload)
    book.append(*decision.payloads)
    return book, book.batches[-1]


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(fact(node("n", cpu="1"), "Updated"), id="its node shrinks"),
        pytest.param(fact(pod("x", cpu="3", node="n")), id="somebody takes its room"),
        pytest.param(ev.SchedulerConfigured(), id="the scheduler is configured"),
    ],
)
def test_a_decision_that_was_too_late_to_commit_is_found(payload: ev.Payload) -> None:
    book, position = committed_late(payload)
    found = replay(Lines(lines_of(book))).divergence
    assert found is not None
    assert (found.position, found.attempt, found.decided) == (position, position, None)
    assert found.overtaken == position - 1


def test_a_decision_that_survives_what_came_in_between_is_the_same() -> None:
    book, _ = committed_late(fact(node("m", cpu="8"), "Updated"))
    assert replay(Lines(lines_of(book))).same


def test_attempts_of_another_version_are_folded_and_not_decided_again() -> None:
    source, _ = tampered(
        with_second_node_from_the_start(),
        "GroupAttempted",
        lambda payload: payload.update(scheduler="ganger/0"),
    )
    result = replay(source)
    assert result.same
    assert (result.attempts, result.elsewhere) == (1, 1)


def test_attempts_of_another_version_can_be_decided_again_for_comparison() -> None:
    source, position = tampered(
        with_second_node_from_the_start(),
        "GroupAttempted",
        lambda payload: payload.update(scheduler="ganger/0"),
    )
    result = replay(source, against_current=True)
    assert (result.same, result.attempts, result.versions) == (True, 2, ("ganger/0",))
    source, position = tampered(
        with_second_node_from_the_start(),
        "GroupAttempted",
        lambda payload: payload.update(scheduler="ganger/0", number=7),
    )
    found = replay(source, against_current=True).divergence
    assert found is not None
    assert found.position == position
    (different,) = found.differences
    assert (different.path, different.recorded, different.decided) == ("number", "7", "1")


def test_a_snapshot_that_is_not_what_the_log_folds_to_is_found(sqlite_store: Store) -> None:
    cluster = Cluster.open(sqlite_store, "c", clock=VirtualClock(START))
    cluster.apply([node("n"), pod("a")])
    snapshots = replaying.snapshots_of(cluster.log)
    for position, body in ((1, cluster.state_at(1)), (2, cluster.state_at(1))):
        stored = cluster.log.get(position)
        assert stored is not None
        snapshots.save(position, stored.hash, encode_state(body))
    result = replay(StoredLog(cluster.log), snapshots=snapshots)
    assert (result.same, result.divergence, result.snapshots) == (False, None, 2)
    assert [bad.position for bad in result.bad_snapshots] == [2]


# Damaged


@pytest.mark.parametrize("position", [1, 5, 9])
def test_a_broken_chain_is_corrupt_at_its_position(position: int) -> None:
    source = Lines(lines_of(gangs_in_turn()))
    source.stored[position - 1] = source.stored[position - 1]._replace(hash=bytes(32))
    with pytest.raises(CorruptLog) as caught:
        replay(source)
    assert caught.value.position == position


def test_an_event_that_cannot_have_happened_is_corrupt_at_its_position() -> None:
    lines = lines_of(gangs_in_turn())
    again = rewritten(decode_line(lines[0]), position=3, batch=3)
    with pytest.raises(CorruptLog, match="position 3: Node n exists already"):
        replay(Lines([*lines[:2], again]))


def test_a_gap_is_corrupt_at_its_position() -> None:
    lines = lines_of(gangs_in_turn())
    with pytest.raises(CorruptLog, match="position 2: the event is missing; position 3 follows"):
        replay(Lines([lines[0], lines[2]]))


def test_an_archive_that_is_cut_off_is_bad(sqlite_store: Store, tmp_path: Path) -> None:
    cluster = Cluster.open(sqlite_store, "c", clock=VirtualClock(START))
    cluster.apply([node("n"), pod("a")])
    path = tmp_path / "log.jsonl"
    with open_archive(path, "w") as file:
        export_log(cluster.log, file)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BadArchive):
        replay(ArchivedLog(path))
