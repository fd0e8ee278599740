"""A worker that kills itself at the n-th step; forks a child for each task it is given.

Each line of standard input is a task, `<stream> <n>`; the answer is `killed` or `done`. Steps are those of
`crashing.py`: moments before and after statements and commits.
"""

import os
import signal
import sys

from build import START
from crash.crashing import kill_at
from store.engine import open_store
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker


def run(location: str, stream: str, step: int) -> None:
    """Work until all is at rest, in a process of its own."""
    store = open_store(location, create=False, durable=False)
    clock = VirtualClock(START)
    worker = Worker(Cluster.open(store, stream, clock=clock))
    kill_at(step)
    worker.settle(clock)
    store.close()


def main(location: str) -> None:
    """Take tasks until the input ends."""
    open_store(location, create=False, durable=False).close()  # imports what the children need
    for line in sys.stdin:
        stream, step = line.split()
        child = os.fork()
        if child == 0:
            run(location, stream, int(step))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if killed else "done" if status == 0 else f"failed {status}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
