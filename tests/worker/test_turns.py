import threading

import pytest

from worker.turns import Turns

TIMEOUT_S = 60


def _waiting(turns: Turns, count: int) -> bool:
    return len(turns._queue) == count


def test_turns_go_in_the_order_of_asking() -> None:
    turns = Turns()
    order: list[int] = []

    def take(number: int) -> None:
        with turns:
            assert turns.taken
            order.append(number)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
    with turns:
        for count, thread in enumerate(threads, start=1):
            thread.start()
            while not _waiting(turns, count):
                pass
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert order == list(range(8))
    assert not turns.taken


def test_who_comes_back_at_once_waits_behind_the_others() -> None:
    turns = Turns()
    order: list[str] = []

    def take() -> None:
        with turns:
            order.append("other")

    thread = threading.Thread(target=take)
    with turns:
        thread.start()
        while not _waiting(turns, 1):
            pass
    with turns:
        order.append("again")
    thread.join(TIMEOUT_S)
    assert order == ["other", "again"]


def test_the_owner_may_take_it_again() -> None:
    turns = Turns()
    done = threading.Event()
    with turns:
        with turns:
            pass
        thread = threading.Thread(target=lambda: [turns.acquire(), done.set(), turns.release()])
        thread.start()
        while not _waiting(turns, 1):
            pass
        assert not done.is_set(), "still held once"
    thread.join(TIMEOUT_S)
    assert done.is_set()


def test_only_the_owner_may_let_go() -> None:
    with pytest.raises(RuntimeError, match="only the thread that has the lock"):
        Turns().release()
