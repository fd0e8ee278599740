"""Files that are written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.errors import CannotDo


@contextmanager
def whole_or_not_at_all(file: Path) -> Iterator[Path]:
    """A path beside `file` to write to, which takes its name once all is written.

    A link stays one: what it leads to is written. A device, a pipe and the like are there to be written
    to, not to be replaced: of these it is `file` itself. Raises CannotDo if `file` is a folder, OSError
    in its name.
    """
    if file.is_dir():
        raise CannotDo(f"{file} is a folder: name a file")
    if file.exists() and not file.is_file():
        yield file
        return
    target = file.resolve()
    part = target.with_name(f".part-{file.name}")  # the name that was given says whether to compress
    try:
        yield part
        part.replace(target)
    except OSError as error:
        if error.filename == str(part):
            error.filename = str(file)
        raise
    finally:
        part.unlink(missing_ok=True)
