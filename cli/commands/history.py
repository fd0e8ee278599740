"""`ganger history`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import dropwhile, islice, takewhile
from typing import NamedTuple

import click
import msgspec

from cli import options
from cli.console import print_text
from cli.settings import Settings, pass_settings
from domain.admission.kinds import Kind, not_found
from worker.history import Entry


@click.command()
@click.argument("words", metavar="KIND NAME", nargs=-1, required=True, type=options.KindName())
@options.namespace_option
@click.option("--since", metavar="MOMENT", help="From this position, RFC 3339 time or age (-2h) on.")
@click.option("--until", "--at", "until", metavar="MOMENT", help="Up to this position, time or age.")
@click.option("--limit", type=options.WholeNumber(1), metavar="N", help="At most so many, the oldest ones.")
@options.output_option("json", "wide")
@options.server_option
@pass_settings
def command(
    settings: Settings,
    words: tuple[str, ...],
    namespace: str,
    since: str | None,
    until: str | None,
    limit: int | None,
    output: str | None,
    server: str | None,
) -> None:
    """Print every event and attempt that concerns an object.

    Oldest first, also after the object is deleted.
    """
    from cli.text.history import render_history

    kind, name = options.parse_target(words)
    asked = _Asked(kind, namespace, name, since, until)
    with _from_store(settings, asked) if server is None else _from_server(settings, asked, server) as found:
        entries = islice(_between(found, since, until), limit)
        if output == "json":
            _print_json(entries)
        else:
            print_text(render_history(entries, wide=output == "wide"))


class _Asked(NamedTuple):
    """Whose history is asked for, and which part of it."""

    kind: Kind
    namespace: str
    name: str
    since: str | None
    until: str | None


@contextmanager
def _from_store(settings: Settings, asked: _Asked) -> Iterator[Iterable[Entry]]:
    from cli.moments import moment_of
    from cli.opening import open_for_reading
    from worker.history import history

    kind, key = asked.kind, asked.kind.key_of(asked.namespace, asked.name)
    with open_for_reading(settings) as cluster:
        since = moment_of(cluster, asked.since, "--since")
        until = moment_of(cluster, asked.until, "--until/--at")
        if next(history(cluster, kind, key, limit=1), None) is None:
            raise not_found(kind, asked.name)
        yield history(cluster, kind, key, since=since and since.now, until=until and until.now)


@contextmanager
def _from_server(settings: Settings, asked: _Asked, server: str) -> Iterator[Iterable[Entry]]:
    from cli.client import Client

    client = Client(server, settings.cluster)
    yield client.history(asked.kind, asked.namespace, asked.name, since=asked.since, until=asked.until)


def _between(entries: Iterable[Entry], since: str | None, until: str | None) -> Iterable[Entry]:
    """`entries` from the position `since` up to `until`, as far as these are positions.

    Many events have one time, so that a time alone cannot tell them apart.
    """
    if since is not None and since.isdecimal():
        entries = dropwhile(lambda entry: entry.position < int(since), entries)
    if until is not None and until.isdecimal():
        entries = takewhile(lambda entry: entry.position <= int(until), entries)
    return entries


def _print_json(entries: Iterable[Entry]) -> None:
    """Print a list of `entries`, one a line, as they come."""
    separator = "["
    for entry in entries:
        print(f"{separator}\n{msgspec.json.encode(entry).decode()}", end="")
        separator = ","
    print("\n]" if separator == "," else "[]")
