"""`ganger replay`."""

from pathlib import Path

import click

from cli.console import progress
from cli.settings import Settings, pass_settings


@click.command()
@click.argument("log", metavar="[LOG]", required=False, type=click.Path(path_type=Path))
@pass_settings
def command(settings: Settings, log: Path | None) -> int:
    """Fold a log from nothing and decide again at every attempt.

    LOG is an exported log; without it the log of the cluster is replayed. Exit code 0: every decision
    came out the same; 1: one did not, and both sides of the first difference are printed.
    """
    from cli.opening import open_log
    from cli.text.replay import result_lines
    from worker.replaying import ArchivedLog, StoredLog, replay

    with progress("replaying") as bar:
        if log is not None:
            result = replay(ArchivedLog(log), bar)
        else:
            with open_log(settings) as stored:
                last = stored.head().position
                result = replay(StoredLog(stored), lambda done: bar(done, last))
    print("\n".join(result_lines(result)))
    return 0 if result.same else 1
