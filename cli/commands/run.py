"""`ganger run`."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import click

from cli.console import note, notes_from
from cli.settings import Settings, pass_settings
from domain.events import Event, GroupAttempted, PodBound
from domain.state import State


@click.command()
@click.option("--until-settled", is_flag=True, help="Stop when time alone would move nothing more.")
@click.option("--virtual-time", is_flag=True, help="Jump over waiting times instead of sitting them out.")
@pass_settings
def command(settings: Settings, until_settled: bool, virtual_time: bool) -> None:
    """Run the worker that decides and carries out.

    It decides for what is due, commits each decision as one batch, and plays the nodes. Works until it
    is interrupted, and prints a line for each attempt. The hash chain of the log is checked first.
    """
    from cli.opening import open_for_writing
    from worker.active import ActiveWorker
    from worker.clocks import SystemClock, VirtualClock

    virtual = VirtualClock(SystemClock().now()) if virtual_time else None
    with (
        _ended_by_sigterm(),
        notes_from("ganger.worker"),
        open_for_writing(settings, clock=virtual, verify=True) as cluster,
    ):
        if virtual is not None:
            virtual.advance_to(cluster.state.at)
        cluster.listen(_tell)
        worker = ActiveWorker(cluster, virtual=virtual, until_settled=until_settled)
        worker.start()
        try:
            worker.wait()
        finally:
            worker.stop()
        waiting = len(cluster.state.queue.entities)
        note(f"At rest at position {cluster.state.position}; {waiting or 'nothing'} in the queue.")


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """End quietly at SIGTERM, with code 0."""

    def end(number: int, frame: FrameType | None) -> None:
        raise click.exceptions.Exit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(state: State, events: Sequence[Event]) -> None:
    """Print a line for each attempt among `events`, which may be those of several decisions."""
    lines = []
    bound = 0
    for event in reversed(events):  # an attempt stands before what it bound
        if isinstance(event.payload, PodBound):
            bound += 1
        elif isinstance(event.payload, GroupAttempted):
            attempt = event.payload
            found = f"{bound} bound" if attempt.outcome == "scheduled" else _message(state, attempt.entity)
            lines.append(f"{event.position} {attempt.entity} {attempt.outcome}: {found}")
            bound = 0
    for line in reversed(lines):
        print(line, flush=True)


def _message(state: State, entity: str) -> str:
    """Kubernetes' text for why `entity` was refused."""
    kind, _, key = entity.partition("/")
    record = state.pods.get(key) if kind == "Pod" else state.group_of(entity)
    return (
        record.condition.message if record is not None and record.condition is not None else "no reason given"
    )
