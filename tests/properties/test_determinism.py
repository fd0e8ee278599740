"""The same log gives the same bytes in every process, whatever its hash seed and pieces of reading."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

from books import Book, lines_of
from build import group, node, pod
from strategies import books

HERE = Path(__file__).resolve().parent
SEEDS_AND_SIZES = (("0", 1000), ("1", 1), ("4711", 7), ("random", 3))


@pytest.fixture(scope="module")
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """One process for each hash seed."""
    started = []
    for seed, size in SEEDS_AND_SIZES:
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join((str(HERE.parents[1]), str(HERE.parent))),
        }
        started.append(
            subprocess.Popen(
                [sys.executable, str(HERE / "deciding.py"), str(size)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
    yield started
    for process in started:
        process.communicate()


def answers(processes: list[subprocess.Popen[str]], book: Book) -> set[str]:
    """What the processes make of the log."""
    task = msgspec.msgpack.encode(lines_of(book)).hex() + "\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(task)
        process.stdin.flush()
    found = set()
    for process in processes:
        assert process.stdout is not None
        answer = process.stdout.readline()
        assert answer, f"process {process.pid} has ended"
        found.add(answer)
    assert all(" same " in answer for answer in found)
    return found


def test_any_log(processes: list[subprocess.Popen[str]]) -> None:
    @settings(max_examples=max(10, settings().max_examples // 2))
    @given(books(min_size=15))
    def same_everywhere(book: Book) -> None:
        assert len(answers(processes, book)) == 1

    same_everywhere()


def test_a_log_with_much_to_choose_from(processes: list[subprocess.Popen[str]]) -> None:
    """Many nodes and Pods that are all alike: nothing but names and arrival can tell them apart."""
    book = Book(*[node(f"n{number}", cpu="4") for number in range(40)])
    for name in "abcdefgh":
        book.apply([group(name, 5), *[pod(f"{name}-{number}", cpu="1", group=name) for number in range(12)]])
    for _ in range(5):
        book.cycle()
    assert len(answers(processes, book)) == 1


def test_different_logs_give_different_answers(processes: list[subprocess.Popen[str]]) -> None:
    assert answers(processes, Book(node("a"))) != answers(processes, Book(node("b")))
