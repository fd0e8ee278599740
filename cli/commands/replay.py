"""`ganger replay`."""

import sys
from pathlib import Path
from time import monotonic

import click

from cli.console import is_terminal, note, print_json, progress
from cli.options import output_option
from cli.settings import Settings, pass_settings


@click.command()
@click.argument("log", metavar="[LOG]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--against-current",
    is_flag=True,
    help="Decide attempts of other scheduler versions again, too, for comparison.",
)
@output_option("json")
@pass_settings
def command(settings: Settings, log: Path | None, against_current: bool, output: str | None) -> int:
    """Fold a log from nothing and decide again at every attempt.

    LOG is an exported log, or - for standard input; without it the log of the cluster is replayed, and
    the store's snapshots are compared. Exit code 0: every decision came out the same; 1: one did not,
    and both sides of the first difference are printed. On a terminal it also says how fast it went.
    """
    from cli.opening import open_log
    from cli.text.replay import result_lines
    from worker.replaying import ArchivedLog, StoredLog, replay, report_of, snapshots_of

    started = monotonic()
    with progress("replaying") as bar:
        if log is not None:
            from cli.archives import kept

            with kept(log) as file:
                result = replay(ArchivedLog(file), bar, against_current=against_current)
        else:
            with open_log(settings) as stored:
                last = stored.head().position
                result = replay(
                    StoredLog(stored),
                    lambda done: bar(done, last),
                    snapshots=snapshots_of(stored),
                    against_current=against_current,
                )
    if is_terminal(sys.stderr):
        seconds = monotonic() - started
        note(f"{result.events} events in {seconds:.1f} s, {result.events / seconds:,.0f} a second")
    if output == "json":
        print_json(report_of(result))
    else:
        print("\n".join(result_lines(result)))
    return 0 if result.same else 1
