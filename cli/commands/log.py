"""`ganger log`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from cli.console import note, progress
from cli.settings import Settings, pass_settings
from store.chain import Head

FILE = click.Path(path_type=Path)
STANDARD = Path("-")
"""Standard input or output."""


@click.group()
def command() -> None:
    """Print the head of the log, verify, export or import it.

    An exported log is a file of JSON lines, compressed where its name ends in .zst. It can be
    imported into an empty cluster, and replayed anywhere.
    """


@command.command()
@pass_settings
def head(settings: Settings) -> None:
    """Print position and hash of the newest event."""
    from cli.opening import open_log

    with open_log(settings) as log:
        print(_line(log.head()))


@command.command()
@pass_settings
def verify(settings: Settings) -> int:
    """Check the hash chain over the whole log; exit code 1 if it is broken, with the position."""
    from cli.opening import open_log
    from domain.errors import CorruptLog
    from store.verify import verify as verify_log

    with open_log(settings) as log:
        newest = log.head()
        try:
            with progress("verifying") as bar:
                found = verify_log(log, deep=True, progress=lambda done: bar(done, newest.position))
        except CorruptLog as error:
            print(f"corrupt: {error}")
            return 1
    print(f"{_line(found)} verified")
    return 0


@command.command()
@click.argument("file", type=FILE, required=False)
@pass_settings
def export(settings: Settings, file: Path | None) -> None:
    """Write the log to FILE, or to standard output."""
    from cli.opening import open_log
    from store.archive import export_log, open_archive

    with open_log(settings) as log:
        if file in (None, STANDARD):
            export_log(log, sys.stdout.buffer)
            return
        newest = log.head()
        with progress("exporting") as bar, _whole_or_not_at_all(file) as part, open_archive(part, "w") as out:
            written = export_log(log, out, progress=lambda done: bar(done, newest.position))
    note(f"{file}: {_line(written)}")


@command.command("import")
@click.argument("file", type=FILE)
@pass_settings
def import_(settings: Settings, file: Path) -> None:
    """Read FILE, or - for standard input, into an empty cluster."""
    from cli.opening import opened
    from store.archive import import_log

    with _reading(file) as source, opened(settings, create=True) as store, progress("importing") as bar:
        print(_line(import_log(store, settings.cluster, source, progress=bar)))


@contextmanager
def _whole_or_not_at_all(file: Path) -> Iterator[Path]:
    """A path beside `file` to write to, which takes its name once all is written."""
    part = file.with_name(f".part-{file.name}")
    try:
        yield part
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _reading(file: Path) -> Iterator[BinaryIO]:
    from store.archive import open_archive

    if file == STANDARD:
        yield sys.stdin.buffer
        return
    with open_archive(file, "r") as source:
        yield source


def _line(head: Head) -> str:
    return f"{head.position} {head.hash.hex()}"
