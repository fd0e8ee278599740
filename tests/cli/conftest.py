from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_world import SETTINGS, Book, Ganger, write_book


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: empty, and without settings of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def ganger(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ganger:
    """Runs command lines in `folder`."""
    return Ganger(capsys, monkeypatch)


@pytest.fixture
def book(folder: Path) -> Iterator[Book]:
    """A cluster in `folder` with something of everything."""
    book = write_book(folder)
    yield book
    book.store.close()
