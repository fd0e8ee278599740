"""The same log gives the same bytes in every process, whatever its hash seed and pieces of reading."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from books import Book, Lines, lines_of
from build import group, node, pod
from domain import reducer
from domain.events import Event
from domain.state import State
from ganger_testing import determinism
from ganger_testing.determinism import (
    Processes,
    assert_decides_alike,
    assert_deterministic,
    assert_folds_alike,
    assert_replays,
)
from ganger_testing.strategies import books


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes() as started:
        yield started


def log_of(book: Book) -> Lines:
    return Lines(lines_of(book))


def test_any_log(processes: Processes) -> None:
    @settings(max_examples=max(10, settings().max_examples // 2))
    @given(books(min_size=15))
    def same_everywhere(book: Book) -> None:
        assert_deterministic(log_of(book), processes)

    same_everywhere()


def test_a_log_with_much_to_choose_from(processes: Processes) -> None:
    """Many nodes and Pods that are all alike: nothing but names and arrival can tell them apart."""
    book = Book(*[node(f"n{number}", cpu="4") for number in range(40)])
    for name in "abcdefgh":
        book.apply([group(name, 5), *[pod(f"{name}-{number}", cpu="1", group=name) for number in range(12)]])
    for _ in range(5):
        book.cycle()
    assert_deterministic(log_of(book), processes)


def test_different_logs_give_different_answers(processes: Processes) -> None:
    one, other = (processes.answers(log_of(Book(node(name)))) for name in "ab")
    assert len(set(one)) == len(set(other)) == 1
    assert one != other


# The assertions themselves: each of them fails where it has to


@pytest.fixture
def started() -> Lines:
    """A Pod that is bound, and one that fits nowhere."""
    return log_of(Book(node("n", cpu="2"), pod("a", cpu="1"), pod("b", cpu="3")).decide())


def test_a_fold_that_depends_on_the_pieces_is_seen(started: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    def fold(state: State, events: list[Event]) -> State:
        state = reducer.fold(state, events)
        state.at += len(events) > 1
        return state

    monkeypatch.setattr(determinism, "fold", fold)
    with pytest.raises(AssertionError, match="folded 1 at a time, it gave other bytes"):
        assert_folds_alike(started)


def test_a_snapshot_that_loses_something_is_seen(started: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(determinism, "decode_state", lambda _: State())
    with pytest.raises(AssertionError, match="decides otherwise"):
        assert_decides_alike(started)


def test_a_log_that_was_decided_otherwise_is_seen() -> None:
    lines = lines_of(Book(node("m"), node("n"), pod("a", cpu="1")).decide())
    assert b'"node":"m"' in lines[-1]
    lines[-1] = lines[-1].replace(b'"node":"m"', b'"node":"n"')
    with pytest.raises(AssertionError, match="is decided otherwise"):
        assert_replays(Lines(lines))
