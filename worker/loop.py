"""The worker: one thing after the other that time or the log has made due.

Each step reads the log to its head, lets the simulated kubelet do what is due, or decides for the
entity that is first in line and commits that as one batch. A decision that no longer stands is
thrown away and made again.
"""

import threading
from collections.abc import Callable, Sequence

from domain.errors import PositionConflict
from domain.events import Event
from domain.scheduling.cycle import decide
from domain.state import State
from store.errors import CommitConflict
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.kubelet import ACTOR, Kubelet

Progress = Callable[[int], None]


class Worker:
    """Moves one cluster on. `epoch` fences its commits (None where nobody else may work)."""

    def __init__(self, cluster: Cluster, *, epoch: int | None = None) -> None:
        self.cluster = cluster
        self.epoch = epoch
        self._kubelet = Kubelet(cluster.state)
        cluster.listen(self._observe)

    def step(self) -> bool:
        """Do the next thing that is due, if any; whether there was one."""
        with self.cluster.lock:
            self.cluster.refresh()
            return self._let_nodes_act() or self._decide()

    def next_due(self) -> int | None:
        """The earliest moment at which time alone moves something; 0: at once; None: never."""
        state = self.cluster.state
        moments = (
            self._kubelet.next_due(state),
            state.queue.next_due(),
            state.queue.next_to_speak(self.cluster.clock.now()),
        )
        return min((moment for moment in moments if moment is not None), default=None)

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
        cluster = self.cluster
        decision = decide(cluster.state, cluster.clock.now())
        if decision is None:
            return False
        try:
            cluster.commit(decision, epoch=self.epoch)
        except CommitConflict:
            return True  # the next step reads what came in between and decides again
        return True
