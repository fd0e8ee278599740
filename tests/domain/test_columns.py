"""Columns: what goes in comes out, and what is equal comes out as one object."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import Story, group, node, pod
from domain.columns import Distinct, Numbers, PodColumns, Uids

WORDS = st.lists(st.none() | st.sampled_from("abc"))
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(WORDS)
def test_distinct_values(column: list[str | None]) -> None:
    packed = Distinct.of(column)
    assert packed.read() == column
    assert packed.values == list(dict.fromkeys(column))
    assert packed.those(lambda word: word is None).tolist() == [word is None for word in column]


def test_equal_values_come_out_as_one_object_which_may_be_one_that_is_there_already() -> None:
    parts = ["default/", "g"]
    packed = Distinct.of(["".join(parts) for _ in range(3)] + [None])
    known = "".join(parts)
    first, second, third, none = packed.read({known: known})
    assert first is second is third is known
    assert none is None


@given(st.lists(st.tuples(INT64, INT64 | st.none())))
def test_numbers(pairs: list[tuple[int, int | None]]) -> None:
    first = [one for one, _ in pairs]
    second = [one if other is None else other for one, other in pairs]
    read = Numbers.of(first).read()
    beside = Numbers.of(second).read_beside(Numbers.of(first), read)
    assert (read, beside) == (first, second)
    assert all(one is other for one, other in zip(read, beside, strict=True) if one == other)


@given(st.lists(st.binary(min_size=16, max_size=16) | st.text()))
def test_uids(column: list[bytes | str]) -> None:
    assert Uids.of(column).read() == column


@pytest.mark.parametrize(
    ("column", "text"),
    [
        pytest.param(Distinct(["a"], Distinct.of([1, 2]).packed), "does not have", id="a value too few"),
        pytest.param(Distinct([], Distinct.of([1]).packed + b"\1\0\0\0"), "does not have", id="no values"),
        pytest.param(Distinct(["a", "b"], b"\xff\xff\xff\xff"), "does not have", id="before the first"),
        pytest.param(Distinct(["a"], b"\0\0\0"), "buffer size", id="torn"),
        pytest.param(Numbers(b"\0\0\0"), "buffer size", id="torn numbers"),
        pytest.param(Uids(b"\0", {}), "buffer size", id="torn uids"),
        pytest.param(Uids(bytes(16), {1: "a"}), "does not have", id="a uid for nobody"),
    ],
)
def test_a_column_that_cannot_be(column: Distinct[str] | Numbers | Uids, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        column.read()


def test_columns_of_one_table_are_of_one_length() -> None:
    table = PodColumns.of(list(Story(pod("a")).state.pods.values()))
    with pytest.raises(ValueError, match="differ in length"):
        msgspec.structs.replace(table, keys=["default/a", "default/b"]).read({})


def test_pods_come_out_as_they_went_in() -> None:
    story = Story(
        node("n"),
        group("g", 2),
        pod("a", group="g", node="n"),
        pod("b", group="g", labels={"app": "x"}),
        pod("c"),
    )
    pods = list(story.state.pods.values())
    assert PodColumns.of(pods).read({}) == pods
