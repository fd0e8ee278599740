"""`ganger log`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from cli.console import note, progress
from cli.errors import CannotDo
from cli.options import STANDARD
from cli.settings import Settings, pass_settings
from cli.whole_files import whole_or_not_at_all
from store.chain import Head

if TYPE_CHECKING:
    from cli.codebook import Codebook
    from worker.cluster import Cluster

FILE = click.Path(path_type=Path)


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
@click.option("--since", "--from", "since", metavar="MOMENT", help="Only what came after this moment.")
@click.option("--until", "--to", "until", metavar="MOMENT", help="Only what came up to this moment.")
@click.option("--redact", is_flag=True, help="Under pseudonyms: no name, label or image stays.")
@click.option(
    "--redact-key",
    type=FILE,
    metavar="KEYFILE",
    help="Redact with the pseudonyms in KEYFILE, and note new ones there; made if it is missing.",
)
@pass_settings
def export(
    settings: Settings,
    file: Path | None,
    since: str | None,
    until: str | None,
    redact: bool,
    redact_key: Path | None,
) -> None:
    """Write the log to FILE, or to standard output.

    A moment is a position (120), an RFC 3339 time or an age (-2h). A log that begins at one brings the
    state of the cluster there and the manifests of its objects. Who has KEYFILE can tell names by
    their pseudonyms, so keep it.
    """
    if since is not None or until is not None or redact or redact_key:
        from cli.opening import open_for_reading

        with open_for_reading(settings) as cluster:
            book = None if not redact and redact_key is None else _codebook(redact_key)
            begin, end = _window(cluster, since, until)
            with _writing(file) as out, progress("exporting") as bar:
                last = cluster.state.position
                written = _export_window(cluster, out, begin, end, book, lambda done: bar(done, last))
    else:
        written = _export_all(settings, file)
    if file not in (None, STANDARD):
        note(f"{file}: {_line(written)}")


@command.command("import")
@click.argument("file", type=FILE)
@pass_settings
def import_(settings: Settings, file: Path) -> None:
    """Read FILE, or - for standard input, into an empty cluster.

    FILE is an exported log; or a recorded watch stream, a record or an export of
    kube-scheduler-simulator, or what `kubectl get -o yaml` or json prints. Of these the objects are
    imported, and decisions are made anew as time goes on in them.
    """
    from cli.archives import reading
    from cli.opening import check_cluster_name, opened
    from store.archive import import_log, may_be_archive

    check_cluster_name(settings.cluster)
    with reading(file) as source, progress("importing") as bar:
        first = source.readline()
        if not may_be_archive(first):
            head = _import_others(settings, first + source.read(), str(file), bar)
        else:
            with opened(settings, create=True) as store:
                head = import_log(
                    store, settings.cluster, chain([first] if first else [], source), progress=bar
                )
    print(_line(head))


def _import_others(settings: Settings, content: bytes, source: str, bar: Callable[..., None]) -> Head:
    """Import what is no log of ganger: first beside the store, so that it is imported whole or not at all."""
    from tempfile import TemporaryDirectory, TemporaryFile

    from cli.opening import open_for_writing, opened
    from store.archive import export_log, import_log
    from worker.clocks import SystemClock, VirtualClock
    from worker.incoming import read_incoming, take_in

    incoming = read_incoming(content, source)
    clock = VirtualClock(SystemClock().now() if incoming.live else 0)
    with TemporaryDirectory() as folder, TemporaryFile() as archive:
        beside = Settings(str(Path(folder) / "import.db"), settings.cluster)
        with open_for_writing(beside, clock=clock, durable=False) as cluster:
            late = take_in(cluster, clock, incoming, progress=bar)
            export_log(cluster.log, archive)
        archive.seek(0)
        with opened(settings, create=True) as store:
            head = import_log(store, settings.cluster, archive)
    for kind, count in sorted(incoming.skipped.items()):
        note(f"left out: {count} of kind {kind}, which ganger does not know")
    if late:
        note(f"left out: {late} changes of objects that were gone by then")
    return head


def _export_all(settings: Settings, file: Path | None) -> Head:
    from cli.opening import open_log
    from store.archive import export_log

    with open_log(settings) as log, _writing(file) as out, progress("exporting") as bar:
        newest = log.head()
        return export_log(log, out, progress=lambda done: bar(done, newest.position))


def _window(cluster: "Cluster", since: str | None, until: str | None) -> tuple[int, int | None]:
    """The position after which to begin and the last one, batches whole; 0 and None: no limit."""
    from cli.moments import moment_of
    from worker.windows import end_of_batch, start_of_batch

    since_when, until_when = moment_of(cluster, since, "--since"), moment_of(cluster, until, "--until")
    begin = 0 if since_when is None else start_of_batch(cluster.log, since_when.position)
    end = None if until_when is None else end_of_batch(cluster.log, until_when.position)
    if end is not None and end < begin:
        raise CannotDo(f"--until {until} is position {end}, which is before --since {since}")
    return begin, end


def _export_window(
    cluster: "Cluster",
    out: BinaryIO,
    begin: int,
    end: int | None,
    book: "Codebook | None",
    show: Callable[[int], None],
) -> Head:
    """Write what came after `begin` up to `end`, under the pseudonyms of `book` if there is one."""
    from tempfile import TemporaryFile

    from store.archive import export_log
    from worker.redacting import redact_log
    from worker.windows import beginning_at, carried_positions

    if book is None:
        beginning = beginning_at(cluster, begin)
        return export_log(cluster.log, out, beginning=beginning, until=end, progress=show)
    head, codes = redact_log(
        cluster.log,
        out,
        codes=book.codes,
        spool=TemporaryFile,
        after=begin,
        carried=carried_positions(cluster.log, cluster.state_at(begin)) if begin else (),
        until=end,
        progress=show,
    )
    book.keep(codes)
    return head


def _codebook(path: Path | None) -> "Codebook":
    from cli.codebook import Codebook

    return Codebook.new(path) if path is None else Codebook.read(path)


@contextmanager
def _writing(file: Path | None) -> Iterator[BinaryIO]:
    """Where an export goes to; a file takes its name once all is written."""
    from store.archive import open_archive

    if file is None or file == STANDARD:
        yield sys.stdout.buffer
        return
    with whole_or_not_at_all(file) as part, open_archive(part, "w") as out:
        yield out


def _line(head: Head) -> str:
    return f"{head.position} {head.hash.hex()}"
