"""`ganger why`."""

import click

from cli import options
from cli.console import print_json, print_text
from cli.settings import Settings, pass_settings
from domain.admission.kinds import Kind
from domain.explanation import LEVELS, Explanation, at_level
from domain.whathelps.budget import DEADLINE_S


def _check_level(context: click.Context, parameter: click.Parameter, level: int) -> int:
    if level not in LEVELS:
        known = ", ".join(map(str, LEVELS))
        raise click.BadParameter(f"there are levels {known}", context, parameter)
    return level


@click.command()
@click.argument("words", metavar="KIND[/NAME] [NAME]", nargs=-1, required=True, type=options.KindName())
@options.namespace_option
@click.option(
    "--level",
    type=int,
    callback=_check_level,
    default=1,
    show_default=True,
    help="0: verdict and summary; 1: quorum, the reasons for each shape of Pod, the tree, too; 2: nodes "
    "that are alike, domains, preemption in detail; 3: every node with every score.",
)
@click.option(
    "--deadline",
    type=options.SecondsText(),
    default=DEADLINE_S,
    show_default=True,
    help="How long to look for what would help; 0: not at all.",
)
@options.output_option("json")
@options.at_option
@options.server_option
@pass_settings
def command(
    settings: Settings,
    words: tuple[str, ...],
    namespace: str,
    level: int,
    deadline: float,
    output: str | None,
    at: str | None,
    server: str | None,
) -> int:
    """Say why an object is placed, waiting, rejected or gone.

    Exit code 0: it is placed; 1: it is not; 2: there has never been such an object.
    """
    from cli.text.why import render_why

    kind, name = options.parse_target(words)
    wanted = deadline if level else 0.0
    explanation = _explanation(
        settings, kind, namespace, name, at=at, level=level, deadline=wanted, server=server
    )
    if output == "json":
        print_json(at_level(explanation, level))
    else:
        print_text(render_why(explanation, level=level))
    return 0 if explanation.placed else 1


def _explanation(
    settings: Settings,
    kind: Kind,
    namespace: str,
    name: str,
    *,
    at: str | None,
    level: int,
    deadline: float,
    server: str | None,
) -> Explanation:
    if server is not None:
        from cli.client import Client

        client = Client(server, settings.cluster)
        return client.why(kind, namespace, name, at=at, level=max(level, 1), deadline=deadline)
    from cli.moments import moment_of
    from cli.opening import open_for_reading
    from worker.explaining import until, why

    with open_for_reading(settings) as cluster:
        position, now = moment_of(cluster, at) or (None, None)
        key, budget = kind.key_of(namespace, name), until(deadline)
        return why(cluster, kind, key, position=position, now=now, level=level, budget=budget)
