"""`ganger diff`."""

import click

from cli import options
from cli.console import print_json, print_text
from cli.settings import Settings, pass_settings
from domain.difference import Difference


@click.command()
@click.option(
    "--from",
    "since",
    metavar="MOMENT",
    required=True,
    help="A position (120), an RFC 3339 time, or an age (-2h).",
)
@click.option("--to", "until", metavar="MOMENT", help="The same; now if left out.")
@options.output_option("json", "wide")
@options.server_option
@pass_settings
def command(settings: Settings, since: str, until: str | None, output: str | None, server: str | None) -> int:
    """Print what changed between two moments.

    Objects that came, went or changed, and who entered or left which lane. Pods of one group to which
    the same happened share a line; -o wide gives each its own. Exit code 0: nothing differs; 1: something
    does.
    """
    from cli.text.difference import render_difference

    found = _difference(settings, since, until, server=server)
    if output == "json":
        print_json(found)
    else:
        print_text(render_difference(found, wide=output == "wide"))
    return 0 if found.same else 1


def _difference(settings: Settings, since: str, until: str | None, *, server: str | None) -> Difference:
    if server is not None:
        from cli.client import Client

        return Client(server, settings.cluster).diff(since, until)
    from cli.moments import moment_of
    from cli.opening import open_for_reading
    from worker.comparing import compare

    with open_for_reading(settings) as cluster:
        first = moment_of(cluster, since, "--from")
        assert first is not None
        return compare(cluster, first, moment_of(cluster, until, "--to"))
