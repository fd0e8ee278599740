"""`ganger simulate`."""

from pathlib import Path

import click

from cli import options
from cli.console import note, progress
from cli.settings import Settings, pass_settings


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--nodes", type=options.WholeNumber(1), metavar="N", help="On the first N nodes only.")
@click.option(
    "--speedup",
    type=options.WholeNumber(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Let jobs arrive N times as fast, and run as long as ever.",
)
@pass_settings
def command(settings: Settings, trace: Path, nodes: int | None, speedup: int) -> None:
    """Run a trace of jobs in virtual time.

    TRACE is a folder with nodes.csv and jobs.csv. The cluster must be new; all that happens is in its
    log, so that queue, why, history and replay tell about it afterwards.
    """
    from cli.opening import open_for_writing
    from cli.text.simulation import summary_lines
    from worker.clocks import VirtualClock
    from worker.simulating import simulate
    from worker.traces import read_trace

    read = read_trace(trace)
    clock = VirtualClock(0)
    with open_for_writing(settings, clock=clock, durable=False) as cluster, progress("simulating") as bar:
        summary = simulate(cluster, clock, read, nodes=nodes, speedup=speedup, progress=bar)
    print("\n".join(summary_lines(summary)))
    if summary.longest is not None:
        kind, _, key = summary.longest.partition("/")
        name = key.rpartition("/")[2]
        at = "" if summary.first_rejection is None else f" --at {summary.first_rejection}"
        note(f"Try: ganger why {kind}/{name}{at}, ganger history {kind} {name}, ganger replay")
