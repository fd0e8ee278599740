"""Forks: a cluster that goes on from a moment of another one, in memory and in virtual time."""

from collections.abc import Callable, Sequence
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from domain.state import FORMAT, State, encode_state
from store.archive import export_log, import_log
from store.branch import Branch, BranchSnapshots
from store.chain import Head
from store.origins import Origin
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Limits, Worker
from worker.moments import Moment
from worker.repeating import Requests
from worker.windows import beginning_at

_IN_MEMORY = 64 << 20
"""Bytes of a fork's log that are not put into a file on their way into the store."""

LIMITS = Limits(seconds=0.1)
"""So often it is looked whether the deadline has passed."""


class Fork:
    """`parent` as of `moment`, of which `body` is the encoded State, free to go on otherwise.

    What was asked of the parent later, up to position `head`, is asked of the fork at the same times.
    The parent's log is read and never written.
    """

    def __init__(self, parent: Cluster, moment: Moment, body: bytes, head: int) -> None:
        self.branch = Branch(parent.log, moment.position)
        self.clock = VirtualClock(moment.now)
        self.cluster = Cluster(
            self.branch, BranchSnapshots(self.branch, body, format=FORMAT), clock=self.clock
        )
        self.clock.advance_to(self.state.at)
        self.requests = Requests(parent.log, moment.position, head)
        self._worker = Worker(self.cluster, limits=LIMITS)

    @property
    def state(self) -> State:
        """The State of the fork."""
        return self.cluster.state

    def step(self) -> bool:
        """Do the next thing that is due, if any; whether there was one."""
        asked = self.requests.next_due
        if asked is not None and asked <= self.clock.now():
            self.requests.repeat(self.cluster)
            return True
        return self._worker.step()

    def next_due(self) -> int | None:
        """The earliest moment at which something happens by itself; None: never."""
        moments = (self.requests.next_due, self._worker.next_due())
        return min((moment for moment in moments if moment is not None), default=None)


def keep(fork: Fork, name: str) -> Head:
    """Keep `fork` as the stream `name` of the parent's store; its head.

    The stream begins at the fork, with the State there and what it refers to, and knows the parent's
    position and hash. Raises StreamNotEmpty if there is such a stream.
    """
    branch = fork.branch
    origin = Origin(branch.trunk.stream, branch.base.position, branch.base.hash)
    with SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        out = cast(BinaryIO, file)
        export_log(branch, out, beginning=beginning_at(fork.cluster, branch.base.position))
        file.seek(0)
        return import_log(branch.store, name, out, origin=origin)


def forks_of(parent: Cluster, moment: Moment, count: int, *, head: int) -> list[Fork]:
    """`count` forks of `parent`, whose log is taken to end at `head`, at one moment. Raises Expired."""
    with parent.lock:
        present = parent.state.position == moment.position
        body = encode_state(parent.state if present else parent.state_at(moment.position))
    return [Fork(parent, moment, body, head) for _ in range(count)]


def advance_together(
    forks: Sequence[Fork], *, until: int | None = None, late: Callable[[], bool] = lambda: False
) -> bool:
    """Move `forks`, whose clocks agree, from one due thing to the next until all are at rest.

    Ends at `until` (microseconds) if that comes first. False if it was `late` before, which is asked
    between steps: then the forks have come about as far as each other.
    """
    while True:
        moved = [fork.step() for fork in forks]
        if late():
            return False
        if any(moved):
            continue
        due = min((due for fork in forks if (due := fork.next_due()) is not None), default=None)
        target = due if until is None else until if due is None else min(due, until)
        if target is None:
            return True
        for fork in forks:
            fork.clock.advance_to(target)
        if due is None or (until is not None and due > until):
            return True
