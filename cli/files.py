"""Manifests from files, folders and standard input."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, overload

from cli.errors import CannotDo
from domain.admission.documents import Document, read_documents
from domain.errors import Refused

SUFFIXES = (".yaml", ".yml", ".json")
STANDARD_INPUT = "-"


class Manifests(Sequence[dict[str, Any]]):
    """Manifests in order, and which one was taken out last: the one that a refusal is about."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._reached: Document | None = None

    def __len__(self) -> int:
        return len(self._documents)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """The manifest, or the manifests, at `index`."""
        if isinstance(index, slice):
            return [document.value for document in self._documents[index]]
        self._reached = self._documents[index]
        return self._reached.value

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))

    @property
    def place(self) -> str:
        """Where the last manifest stands: file, document and line."""
        assert self._reached is not None
        return self._reached.place


def read_manifests(paths: Sequence[str], *, recursive: bool = False) -> Manifests:
    """The manifests in `paths`, those of a folder in the order of their names; `-` is standard input.

    Raises CannotDo for a path that does not exist and for paths without any manifest, and BadRequest
    with file, document, line and column for what cannot be read.
    """
    documents = [document for path in paths for document in _documents_in(path, recursive=recursive)]
    if not documents:
        raise CannotDo(f"there is no object in {', '.join(paths)}")
    return Manifests(documents)


def read_configuration(path: str) -> Manifests:
    """The one document in a file, or on standard input. Raises CannotDo if there are more."""
    documents = read_manifests((path,))
    if len(documents) != 1:
        raise CannotDo(f"{path}: a configuration is one document, there are {len(documents)}")
    return documents


@contextmanager
def naming_the_place(manifests: Manifests) -> Iterator[None]:
    """Raise CannotDo, with the place of the manifest that was reached, for a refusal of it."""
    try:
        yield
    except Refused as refusal:
        raise CannotDo(f"{manifests.place}: {refusal}") from refusal


def _documents_in(path: str, *, recursive: bool) -> Iterator[Document]:
    if path == STANDARD_INPUT:
        yield from read_documents(sys.stdin.buffer.read(), "standard input")
        return
    place = Path(path)
    if not place.exists():
        raise CannotDo(f"there is no file or folder {path}")
    for file in _files_in(place, recursive=recursive) if place.is_dir() else (place,):
        yield from read_documents(file.read_bytes(), str(file))


def _files_in(folder: Path, *, recursive: bool) -> list[Path]:
    found = folder.rglob("*") if recursive else folder.iterdir()
    return sorted(path for path in found if path.suffix in SUFFIXES and path.is_file())
