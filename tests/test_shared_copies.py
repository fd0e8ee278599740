"""The scenarios here are those of the project's shared folder, where that lies beside the checkout."""

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
