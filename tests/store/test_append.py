"""Appending: places, conditions, and that a refusal leaves nothing behind."""

from collections.abc import Callable

import msgspec
import pytest

from domain.envelope import GENESIS, chain, decode_line
from domain.errors import PositionConflict
from drafts import draft, drafts
from store.append import Batch
from store.chain import StoredEvent
from store.errors import CommitConflict, IdempotencyMismatch, StaleEpoch
from store.leases import acquire
from store.log import EventLog
from store.verify import verify

NewLog = Callable[[], EventLog]
BULK = 300  # more than PostgreSQL writes in one statement


@pytest.mark.parametrize("size", [1, 3, BULK])
def test_a_batch_gets_the_next_positions(log: EventLog, size: int) -> None:
    log.append(drafts(2), at=1)
    appended = log.append(drafts(size), at=7)

    assert (appended.first, appended.last, appended.replayed) == (3, 2 + size, False)
    events = list(log.read(2))
    envelopes = [decode_line(event.line) for event in events]
    assert [e.position for e in events] == [e.position for e in envelopes] == list(range(3, 3 + size))
    assert [(e.batch, e.index, e.at) for e in envelopes] == [(3, index, 7) for index in range(size)]
    assert log.head() == (2 + size, appended.head_hash, 7)
    assert events[-1].hash == appended.head_hash
    verify(log, deep=True)


def test_the_chain_starts_from_zero_bytes_and_runs_through_batches(log: EventLog) -> None:
    log.append([draft()], at=1)
    log.append([draft()], at=1)
    one, two = log.read()
    assert one.hash == chain(GENESIS, one.line)
    assert two.hash == chain(one.hash, two.line)


def test_streams_of_one_store_know_nothing_of_each_other(log: EventLog, new_log: NewLog) -> None:
    other = new_log()
    log.append(drafts(3), at=5)
    assert other.append(drafts(2), at=1).last == 2
    assert other.head().at == 1
    assert [e.position for e in other.history("Pod/default/p1")] == [2]
    assert [verify(each, deep=True).position for each in (log, other)] == [3, 2]


def test_time_never_goes_back(log: EventLog) -> None:
    log.append([draft()], at=10)
    log.append([draft()], at=4)
    log.append([draft()], at=11)
    assert [event.at for event in log.read()] == [10, 10, 11]


def test_an_empty_batch_appends_nothing(log: EventLog) -> None:
    assert log.append([], at=1)[:2] == (1, 0)
    before = log.append([draft()], at=1)
    assert log.append([], at=9, idempotency_key="k") == (2, 1, before.head_hash, False)
    assert log.head() == (1, before.head_hash, 1)


@pytest.mark.parametrize("size", [0, 1, BULK])
@pytest.mark.parametrize("expected", [0, 1, 3])
def test_another_head_than_expected_appends_nothing(log: EventLog, expected: int, size: int) -> None:
    log.append(drafts(2), at=1)
    with pytest.raises(PositionConflict) as caught:
        log.append(drafts(size), at=1, expected=expected)
    assert (caught.value.expected, caught.value.head) == (expected, 2)
    assert log.head().position == 2
    assert log.append(drafts(size), at=1, expected=2).last == 2 + size


def test_a_head_that_another_log_object_moved_is_seen(log: EventLog) -> None:
    """Each object guesses the head from its own last append."""
    other = EventLog(log.store, log.stream)
    log.append([draft("a")], at=1)
    other.append([draft("b"), draft("c")], at=2)
    assert log.append([draft("c"), draft("d")], at=3).first == 4
    assert other.append([draft("d")], at=4, expected=5).first == 6
    with pytest.raises(PositionConflict):
        log.append([draft()], at=5, expected=5)
    assert [e.position for e in log.history("Pod/default/c")] == [3, 4]
    verify(log, deep=True)


def test_a_repeated_key_gives_the_first_result(log: EventLog) -> None:
    first = log.append(drafts(2), at=1, idempotency_key="k")
    log.append([draft("later")], at=2)
    again = log.append(drafts(2), at=3, expected=0, epoch=77, idempotency_key="k")
    assert again == first._replace(replayed=True)
    assert log.head().position == 3


def test_a_key_is_of_its_stream(log: EventLog, new_log: NewLog) -> None:
    log.append([draft("a")], at=1, idempotency_key="k")
    assert not new_log().append([draft("b")], at=1, idempotency_key="k").replayed


def test_a_key_used_for_other_events_is_refused(log: EventLog) -> None:
    log.append(drafts(2), at=1, idempotency_key="k")
    for others in (drafts(1), drafts(3), [draft("p0"), draft("p1", cause=1)], []):
        with pytest.raises(IdempotencyMismatch):
            log.append(others, at=1, idempotency_key="k")
    assert log.head().position == 2


def test_a_refused_append_leaves_its_key_free(log: EventLog) -> None:
    with pytest.raises(PositionConflict):
        log.append([draft()], at=1, expected=5, idempotency_key="k")
    assert not log.append([draft()], at=1, idempotency_key="k").replayed


def test_an_old_epoch_appends_nothing(log: EventLog) -> None:
    old = acquire(log.store, log.stream, "one", now=0, ttl_us=10)
    log.append([draft()], at=1, epoch=old.epoch)
    new = acquire(log.store, log.stream, "two", now=10, ttl_us=10)
    with pytest.raises(StaleEpoch) as caught:
        log.append([draft()], at=1, epoch=old.epoch)
    assert (caught.value.epoch, caught.value.current) == (old.epoch, new.epoch)
    log.append([draft()], at=1, epoch=new.epoch)
    assert log.append([draft()], at=1).last == 3  # what is not a worker's needs no lease


@pytest.mark.parametrize("size", [1, BULK])
def test_a_guard_sees_what_came_after_its_snapshot(log: EventLog, size: int) -> None:
    seen: list[list[int]] = []

    def guard(tail: object) -> bool:
        assert isinstance(tail, list)
        assert all(isinstance(event, StoredEvent) for event in tail)
        seen.append([event.position for event in tail])
        return len(tail) < 3

    log.append(drafts(3), at=1)
    log.append(drafts(size), at=1, guard=guard, snapshot_position=3)
    assert seen == []  # nothing came after it
    assert log.append([draft()], at=1, guard=guard, snapshot_position=size + 1).first == size + 4
    head = log.head()
    with pytest.raises(CommitConflict) as caught:
        log.append(drafts(size), at=1, guard=guard, snapshot_position=size + 1)
    assert (caught.value.snapshot_position, caught.value.head) == (size + 1, size + 4)
    assert seen[0] == [size + 2, size + 3]
    assert seen[-1] == [size + 2, size + 3, size + 4]
    assert log.head() == head


def test_a_guard_sees_what_another_log_object_appended(log: EventLog) -> None:
    log.append([draft("a")], at=1)
    EventLog(log.store, log.stream).append([draft("b")], at=1)
    with pytest.raises(CommitConflict):
        log.append([draft("c")], at=1, guard=lambda tail: False, snapshot_position=1)
    assert log.head().position == 2


def test_a_guard_and_its_snapshot_go_together(log: EventLog) -> None:
    with pytest.raises(ValueError, match="go together"):
        log.append([draft()], at=1, guard=lambda tail: True)


@pytest.mark.parametrize("subjects", [("b", "a"), ("a", "a")])
def test_subjects_out_of_order_are_the_callers_mistake(log: EventLog, subjects: tuple[str, ...]) -> None:
    wrong = msgspec.structs.replace(draft(), subjects=subjects)
    with pytest.raises(ValueError, match="sorted"):
        log.append([wrong], at=1)


@pytest.mark.parametrize("warm", [False, True], ids=["first append", "later append"])
def test_independent_batches_have_independent_outcomes(log: EventLog, warm: bool) -> None:
    start = log.append(drafts(2), at=1).last if warm else 0
    outcomes = log.append_all(
        [
            Batch(drafts=drafts(2), at=5),
            Batch(drafts=drafts(1), at=5, expected=99),
            Batch(drafts=[draft("x")], at=3, idempotency_key="k"),
            Batch(drafts=[draft("y")], at=5, idempotency_key="k"),
            Batch(drafts=[draft("x")], at=5, idempotency_key="k"),
            Batch(drafts=drafts(1), at=5, epoch=1),
            Batch(drafts=drafts(1), at=5, guard=lambda tail: len(tail) != 3, snapshot_position=start),
            Batch(drafts=drafts(2), at=6, expected=start + 3),
        ]
    )
    placed = [outcome[:2] if isinstance(outcome, tuple) else type(outcome) for outcome in outcomes]
    assert placed == [
        (start + 1, start + 2),
        PositionConflict,
        (start + 3, start + 3),
        IdempotencyMismatch,
        (start + 3, start + 3),
        StaleEpoch,
        CommitConflict,
        (start + 4, start + 5),
    ]
    assert outcomes[4].replayed  # type: ignore[union-attr]
    assert [decode_line(e.line).batch - start for e in log.read(start)] == [1, 1, 3, 4, 4]
    assert [e.at for e in log.read(start)] == [5, 5, 5, 6, 6]
    verify(log, deep=True)


def test_only_refused_batches_append_nothing(log: EventLog) -> None:
    log.append([draft()], at=1)
    outcomes = log.append_all([Batch(drafts=[draft()], at=1, expected=7), Batch(drafts=[], at=1)])
    assert isinstance(outcomes[0], PositionConflict)
    assert outcomes[1][:2] == (2, 1)  # type: ignore[index]
    assert log.head().position == 1


@pytest.mark.parametrize("moved", [1, 2], ids=["by as much as the first batch", "by more"])
def test_batches_that_build_on_each_other_stand_or_fall_together(log: EventLog, moved: int) -> None:
    log.append([draft()], at=1)
    EventLog(log.store, log.stream).append(drafts(moved), at=1)  # as another process would
    batches = [Batch(drafts=[draft()], at=1), Batch(drafts=[draft()], at=1)]
    with pytest.raises(PositionConflict):
        log.append_all(batches, expected=1)
    assert log.head().position == 1 + moved
    outcomes = log.append_all(batches, expected=1 + moved)
    assert [outcome[:2] for outcome in outcomes] == [(2 + moved, 2 + moved), (3 + moved, 3 + moved)]  # type: ignore[index]
    verify(log, deep=True)


def test_object_ids_survive_being_forgotten(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.log.KNOWN_OBJECTS", 3)
    for _ in range(3):
        log.append(drafts(5), at=1)
    assert [e.position for e in log.history("Pod/default/p4")] == [5, 10, 15]
    verify(log, deep=True)
