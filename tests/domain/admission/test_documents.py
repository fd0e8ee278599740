"""Reading manifests: exact numbers, several documents, lists, and what is malformed."""

import re
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from domain.admission import documents
from domain.admission.documents import read_documents
from domain.errors import BadRequest


def values(text: str | bytes) -> list[Any]:
    return [document.value for document in read_documents(text, "f.yaml")]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.5", Decimal("0.5")),
        ("1.0000000000000000001", Decimal("1.0000000000000000001")),
        ("1e3", Decimal("1e3")),
        (".5", Decimal("0.5")),
        ("9223372036854775807", 9223372036854775807),
        ("-12", -12),
        ("0x1f", 31),
        ("017", 15),
        ("0o17", 15),
        ("1_000", 1000),
        ("'0.5'", "0.5"),
        ("1:30", "1:30"),
        ("1.2.3", "1.2.3"),
        ("100m", "100m"),
        ("4Gi", "4Gi"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01", "2026-01-01"),
        ("true", True),
        ("on", True),
        ("No", False),
        ("y", "y"),
        ("~", None),
        ("", None),
        ("!!str 5", "5"),
        ("[1, {a: b}]", [1, {"a": "b"}]),
    ],
)
def test_scalars(written: str, value: Any) -> None:
    read = values(f"a: {written}")[0]["a"]
    assert read == value
    assert type(read) is type(value)


def test_json_numbers_are_exact_too() -> None:
    assert values('{"a": 0.1, "b": 1e3, "c": 9223372036854775808, "d": [1.50]}') == [
        {"a": Decimal("0.1"), "b": Decimal("1e3"), "c": 9223372036854775808, "d": [Decimal("1.50")]}
    ]


def test_keys_are_texts() -> None:
    assert values("1: a\ntrue: b\n0.5: c\nnull: d") == [{"1": "a", "true": "b", "0.5": "c", "null": "d"}]


def test_documents_know_where_they_stood() -> None:
    found = read_documents("# first\na: 1\n---\n---\n# empty\n---\n\nb: 2\n", "f.yaml")
    assert [(document.value, document.index, document.line) for document in found] == [
        ({"a": 1}, 1, 2),
        ({"b": 2}, 4, 8),
    ]
    assert found[1].place == "f.yaml, document 4, line 8"


@pytest.mark.parametrize("text", ["", "\n", "---\n", "# nothing\n", b""])
def test_nothing_is_no_object(text: str | bytes) -> None:
    assert values(text) == []


def test_lists_are_taken_apart() -> None:
    text = """
kind: List
apiVersion: v1
items:
  - {kind: Pod, name: a}
  - {kind: PodList, apiVersion: v1, items: [{name: b}, {kind: Other, apiVersion: v2, name: c}]}
"""
    assert values(text) == [
        {"kind": "Pod", "name": "a"},
        {"apiVersion": "v1", "kind": "Pod", "name": "b"},
        {"apiVersion": "v2", "kind": "Other", "name": "c"},
    ]


def test_aliases_and_merges_are_unfolded() -> None:
    text = "base: &b {x: 1, y: 2}\nall: {<<: *b, y: 3}\nmany: {<<: [{x: 7}, *b], z: 0}\nsame: [*b, *b]"
    read = values(text)[0]
    assert read["all"] == {"x": 1, "y": 3}
    assert read["many"] == {"x": 7, "y": 2, "z": 0}
    assert read["same"][0] == read["same"][1]
    assert read["same"][0] is not read["same"][1]


YAML = "tag:yaml.org,2002:"
LAUGHTER = "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}' if before else 'x'] * 10)}]"
    for before, name in zip(["", *"abcdefg"], "abcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [1,\nb: {", "document 1, line 3, column 1: did not find expected node content"),
        ("a: 1\nb:\n  - c\n d: 2", "document 1, line 4, column 2: did not find expected key"),
        ("a:\n\t- b", "document 1, line 2, column 1: found character that cannot start any token"),
        (
            "a: 1\n---\nb: 1\n---\nc: ]",
            "document 3, line 5, column 4: did not find expected node content",
        ),
        ("a: *b", "document 1, line 1, column 4: found undefined alias"),
        ("a: 1\nb: 2\na: 3", "document 1, line 3, column 1: the key 'a' stands twice in one mapping"),
        (
            '{"a": {"b": 1, "b": 2}}',
            "document 1, line 1, column 16: the key 'b' stands twice in one mapping",
        ),
        ("a: {[1]: 2}", "document 1, line 1, column 5: a key is a plain text"),
        ("a: {<<: 1}", "document 1, line 1, column 9: only mappings can be merged"),
        ("a: .inf", "document 1, line 1, column 4: .inf is no number"),
        ("a: 1e400", "document 1, line 1, column 4: 1e400 is out of range"),
        (f"a: {'9' * 301}", "document 1, line 1, column 4: a number of too many digits"),
        (
            "a: !!python/name:os.system",
            f"document 1, line 1, column 4: the tag {YAML}python/name:os.system has no meaning here",
        ),
        ("- a", "document 1, line 1: an object is a mapping of fields"),
        ("hello", "document 1, line 1: an object is a mapping of fields"),
        ("a: 1\n---\n[]", "document 2, line 3: an object is a mapping of fields"),
        ("{kind: List, items: [1]}", "document 1, line 1: an object is a mapping of fields"),
        ("a: &a [*a]", "document 1, line 1, column 4: it is nested too deep"),
        (b"ok: 1\na: \xff", "line 2, column 4: not UTF-8"),
    ],
)
def test_what_is_malformed_says_where(text: str | bytes, complaint: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_documents(text, "f.yaml")
    assert str(refused.value) == f"f.yaml, {complaint}"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 3000, id="deep lists"),
        pytest.param('{"a":' * 3000, id="deep mappings"),
        pytest.param('{"a":' * 101 + "1" + "}" * 101, id="a little too deep"),
        pytest.param(LAUGHTER, id="a billion laughs"),
        pytest.param("a: b\x00", id="control character"),
    ],
)
def test_what_would_exhaust_us_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=r"^f\.yaml, document 1, line \d+, column \d+: "):
        read_documents(text, "f.yaml")


def test_an_object_may_be_as_deep_as_any_manifest() -> None:
    assert values('{"a":' * 90 + "1" + "}" * 90)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(min_size=1, max_size=4), plain, min_size=1))
def test_json_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    value.pop("kind", None)
    assert values(documents.json.dumps(value)) == [value]


@given(st.text(alphabet=st.sampled_from("ab:{}[]\"'-,&*!|>#%@ \n\t<~1."), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read_documents(text, "f")
    except BadRequest as refused:
        found = []
        assert_place(str(refused))
    assert all(isinstance(document.value, dict) for document in found)


def assert_place(complaint: str) -> None:
    assert re.match(r"f, document \d+(, line \d+(, column \d+)?)?: ", complaint)


def test_the_reader_works_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(yaml.SafeLoader):
        yaml_implicit_resolvers = documents._Loader.yaml_implicit_resolvers

    monkeypatch.setattr(documents, "_Loader", Slow)
    assert values("a: 0.5\nb: on\n---\nc: [2026-01-01, ~]") == [
        {"a": Decimal("0.5"), "b": True},
        {"c": ["2026-01-01", None]},
    ]
    with pytest.raises(BadRequest, match=r"^f\.yaml, document 1, line 2, column 2: "):
        values("a: [1,\n]: 2")
    with pytest.raises(BadRequest, match=r"^f\.yaml, document 1, line 1, column 2: "):
        values("a\x00")
    with pytest.raises(BadRequest, match="nested too deep"):
        values("[" * 1200)
