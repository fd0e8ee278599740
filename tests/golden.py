"""Texts that people read, kept as files: `pytest --rewrite-golden` writes them anew, to be read as a diff."""

from collections.abc import Callable
from pathlib import Path

import pytest

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
