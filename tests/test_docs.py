"""What the docs list is what the code has."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import get_args

import msgspec
import pytest

from domain.admission.kinds import KINDS
from domain.admission.rules import RULES
from domain.admission.scope import _NOTES
from domain.admission.structs import Struct
from domain.events import PAYLOADS, GroupFinding, NodeReason, PlacementFinding, ResourceFinding, ShapeFinding
from domain.profile import FILTERS, SCORES, CurvePoint, DefaultConstraint, Profile, ScoredResource, Weights
from domain.scheduling import filters

DOCS = Path(__file__).parents[1] / "docs"
_ROW = re.compile(r"^\| `(\w+)` \| ([^|]*) \|", re.MULTILINE)


def _documented() -> dict[str, list[str]]:
    text = (DOCS / "events.md").read_text(encoding="utf-8")
    return {name: re.findall(r"`(\w+)`", fields) for name, fields in _ROW.findall(text)}


_PARTS: dict[str, type[msgspec.Struct]] = {
    part.__name__: part
    for part in (
        GroupFinding,
        PlacementFinding,
        ShapeFinding,
        NodeReason,
        ResourceFinding,
        Profile,
        Weights,
        ScoredResource,
        CurvePoint,
        DefaultConstraint,
    )
}


def test_the_docs_list_every_event() -> None:
    assert set(_documented()) == {*PAYLOADS, *_PARTS}


@pytest.mark.parametrize("name", [*PAYLOADS, *_PARTS])
def test_the_docs_list_every_field_of_an_event(name: str) -> None:
    fields = ({**PAYLOADS, **_PARTS})[name].__struct_encode_fields__
    assert _documented()[name] == list(fields)


def test_the_docs_say_of_every_plugin_what_can_be_configured() -> None:
    text = (DOCS / "compatibility.md").read_text(encoding="utf-8")
    table = text.partition("## Configuration")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\w, ]+) \| ([^|]+) \| ([^|]+) \|", table, flags=re.MULTILINE)
    told = {name: (on, weight) for names, on, weight, *_ in rows for name in names.split(", ")}
    filters = {name for name, (switched, _) in told.items() if "filter" in switched}
    weighted = {name: int(weight) for name, (_, weight) in told.items() if weight.isdecimal()}
    assert filters == set(FILTERS)
    assert weighted == {name: getattr(Weights(), field) for name, field in SCORES.items()}


def _compatibility() -> dict[str, str]:
    """The parts of compatibility.md, by their headings."""
    text = (DOCS / "compatibility.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^##+ (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _listed_fields(kind: str) -> list[str]:
    """The fields of `kind` that have a row, those of `metadata` apart."""
    parts = _compatibility()
    if kind in ("Pod", "Node"):
        rows = re.findall(r"^\| (`.*?) \|", parts[kind], re.MULTILINE)
    elif kind in ("PodGroup", "CompositePodGroup"):
        rows = re.findall(r"^\| (`.*?) \|", parts["PodGroup and CompositePodGroup"], re.MULTILINE)
    else:
        rows = re.findall(rf"^\| {kind} (`.*?) \|", parts["Other kinds"], re.MULTILINE)
    found = re.findall(r"`([^`]+)`", " ".join(rows))
    return [path for path in found if not path.startswith("metadata.")]


def _fields(kind: str) -> Iterator[str]:
    """The fields of `kind`, those of its spec and status one by one."""
    for name, field in RULES[kind].model.model_fields.items():
        alias = field.alias or name
        part = next((each for each in get_args(field.annotation) if isinstance(each, type)), None)
        if alias in ("spec", "status"):
            assert part is not None
            assert issubclass(part, Struct)
            yield from (f"{alias}.{inner.alias}" for inner in part.model_fields.values())
        elif alias not in ("apiVersion", "kind", "metadata"):
            yield alias


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_the_docs_say_of_every_field_what_it_does(kind: str) -> None:
    listed = _listed_fields(kind)
    assert len(listed) == len(set(listed))
    if kind == "CompositePodGroup":
        assert set(_fields(kind)) <= set(listed)
    else:
        assert set(_fields(kind)) == set(listed)


@pytest.mark.parametrize("kind", list(_NOTES))
def test_a_field_that_is_warned_about_for_good_is_said_to_be(kind: str) -> None:
    part = _compatibility()["Pod" if kind == "Pod" else "PodGroup and CompositePodGroup"]
    rows = re.findall(r"^\| (`.*?) \| warned", part, re.MULTILINE)
    warned = re.findall(r"`([^`]+)`", " ".join(rows))
    for path, _ in _NOTES[kind]:
        assert ".".join(path.split(".")[:2]) in warned


def test_the_docs_name_every_filter_and_score() -> None:
    plugins = _compatibility()["Plugins"]
    modules = [import_module(f"{filters.__name__}.{each.name}") for each in iter_modules(filters.__path__)]
    names = [module.NAME for module in modules]
    assert names
    assert [name for name in names if name not in plugins] == []


def test_every_row_says_how_it_is_here() -> None:
    words = {"same", "pinned", "different", "no"}
    uses = {"decides", "checked", "kept", "written", "warned"}
    for heading, allowed in (
        ("Plugins", words),
        ("Rules", words),
        ("Admission", words),
        ("Pod", uses),
        ("Node", uses),
        ("PodGroup and CompositePodGroup", uses),
        ("Other kinds", uses),
    ):
        rows = re.findall(r"^\| [^|]* \| ([^|]*) \| [^|]*\|$", _compatibility()[heading], re.MULTILINE)
        said = {row.strip() for row in rows} - {"here", "---"}
        assert said
        assert said <= allowed, heading
        lines = [line for line in _compatibility()[heading].splitlines() if line.startswith("|")]
        assert len(rows) == len(lines), f"{heading}: a row has not three cells"
