"""The active worker of a cluster: at most one at a time, held to that by a lease."""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Final

from domain.events import Event, GroupAttempted
from domain.state import State
from domain.times import SECOND
from store.errors import LeaseHeld, StaleEpoch
from store.leases import Lease, acquire, release, renew
from store.notify import Watcher
from worker.cluster import Cluster
from worker.loop import Worker

TTL_US: Final = 15 * SECOND
"""How long a lease lasts: after a crash the next worker waits at most so long."""

_RENEW_US: Final = 5 * SECOND
_RETRY_S: Final = 1.0

log = logging.getLogger("ganger.worker")


class ActiveWorker:
    """Works on `cluster` in a thread of its own from `start` to `stop`.

    While another worker holds the lease it waits for it. `failure` is what ended it before its time;
    `timed` is told of each attempt and how many seconds it took until it was on disk.
    """

    def __init__(
        self, cluster: Cluster, *, timed: Callable[[GroupAttempted, float], None] | None = None
    ) -> None:
        self.failure: Exception | None = None
        self._timed = timed
        self._attempts: list[GroupAttempted] = []
        self._cluster = cluster
        self._store = cluster.log.store
        self._holder = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
        self._worker = Worker(cluster)
        self._stopping = threading.Event()
        self._watcher = Watcher(self._store, cluster.log.stream)
        self._thread = threading.Thread(target=self._run, name=f"worker-{cluster.log.stream}", daemon=True)
        cluster.listen(self._note)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """End after the step that is under way, and give the lease back."""
        self._stopping.set()
        self._watcher.close()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                lease = self._acquire()
                if lease is not None:
                    self._work_under(lease)
        except Exception as error:
            self.failure = error
            log.exception("the worker of cluster %r has stopped", self._cluster.log.stream)

    def _acquire(self) -> Lease | None:
        """The lease, or None after some waiting: another worker has it, or the store cannot be used."""
        try:
            return acquire(
                self._store,
                self._cluster.log.stream,
                self._holder,
                now=self._cluster.clock.now(),
                ttl_us=TTL_US,
            )
        except LeaseHeld as held:
            left = (held.expires_us - self._cluster.clock.now()) / SECOND
            self._stopping.wait(min(max(left, 0.0), _RETRY_S))
        return None

    def _work_under(self, lease: Lease) -> None:
        self._worker.epoch = lease.epoch
        try:
            while not self._stopping.is_set():
                lease = self._kept(lease)
                if not self._step():
                    self._rest(lease)
        except StaleEpoch as stale:
            log.warning("%s: waiting for it", stale)
            return
        release(self._store, lease)

    def _step(self) -> bool:
        with self._cluster.lock:
            self._attempts.clear()
            started = time.perf_counter()
            moved = self._worker.step()
            seconds = time.perf_counter() - started
            attempts = list(self._attempts)
        if self._timed is not None:
            for attempt in attempts:
                self._timed(attempt, seconds)
        return moved

    def _note(self, state: State, events: Sequence[Event]) -> None:
        self._attempts += [event.payload for event in events if isinstance(event.payload, GroupAttempted)]

    def _kept(self, lease: Lease) -> Lease:
        """The lease, renewed if it is time for that. Raises StaleEpoch if it is somebody else's."""
        now = self._cluster.clock.now()
        if lease.expires_us - now > TTL_US - _RENEW_US:
            return lease
        return renew(self._store, lease, now=now, ttl_us=TTL_US)

    def _rest(self, lease: Lease) -> None:
        """Wait until the log grows, something is due, or the lease wants to be renewed."""
        with self._cluster.lock:
            due, position = self._worker.next_due(), self._cluster.state.position
        renewal = lease.expires_us - (TTL_US - _RENEW_US)
        until = renewal if due is None else min(due, renewal)
        self._watcher.wait(position, max(0.0, (until - self._cluster.clock.now()) / SECOND))
