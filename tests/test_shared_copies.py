"""The scenarios here are those of the project's shared folder, where that lies beside the checkout."""

import json
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
SHARED = TESTS.parent.parent / "shared"


def _files(folder: Path, root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in (root / folder).rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("folder", [Path("cases"), Path("conformance")], ids=str)
def test_copies_equal_the_shared_folder(folder: Path) -> None:
    ours = _files(folder, TESTS)
    assert ours
    if (SHARED / folder).is_dir():
        assert ours == _files(folder, SHARED)


def test_recordings_equal_the_shared_folder() -> None:
    ours = _machine_output(TESTS / "recordings")
    assert ours
    if (SHARED / "golden").is_dir():
        assert ours == _machine_output(SHARED / "golden")


@pytest.mark.skipif(not (SHARED / "golden").is_dir(), reason="the shared folder is not here")
def test_recorded_texts_equal_the_shared_page() -> None:
    page = (SHARED / "golden" / "strings.md").read_text(encoding="utf-8")
    assert json.loads((TESTS / "recordings" / "texts.json").read_text()) == _situations(page)


def _machine_output(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.suffix in (".jsonl", ".yaml")
    }


def _situations(page: str) -> dict[str, dict[str, list[str]]]:
    """The lines of each situation, by the gates that were on."""
    sections = {"1": "all gates", "2": "all gates", "4": "GenericWorkload alone"}
    found: dict[str, dict[str, list[str]]] = {}
    gates, name = None, ""
    for part in re.split(r"^(## \d|### [\w-]+)", page, flags=re.MULTILINE):
        if part.startswith("## "):
            gates = sections.get(part[3:])
        elif part.startswith("### "):
            name = part[4:]
        elif gates is not None and (block := re.search(r"^```\n(.*?)^```", part, re.MULTILINE | re.DOTALL)):
            found.setdefault(gates, {})[name] = block[1].splitlines()
    return found
