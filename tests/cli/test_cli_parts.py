"""The small parts: ages, key words, the alignment of tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.console import align
from cli.keywords import parse_keywords
from domain.ages import age, duration
from domain.times import SECOND, rfc3339


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 1260, "3h21m"),
        (8 * 3600, "8h"),
        (48 * 3600 - 1, "47h"),
        (48 * 3600, "2d"),
        (75 * 3600, "3d3h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (800 * 86400, "2y70d"),
        (8 * 365 * 86400, "8y"),
    ],
)
def test_durations_as_kubectl_writes_them(seconds: int, text: str) -> None:
    assert duration(seconds * SECOND + 999_999) == text if seconds >= 0 else duration(seconds) == text


@given(st.integers(0, 2**31), st.integers(0, 2**31))
def test_an_age_is_a_duration(since: int, now: int) -> None:
    assert age(rfc3339(since * SECOND), now * SECOND) == duration((now - since) * SECOND)


def test_an_unknown_age() -> None:
    assert age(None, 0) == "<unknown>"


@pytest.mark.parametrize(
    ("text", "name", "selected"),
    [
        pytest.param("gang", "a gang waits", True, id="a word"),
        pytest.param("GANG", "a gang waits", True, id="in any case"),
        pytest.param("not gang", "a gang waits", False, id="not"),
        pytest.param("gang and pod", "a gang waits", False, id="and"),
        pytest.param("gang or pod", "a gang waits", True, id="or"),
        pytest.param("pod and x or gang", "a gang waits", True, id="and binds tighter"),
        pytest.param("gang and not (pod or node)", "a gang waits", True, id="parentheses"),
        pytest.param("not (gang)", "a gang waits", False, id="not of parentheses"),
    ],
)
def test_keywords(text: str, name: str, selected: bool) -> None:
    assert parse_keywords(text)(name) is selected


@pytest.mark.parametrize("text", ["", "a b", "a and", "(a", "a)", "not", "or a b"])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_keywords(text)


def test_columns_stand_under_each_other_and_nothing_trails() -> None:
    assert align([["A", "BB", ""], ["aaa", "", "c"]], empty="-") == ["A     BB   -", "aaa   -    c"]
