"""Exported logs that are read: a file or standard input, with the name of what is wrong."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from cli.errors import CannotDo
from cli.options import STANDARD
from store.archive import decompressed, open_archive
from store.errors import BadArchive


@contextmanager
def reading(file: Path) -> Iterator[BinaryIO]:
    """The content of `file`. Raises CannotDo for a BadArchive, with the name of the file."""
    with naming(file):
        if file == STANDARD:
            yield decompressed(sys.stdin.buffer)
            return
        with open_archive(file, "r") as source:
            yield source


@contextmanager
def kept(file: Path) -> Iterator[Path]:
    """A path at which the content of `file` can be read more than once. Raises as `reading` does."""
    with naming(file):
        if file != STANDARD:
            yield file
            return
        with NamedTemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
            yield Path(copy.name)


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Raise CannotDo for a BadArchive, with the name of the file that it is."""
    try:
        yield
    except BadArchive as error:
        raise CannotDo(f"{'standard input' if file == STANDARD else file}, {error}") from error
