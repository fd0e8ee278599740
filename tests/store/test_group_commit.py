"""Group commit: many callers, few transactions, each caller its own outcome."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from domain.errors import PositionConflict
from drafts import draft
from store.append import Appended, Batch
from store.chain import StoredEvent
from store.errors import StoreError, StoreFull
from store.group_commit import GroupCommit
from store.log import EventLog, Outcome
from store.verify import verify


class GatedLog(EventLog):
    """A log whose transactions wait at a gate, and which counts them."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(log.store, log.stream)
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.sizes: list[int] = []

    def append_all(self, batches: Sequence[Batch]) -> list[Outcome]:
        self.entered.set()
        self.gate.wait()
        self.sizes.append(len(batches))
        return super().append_all(batches)


def test_those_who_wait_share_a_transaction(log: EventLog) -> None:
    gated = GatedLog(log)
    with GroupCommit(gated) as group, ThreadPoolExecutor(10) as pool:
        first = pool.submit(group.append, [draft("first")], at=1)
        gated.entered.wait()
        rest = [pool.submit(group.append, [draft(f"p{n}")], at=1, idempotency_key=f"k{n}") for n in range(9)]
        wait_until(lambda: group.waiting == 9)
        gated.gate.set()
        places = [future.result().first for future in (first, *rest)]
    assert sorted(places) == list(range(1, 11))
    assert places[0] == 1
    assert gated.sizes == [1, 9]
    verify(log, deep=True)


def test_one_refusal_fails_nobody_else(log: EventLog) -> None:
    gated = GatedLog(log)
    with GroupCommit(gated) as group, ThreadPoolExecutor(4) as pool:
        opening = pool.submit(group.append, [draft("first")], at=1)
        gated.entered.wait()
        refused = pool.submit(group.append, [draft("x")], at=1, expected=40)
        taken = [pool.submit(group.append, [draft(name)], at=1) for name in "ab"]
        wait_until(lambda: group.waiting == 3)
        gated.gate.set()
        assert opening.result().first == 1
        with pytest.raises(PositionConflict):
            refused.result()
        assert sorted(future.result().first for future in taken) == [2, 3]
    assert gated.sizes == [1, 3]


class FailingLog(EventLog):
    """A log whose disk is full, the first time."""

    failed = False

    def append_all(self, batches: Sequence[Batch]) -> list[Outcome]:
        if not self.failed:
            self.failed = True
            raise StoreFull("the disk is full")
        return super().append_all(batches)


def test_a_failed_transaction_fails_its_callers_and_no_later_ones(log: EventLog) -> None:
    with GroupCommit(FailingLog(log.store, log.stream)) as group:
        with pytest.raises(StoreFull):
            group.append([draft()], at=1)
        assert group.append([draft()], at=1).first == 1


def test_a_guard_that_breaks_is_its_callers_error(log: EventLog) -> None:
    def broken(tail: Sequence[StoredEvent]) -> bool:
        raise KeyError(tail[0].position)

    with GroupCommit(log) as group:
        group.append([draft()], at=1)
        with pytest.raises(KeyError):
            group.append([draft()], at=1, guard=broken, snapshot_position=0)
        assert group.append([draft()], at=1).first == 2


def test_closing_appends_what_waits_and_takes_no_more(log: EventLog) -> None:
    gated = GatedLog(log)
    group = GroupCommit(gated)
    with ThreadPoolExecutor(5) as pool:
        appends = [pool.submit(group.append, [draft("first")], at=1)]
        gated.entered.wait()
        appends += [pool.submit(group.append, [draft(f"p{n}")], at=1) for n in range(3)]
        wait_until(lambda: group.waiting == 3)
        closing = pool.submit(group.close)
        gated.gate.set()
        closing.result()
        assert sorted(future.result().first for future in appends) == [1, 2, 3, 4]
    with pytest.raises(StoreError, match="takes no more events"):
        group.append([draft()], at=1)
    group.close()


def test_many_threads(log: EventLog) -> None:
    def work(caller: int) -> list[Appended]:
        return [
            group.append([draft(f"{caller}-{n}"), draft("shared")], at=n, idempotency_key=f"{caller}-{n}")
            for n in range(10)
        ]

    with GroupCommit(log) as group, ThreadPoolExecutor(8) as pool:
        places = [place for places in pool.map(work, range(8)) for place in places]
    assert sorted(place.first for place in places) == list(range(1, 161, 2))
    assert len(list(log.history("Pod/default/shared"))) == 80
    verify(log, deep=True)


def wait_until(true: Callable[[], bool]) -> None:
    """Give other threads the time they need."""
    pause = threading.Event()
    for _ in range(60_000):
        if true():
            return
        pause.wait(0.001)
    raise TimeoutError
