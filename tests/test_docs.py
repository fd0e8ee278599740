"""What the docs list is what the code has."""

import re
from pathlib import Path

import pytest

from domain.events import (
    PAYLOADS,
    Fact,
    GroupFinding,
    NodeReason,
    PlacementFinding,
    ResourceFinding,
    ShapeFinding,
)

DOCS = Path(__file__).parents[1] / "docs"
_ROW = re.compile(r"^\| `(\w+)` \| ([^|]*) \|", re.MULTILINE)


def _documented() -> dict[str, list[str]]:
    text = (DOCS / "events.md").read_text(encoding="utf-8")
    return {name: re.findall(r"`(\w+)`", fields) for name, fields in _ROW.findall(text)}


_PARTS: dict[str, type[Fact]] = {
    part.__name__: part
    for part in (GroupFinding, PlacementFinding, ShapeFinding, NodeReason, ResourceFinding)
}


def test_the_docs_list_every_event() -> None:
    assert set(_documented()) == {*PAYLOADS, *_PARTS}


@pytest.mark.parametrize("name", [*PAYLOADS, *_PARTS])
def test_the_docs_list_every_field_of_an_event(name: str) -> None:
    fields = ({**PAYLOADS, **_PARTS})[name].__struct_encode_fields__
    assert _documented()[name] == list(fields)
