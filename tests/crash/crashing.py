"""A program that appends and kills itself at the n-th step; forks a child for each task it is given.

Each line of standard input is a task, `<stream> <scenario> <n>`; the answer is `killed` or `done`. A step is
a moment before or after a statement, a commit, or some rows of a COPY.
"""

import os
import signal
import sys
from collections.abc import Callable

import psycopg
from sqlalchemy import Engine, Pool, event

from domain.envelope import Draft
from drafts import draft, drafts
from store.append import Batch
from store.engine import open_store
from store.leases import acquire
from store.log import EventLog

BEFORE = 5
"""Events that are in the log, acknowledged, before the append that is killed."""

KEY = "the key"
BULK = 300
COPIED_ROWS = 100  # a step each


def prepare(log: EventLog) -> None:
    """What was acknowledged before."""
    log.append(drafts(BEFORE), at=1)


def batch_of(scenario: str) -> list[Draft]:
    """What the scenario appends, as one batch or several."""
    return [*drafts(BULK if scenario == "bulk" else 3), draft("new", kind="GroupAttempted")]


def append_batch(log: EventLog, scenario: str) -> None:
    """Append it; the idempotency key makes it safe to do again."""
    match scenario:
        case "unlocked":
            log.append(batch_of(scenario), at=2)
        case "group":
            log.append_all([Batch(drafts=[each], at=2) for each in batch_of(scenario)])
        case "commit":
            lease = acquire(log.store, log.stream, "worker", now=0, ttl_us=1)
            log.append(
                batch_of(scenario),
                at=2,
                epoch=lease.epoch,
                guard=lambda tail: len(tail) == 1,
                snapshot_position=BEFORE - 1,
                idempotency_key=KEY,
            )
        case _:
            log.append(batch_of(scenario), at=2, idempotency_key=KEY)


def kill_at(step: int) -> None:
    """Die at the step of this number, counted from now on."""
    left = step

    def count(*_args: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for moment in ("before_cursor_execute", "after_cursor_execute", "begin", "commit"):
        event.listen(Engine, moment, count)
    event.listen(Pool, "checkin", count)  # a connection comes back after its commit
    psycopg.Copy.write_row = counted(psycopg.Copy.write_row, count)  # type: ignore[method-assign]


def counted(write_row: Callable[..., None], count: Callable[[], None]) -> Callable[..., None]:
    """`write_row`, with a step every hundred rows."""
    rows = 0

    def write_and_count(copy: object, row: object) -> None:
        nonlocal rows
        write_row(copy, row)
        rows += 1
        if rows % COPIED_ROWS == 1:
            count()

    return write_and_count


def run(location: str, stream: str, scenario: str, step: int) -> None:
    """One task, in a process of its own."""
    store = open_store(location, create=False, durable=False)
    log = EventLog(store, stream)
    if scenario != "first":
        prepare(log)
    kill_at(step)
    append_batch(log, scenario)
    store.close()


def main(location: str) -> None:
    """Take tasks until the input ends."""
    for line in sys.stdin:
        stream, scenario, step = line.split()
        child = os.fork()
        if child == 0:
            run(location, stream, scenario, int(step))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if killed else "done" if status == 0 else f"failed {status}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
