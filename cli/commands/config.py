"""`ganger config`."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from cli import options
from cli.console import warn
from cli.errors import FromServer
from cli.files import Manifests, naming_the_place, read_configuration
from cli.settings import Settings, pass_settings
from domain.configuration import CONFIGURATION, configuration_of


class _ShowUnlessSaid(click.Group):
    """Without a command, what is given are options of `show`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, once the command is named."""
        named = bool(args) and (not args[0].startswith("-") or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else ["show", *args])


@click.group(cls=_ShowUnlessSaid)
def command() -> None:
    """Show or set the configuration of the scheduler.

    It is a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1, kept in the log like
    everything else. Without a command this is `show`.
    """


@command.command()
@options.output_option("yaml", "json")
@options.at_option
@options.server_option
@pass_settings
def show(settings: Settings, output: str | None, at: str | None, server: str | None) -> None:
    """Print the configuration in force, in a form that `set` takes."""
    from cli.dumping import dump

    sys.stdout.write(dump(_in_force(settings, at=at, server=server), output or "yaml"))


@command.command("set")
@click.option(
    "-f",
    "--filename",
    "file",
    metavar="PATH|-",
    required=True,
    help="A KubeSchedulerConfiguration, or - for standard input.",
)
@options.dry_run_option
@options.server_option
@pass_settings
def set_(settings: Settings, file: str, dry_run: bool, server: str | None) -> None:
    """Replace the whole configuration by a file of kube-scheduler.

    What the file leaves out gets its default. What ganger cannot follow is refused by name, all of it
    at once; then nothing has changed.
    """
    documents = read_configuration(file)
    if server is None:
        change, notes = _configure(settings, documents, dry_run=dry_run)
    else:
        change, notes = _configure_remotely(server, settings, documents, dry_run=dry_run)
    for note in notes:
        warn(note)
    print(f"{CONFIGURATION.singular} {change}{' (dry run)' if dry_run else ''}")


def _in_force(settings: Settings, *, at: str | None, server: str | None) -> dict[str, Any]:
    if server is not None:
        from cli.client import Client

        return Client(server, settings.cluster).config(at=at)
    from cli.moments import moment_of
    from cli.opening import open_for_reading

    with open_for_reading(settings) as cluster:
        moment = moment_of(cluster, at)
        state = cluster.state if moment is None else cluster.state_at(moment.position)
        return configuration_of(state.config)


def _configure(settings: Settings, documents: Manifests, *, dry_run: bool) -> tuple[str, Sequence[str]]:
    """What became of the configuration, and notes on the document. Raises CannotDo with its place."""
    from cli.opening import open_for_trying, open_for_writing

    opening = open_for_trying(settings) if dry_run else open_for_writing(settings)
    with opening as cluster, naming_the_place(documents):
        outcome = cluster.configure(documents[0], dry_run=dry_run)
    return outcome.change, outcome.warnings


def _configure_remotely(
    server: str, settings: Settings, documents: Manifests, *, dry_run: bool
) -> tuple[str, Sequence[str]]:
    """The same on a server. Raises FromServer."""
    from cli.client import Client

    client = Client(server, settings.cluster)
    try:
        before = client.config()
    except FromServer as refusal:
        if refusal.reason != "NotFound":  # a cluster begins with its first event
            raise
        before = None
    after = client.configure(documents[0], dry_run=dry_run)
    return "unchanged" if after == before else "configured", client.take_warnings()
