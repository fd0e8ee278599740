"""What the docs list is what the code has."""

import re
from pathlib import Path

import msgspec
import pytest

from domain.events import PAYLOADS, GroupFinding, NodeReason, PlacementFinding, ResourceFinding, ShapeFinding
from domain.profile import FILTERS, SCORES, CurvePoint, DefaultConstraint, Profile, ScoredResource, Weights

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
