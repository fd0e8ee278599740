"""`ganger describe`."""

from collections import deque
from collections.abc import Sequence

import click

from cli import options
from cli.console import visible
from cli.objects import Objects, Shown
from cli.settings import Settings, pass_settings
from cli.sources import open_objects
from domain.admission.kinds import POD, Kind
from worker.words import group_of

LAST_ENTRIES = 10


@click.command()
@click.argument("words", metavar="KIND NAME", nargs=-1, required=True, type=options.KindName())
@options.namespace_option
@options.at_option
@options.server_option
@pass_settings
def command(
    settings: Settings, words: tuple[str, ...], namespace: str, at: str | None, server: str | None
) -> None:
    """Print everything about an object, with its Events and the last of its history."""
    from cli.text.describe import Told, describe_lines

    with open_objects(settings, server=server, at=at) as objects:
        for number, (kind, name) in enumerate(options.parse_named(words)):
            shown = objects.one(kind, namespace, name)
            entries = deque(objects.history(kind, namespace, name), maxlen=LAST_ENTRIES)
            told = Told(_pods_of(objects, kind, shown), objects.events(kind, shown), entries)
            if number:
                print("\n")
            print(visible("\n".join(describe_lines(kind, shown, objects.facts, told))))


def _pods_of(objects: Objects, kind: Kind, shown: Shown) -> Sequence[Shown]:
    """The Pods of a group, or those on a node."""
    name = shown["metadata"]["name"]
    if kind.name == "PodGroup":
        return [pod for pod in objects.all(POD, shown["metadata"]["namespace"]) if group_of(pod) == name]
    if kind.name == "Node":
        return [pod for pod in objects.all(POD, None) if pod["spec"].get("nodeName") == name]
    return ()
