"""Forks: a cluster that goes on from a moment of another one, in memory and in virtual time."""

from collections.abc import Callable, Iterable, Sequence
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from domain.events import Event, GroupAttempted
from domain.state import FORMAT, State, encode_state
from store.archive import export_log, import_log
from store.branch import Branch, BranchSnapshots
from store.chain import Head
from store.log import EventLog
from store.origins import Origin
from store.tables import ATTEMPT
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.history import attempt_of
from worker.loop import Limits, Worker, earliest
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
    The parent's log is read and never written. `attempts` counts those that were made in the fork.
    """

    def __init__(self, parent: Cluster, moment: Moment, body: bytes, head: int) -> None:
        self.branch = Branch(parent.log, moment.position)
        self.clock = VirtualClock(moment.now)
        self.cluster = Cluster(
            self.branch, BranchSnapshots(self.branch, body, format=FORMAT), clock=self.clock
        )
        self.clock.advance_to(self.state.at)
        self.requests = Requests(parent.log, moment.position, head)
        self.attempts = 0
        self._worker = Worker(self.cluster, limits=LIMITS)
        self.cluster.listen(self._count)

    @property
    def state(self) -> State:
        """The State of the fork."""
        return self.cluster.state

    @property
    def keeps_waiting(self) -> bool:
        """Whether somebody is due who has not been decided for."""
        due = self._worker.next_decision()
        return due is not None and due <= self.clock.now()

    def work(self, attempts: int = LIMITS.decisions) -> bool:
        """Let nodes act if that is due, else make so many attempts at most; whether anything was done."""
        self._worker.limits = LIMITS._replace(decisions=attempts)
        return self._worker.step()

    def ask(self) -> bool:
        """Make the next request if it is due; whether it was."""
        asked = self.requests.next_due
        if asked is None or asked > self.clock.now():
            return False
        self.requests.repeat(self.cluster)
        return True

    def next_act(self) -> int | None:
        """When there is something to do for `work` as it was last called, if time alone moves that."""
        return self._worker.next_due()

    def _count(self, _: State, events: Iterable[Event]) -> None:
        self.attempts += sum(isinstance(event.payload, GroupAttempted) for event in events)


class Pace:
    """The attempts in `log` after position `after` up to `until`, for a fork that goes the same way."""

    def __init__(self, log: EventLog, after: int, until: int) -> None:
        found = log.of_type(ATTEMPT, after=after, until=until)
        self._attempts = map(attempt_of, found)
        self._next = next(self._attempts, None)
        self._passed = 0

    def turn(self, fork: Fork) -> int | None:
        """When the log has the next attempt of `fork`; None if a request is before it, or it has none."""
        while self._next is not None and self._passed < fork.attempts:
            self._next = next(self._attempts, None)
            self._passed += 1
        if self._next is None:
            return None
        attempt, request = self._next, fork.requests.next_position
        return attempt.at if request is None or attempt.snapshot < request else None

    def is_over(self, fork: Fork) -> bool:
        """Whether `fork` has come to the end of the log."""
        return self.turn(fork) is None and fork.requests.next_position is None


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
    """`count` forks of `parent`, whose log is taken to end at `head`, at one moment, the end of a batch.

    Raises Expired.
    """
    with parent.lock:
        present = parent.state.position == moment.position
        body = encode_state(parent.state if present else parent.state_at(moment.position))
    return [Fork(parent, moment, body, head) for _ in range(count)]


def advance_together(
    forks: Sequence[Fork],
    *,
    pace: Pace | None = None,
    until: int | None = None,
    late: Callable[[], bool] = lambda: False,
) -> bool:
    """Move `forks`, whose clocks agree, from one due thing to the next until all are at rest.

    With a `pace` the first one, in which nothing is changed, makes its attempts when the log has them, after
    the requests that these had seen. While somebody waits in it who is due, since the worker was busy or
    away, nobody is decided for in the others, either.

    Ends at `until` (microseconds) if that comes first. False if it was `late` before, which is asked
    between steps: then the forks have come about as far as each other.
    """
    while True:
        moved = _step(forks, pace)
        if late():
            return False
        if moved:
            continue
        due = _next_due(forks, pace)
        target = due if until is None else until if due is None else min(due, until)
        if target is None:
            return True
        for fork in forks:
            fork.clock.advance_to(target)
        if due is None or (until is not None and due > until):
            return True


def _step(forks: Sequence[Fork], pace: Pace | None) -> bool:
    """Do what is due next in each fork; whether there was anything."""
    first, *others = forks
    if pace is None or pace.is_over(first):
        return _any(fork.ask() or fork.work() for fork in forks)
    turn = pace.turn(first)
    has_turn = turn is not None and turn <= first.clock.now()
    if _any(fork.work(int(has_turn)) for fork in forks):
        return True
    if not first.keeps_waiting and _any(fork.work() for fork in others):
        return True
    return (turn is None or has_turn) and _any(fork.ask() for fork in forks)


def _next_due(forks: Sequence[Fork], pace: Pace | None) -> int | None:
    """When `_step`, for which nothing was due, has something to do again; None: never."""
    first, *_ = forks
    turn = None if pace is None else pace.turn(first)
    waits = turn is not None and turn > first.clock.now()
    return earliest(turn if waits else first.requests.next_due, *(fork.next_act() for fork in forks))


def _any(moved: Iterable[bool]) -> bool:
    """Whether any of `moved` is true, all of which come about."""
    return bool(sum(moved))
