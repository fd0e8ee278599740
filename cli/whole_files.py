"""Files that are written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.errors import CannotDo


@contextmanager
def whole_or_not_at_all(file: Path) -> Iterator[Path]:
    """A path beside `file` to write to, which takes its name once all is written.

    Raises CannotDo if `file` is a folder, OSError in its name.
    """
    if file.is_dir():
        raise CannotDo(f"{file} is a folder: name a file")
    part = file.with_name(f".part-{file.name}")
    try:
        yield part
        part.replace(file)
    except OSError as error:
        if error.filename == str(part):
            error.filename = str(file)
        raise
    finally:
        part.unlink(missing_ok=True)
