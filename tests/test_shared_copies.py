"""The scenarios here are those of the project's shared folder, where that lies beside the checkout."""

import re
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).resolve().parent
SHARED = TESTS.parent.parent / "shared"
NOT_YET = Path("conformance/not-yet.txt")  # ours alone


def _files(folder: Path, root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in (root / folder).rglob("*")
        if path.is_file() and path.relative_to(root) != NOT_YET
    }


@pytest.mark.parametrize("folder", [Path("cases"), Path("conformance")], ids=str)
def test_copies_equal_the_shared_folder(folder: Path) -> None:
    ours = _files(folder, TESTS)
    assert ours
    if (SHARED / folder).is_dir():
        assert ours == _files(folder, SHARED)


def test_not_yet_names_each_scenario_once_with_what_it_lacks() -> None:
    lines = [line for line in (TESTS / NOT_YET).read_text().splitlines() if line and not line.startswith("#")]
    paths = []
    for line in lines:
        match = re.fullmatch(r"(\w+(?:, \w+)*): (\S+\.yaml)", line)
        assert match, f"not a line of the format that the file describes: {line}"
        missing, path = set(match[1].split(", ")), match[2]
        assert missing <= set(yaml.safe_load((TESTS / path).read_text())["features"]), line
        paths.append(path)
    assert paths == sorted(set(paths))
