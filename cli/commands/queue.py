"""`ganger queue`."""

from collections.abc import Sequence

import click

from cli import options
from cli.console import note, print_json, print_table
from cli.settings import Settings, pass_settings
from domain.ages import duration
from domain.times import parse_rfc3339
from domain.waiting import Waiter, WaitingLine, waiting_line

HEADERS = ("ENTITY", "LANE", "PLACE", "PRIORITY", "PODS", "ATTEMPTS", "SINCE", "DUE", "WAITS FOR")


@click.command()
@options.output_option("json")
@options.at_option
@options.server_option
@pass_settings
def command(settings: Settings, output: str | None, at: str | None, server: str | None) -> None:
    """Print what waits, in the order in which it will be tried.

    active: due now, the first one next; backoff: due by themselves, when DUE says; unschedulable:
    tried, and at rest until something changes that could help; gated and incomplete: held until what
    they wait for is there.
    """
    line = _line(settings, server=server, at=at)
    if output == "json":
        print_json(line)
    elif line.waiters:
        print_table(HEADERS, _rows(line.waiters, parse_rfc3339(line.time)))
    else:
        note("Nothing waits.")


def _line(settings: Settings, *, server: str | None, at: str | None) -> WaitingLine:
    if server is not None:
        from cli.client import Client

        return Client(server, settings.cluster).queue(at=at)
    from cli.moments import moment_of
    from cli.opening import open_for_reading

    with open_for_reading(settings) as cluster:
        moment = moment_of(cluster, at)
        if moment is None:
            return waiting_line(cluster.state, cluster.present())
        return waiting_line(cluster.state_at(moment.position), moment.now)


def _rows(waiters: Sequence[Waiter], now: int) -> list[list[str]]:
    return [
        [
            waiter.entity,
            waiter.lane,
            str(waiter.place),
            str(waiter.priority),
            str(waiter.pods),
            str(waiter.attempts),
            f"{duration(now - parse_rfc3339(waiter.since))} ago",
            f"in {duration(parse_rfc3339(waiter.due) - now)}" if waiter.due else "-",
            waiter.waits_for,
        ]
        for waiter in waiters
    ]
