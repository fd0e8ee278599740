"""diff: what changed between two moments."""

import json

import pytest

from cli_world import Book, Ganger, Golden


def test_what_changed(book: Book, ganger: Ganger, golden: Golden) -> None:
    found = ganger("diff", "--from", "5", "--to", book.position)

    assert (found.code, found.err) == (1, "")
    golden("diff", found.out)


def test_wide_has_a_line_for_every_object(book: Book, ganger: Ganger, golden: Golden) -> None:
    golden("diff-wide", ganger("diff", "--from", "5", "--to", book.position, "-o", "wide").out)


def test_backwards(book: Book, ganger: Ganger, golden: Golden) -> None:
    golden("diff-backwards", ganger("diff", "--from", book.position, "--to", "0").out)


def test_json(book: Book, ganger: Ganger) -> None:
    found = ganger("diff", "--from", "2026-01-01T00:00:00Z", "--to", book.position, "-o", "json")

    assert found.code == 1
    told = json.loads(found.out)
    assert told["to"] == {"position": int(book.position), "time": "2026-01-01T00:01:00.000000Z"}
    held = {"entity": "Pod/default/held", "before": None, "after": "gated"}
    assert held | {"attemptsBefore": 0, "attemptsAfter": 0} in told["lanes"]


def test_nothing_differs(book: Book, ganger: Ganger) -> None:
    moment = ("position 5 (2026-01-01T00:00:00Z)",) * 2

    told = f"From {moment[0]} to {moment[1]}, 0s later: nothing differs\n"
    assert ganger("diff", "--from", "5", "--to", "5") == (0, told, "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param([], "missing option '--from'", id="no moment"),
        pytest.param(
            ["--from", "x"], "invalid value for --from: 'x' must be a position", id="no such moment"
        ),
        pytest.param(["--from", "1", "--to", "99"], "position 99 is in the future", id="the future"),
    ],
)
def test_wrong_use(book: Book, ganger: Ganger, words: list[str], told: str) -> None:
    assert told in ganger.error("diff", *words)
