"""Texts that people read, kept as files: `pytest --rewrite-golden` writes them anew, to be read as a diff."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

GoldenBlock = Callable[[Path, str, str], None]

FOLDER = Path(__file__).resolve().parent / "golden_text"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Holds a text against the golden file of a name, or writes that file."""

    def check(name: str, text: str) -> None:
        path = FOLDER / f"{name}.txt"
        if request.config.getoption("--rewrite-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check


@pytest.fixture
def golden_block(request: pytest.FixtureRequest) -> GoldenBlock:
    """Holds a text against the indented lines that follow a line of a file, or writes them there."""

    def check(path: Path, after: str, text: str) -> None:
        whole = path.read_text(encoding="utf-8")
        before, found, rest = whole.partition(f"    {after}\n")
        assert found, f"{path.name} has no line {after!r}"
        block = re.match(r"(?:    .*\n|\n(?=\n*    ))*", rest)
        assert block is not None
        wanted = "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())
        if request.config.getoption("--rewrite-golden"):
            path.write_text(before + found + wanted + rest[block.end() :], encoding="utf-8")
        else:
            assert block[0] == wanted

    return check
