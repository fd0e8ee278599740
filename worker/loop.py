"""The worker: one thing after the other that time or the log has made due.

Each step reads the log to its head, lets the simulated kubelet do what is due, or decides for the
entities that are first in line. A decision is one batch; where many wait, a run of decisions shares
one transaction. What no longer stands when it is committed is thrown away and decided again.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from domain.errors import PositionConflict
from domain.events import Event, GroupAttempted
from domain.scheduling.cycle import Decision, decide
from domain.state import State
from store.errors import CommitConflict
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.kubelet import ACTOR, Kubelet


class Limits(NamedTuple):
    """A run of decisions ends once it has so many decisions or events, or has taken so many seconds.

    With no decisions only nodes act.
    """

    decisions: int = 64
    events: int = 1_000
    seconds: float = math.inf


UNHURRIED: Final = Limits()
"""Where nobody waits but time itself: how long anything takes leaves no trace in the log."""

LIVE: Final = Limits(seconds=0.05)
"""Where others wait for the State, and the first of a run for the disk."""

PATIENCE: Final = 64
"""After a run that was in vain, since somebody else wrote, so many decisions are committed one by one:
making the State anew costs more than a few syncs of the disk."""


class Worker:
    """Moves one cluster on. `epoch` fences its commits (None where nobody else may work).

    `limits` say how many decisions may share a transaction. `timed` is told of each attempt and how many
    seconds it took from the decision to its being on disk.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        epoch: int | None = None,
        limits: Limits = UNHURRIED,
        timed: Callable[[GroupAttempted, float], None] | None = None,
    ) -> None:
        self.cluster = cluster
        self.epoch = epoch
        self.limits = limits
        self.behind = False
        """Whether the last decisions ended at a limit, so that more may be due."""
        self._timed = timed
        self._one_by_one = 0
        self._kubelet = Kubelet(cluster.state)
        cluster.listen(self._observe)

    def step(self) -> bool:
        """Do the next thing that is due, if any; whether there was one."""
        with self.cluster.lock:
            self.cluster.refresh()
            return self._let_nodes_act() or (self.limits.decisions > 0 and self._decide())

    def let_nodes_act(self) -> None:
        """Let nodes do all that is due by now, while nobody is scheduled."""
        with self.cluster.lock:
            self.cluster.refresh()
            while self._let_nodes_act():
                pass

    def next_due(self) -> int | None:
        """The earliest moment at which time alone moves something; 0: at once; None: never."""
        acts = self._kubelet.next_due(self.cluster.state)
        return earliest(acts, self.next_decision() if self.limits.decisions else None)

    def next_decision(self) -> int | None:
        """The earliest moment at which somebody is to be decided for; None: never."""
        queue = self.cluster.state.queue
        return earliest(queue.next_due(), queue.next_to_speak(self.cluster.clock.now()))

    def advance(self, clock: VirtualClock, until: int) -> None:
        """Do all that falls due up to `until`, and stop the clock there."""
        while True:
            while self.step():
                pass
            due = self.next_due()
            if due is None or due > until:
                clock.advance_to(until)
                return
            clock.advance_to(due)

    def settle(self, clock: VirtualClock) -> None:
        """Move the clock from one due thing to the next until time would move nothing more."""
        while True:
            while self.step():
                pass
            due = self.next_due()
            if due is None:
                return
            clock.advance_to(due)

    def run(
        self, stop: threading.Event, wait: Callable[[int, float | None], object], *, settled: bool
    ) -> None:
        """Work by the system's clock until `stop` is set; with `settled` until all is at rest.

        `wait(position, seconds)` returns when the log has grown beyond `position`, when the time
        is up (None: no limit), or when whoever sets `stop` wakes it.
        """
        while not stop.is_set():
            if self.step():
                continue
            due = self.next_due()
            if due is None and settled:
                return
            seconds = None if due is None else max(0.0, (due - self.cluster.clock.now()) / 1_000_000)
            wait(self.cluster.state.position, seconds)

    def _observe(self, state: State, events: Sequence[Event]) -> None:
        self._kubelet.observe(state, events)

    def _let_nodes_act(self) -> bool:
        cluster = self.cluster
        now = cluster.clock.now()
        due = self._kubelet.next_due(cluster.state)
        if due is None or due > now:
            return False
        batch = cluster.new_batch()
        self._kubelet.act(cluster.state, batch, now)
        try:
            cluster.append(batch.payloads, actor=ACTOR, epoch=self.epoch)
        except PositionConflict:
            self._kubelet = Kubelet(cluster.state)
        return True

    def _decide(self) -> bool:
        """Decide and commit; whether anything was due."""
        began = time.perf_counter()
        self.behind = False
        first = decide(self.cluster.state, self.cluster.clock.now())
        if first is None:
            self.cluster.state.nodes.arrange()  # while there is time for it
            return False
        if self._one_by_one or self.limits.decisions == 1 or not self.cluster.state.queue.crowded:
            self._one_by_one = max(self._one_by_one - 1, 0)
            self._commit(first, began)
            return True
        run = _Run(self.cluster, first, began, self.limits)
        try:
            self.cluster.commit_run(run, epoch=self.epoch)
        except PositionConflict:
            self._one_by_one = PATIENCE
            self._commit(first, began)
        else:
            self.behind = not run.exhausted
            self._tell(run.made)
        return True

    def _commit(self, decision: Decision, began: float) -> None:
        try:
            self.cluster.commit(decision, epoch=self.epoch)
        except CommitConflict:
            return  # the next step reads what came in between and decides again
        self._tell([(decision, began)])

    def _tell(self, made: Sequence[tuple[Decision, float]]) -> None:
        if self._timed is not None:
            now = time.perf_counter()
            for decision, began in made:
                self._timed(decision.attempt, now - began)


def earliest(*moments: int | None) -> int | None:
    """The first of `moments`, of which None is never."""
    return min((moment for moment in moments if moment is not None), default=None)


class _Run:
    """Decisions for one after the other of those that are due, each made on the State that the ones
    before have left. `made` has them with the moments at which they were begun. It is `exhausted` once
    nobody is due any more.

    It ends after an eviction, since nodes act on that before anybody else is tried.
    """

    def __init__(self, cluster: Cluster, first: Decision, began: float, limits: Limits) -> None:
        self.made = [(first, began)]
        self.exhausted = False
        self._cluster = cluster
        self._limits = limits

    def __iter__(self) -> Iterator[Decision]:
        decision: Decision | None = self.made[0][0]
        events = 0
        while decision is not None:
            yield decision
            events += len(decision.payloads)
            began = time.perf_counter()
            if (
                len(self.made) >= self._limits.decisions
                or events >= self._limits.events
                or began - self.made[0][1] > self._limits.seconds
                or decision.victims
            ):
                return
            decision = decide(self._cluster.state, self._cluster.clock.now())
            if decision is not None:
                self.made.append((decision, began))
        self.exhausted = True
