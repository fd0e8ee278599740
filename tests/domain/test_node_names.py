"""Names of nodes in few words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.explaining.node_names import compressed


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param([], (), id="none"),
        pytest.param(["a"], ("a",), id="one without a number"),
        pytest.param(["n1"], ("n1",), id="one"),
        pytest.param(["n1", "n2", "n3"], ("n[1-3]",), id="a run"),
        pytest.param(["n1", "n2", "n4"], ("n[1-2]", "n4"), id="a gap"),
        pytest.param(["n008", "n009", "n010"], ("n[008-010]",), id="numbers of one width"),
        pytest.param(["n8", "n9", "n10"], ("n[8-10]",), id="numbers that grow"),
        pytest.param(["n09", "n10", "n010"], ("n[09-10]", "n010"), id="another width"),
        pytest.param(
            ["r1-n7.east", "r1-n8.east", "r2-n9.east"], ("r1-n[7-8].east", "r2-n9.east"), id="the last"
        ),
        pytest.param(["n1.a", "n2.b"], ("n1.a", "n2.b"), id="another end"),
    ],
)
def test_runs_of_numbers_are_one(names: list[str], expected: tuple[str, ...]) -> None:
    assert compressed(names) == expected


NAMES = st.lists(st.from_regex(r"[ab]-?[0-9]{1,3}[xy]?", fullmatch=True), unique=True).map(sorted)


@given(NAMES)
def test_nothing_is_lost(names: list[str]) -> None:
    expanded: list[str] = []
    for text in compressed(names):
        run = re.fullmatch(r"(.*)\[(\d+)-(\d+)\](.*)", text)
        if run is None:
            expanded.append(text)
        else:
            head, first, last, tail = run.groups()
            expanded += [
                f"{head}{str(number).zfill(len(first))}{tail}" for number in range(int(first), int(last) + 1)
            ]
    assert expanded == names
