"""The active worker of a cluster: at most one at a time, held to that by a lease."""

import logging
import os
import platform
import socket
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

from domain.errors import GangerError
from domain.events import GroupAttempted
from domain.times import SECOND
from store.errors import LeaseHeld, StaleEpoch, StoreFull, StoreLocked, StoreUnavailable
from store.leases import Lease, acquire, release, renew
from store.notify import Watcher
from worker.clocks import SystemClock, VirtualClock
from worker.cluster import Cluster
from worker.loop import LIVE, UNHURRIED, Worker

TTL_US: Final = 15 * SECOND
"""How long a lease lasts: after a crash the next worker waits at most so long."""

_RENEW_US: Final = 5 * SECOND
_RETRY_S: Final = 1.0
_GIVE_WAY_S: Final = 0.05
"""How long the worker lets those go first who want to write, once it has decided all that is due: what
they bring meanwhile is decided in one run, and shares one sync of the disk."""

_PASSING = (StaleEpoch, StoreFull, StoreLocked, StoreUnavailable)
"""What may be over when the worker tries again; all else ends it."""

log = logging.getLogger("ganger.worker")


class ActiveWorker:
    """Works on `cluster` in a thread of its own from `start` to `stop`.

    With `until_settled` it ends by itself once time would move nothing more. `virtual` is the clock
    of the cluster if that does not go by itself: it is moved on to whatever is due next.

    While another worker holds the lease it waits for it. `failure` is what ended it before its time;
    `timed` is told of each attempt and how many seconds it took until it was on disk.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        timed: Callable[[GroupAttempted, float], None] | None = None,
        virtual: VirtualClock | None = None,
        until_settled: bool = False,
    ) -> None:
        self.failure: Exception | None = None
        self._virtual = virtual
        self._until_settled = until_settled
        self._told_of_wait = False
        self._cluster = cluster
        self._store = cluster.log.store
        self._clock = SystemClock()  # leases are between processes, whatever time their clusters live in
        self._holder = f"{_machine()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
        limits = LIVE if virtual is None else UNHURRIED
        self._worker = Worker(cluster, limits=limits, timed=timed)
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._watcher = Watcher(self._store, cluster.log.stream)
        self._thread = threading.Thread(target=self._run, name=f"worker-{cluster.log.stream}", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def wait(self) -> None:
        """Return once it has ended by itself. Raises what ended it before its time."""
        self._ended.wait()  # a join that a signal interrupts takes the thread for ended
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """End after the step that is under way, and give the lease back."""
        self._stopping.set()
        self._watcher.close()
        self._thread.join()

    def _run(self) -> None:
        stream = self._cluster.log.stream
        try:
            while not self._stopping.is_set():
                try:
                    self._work()
                except _PASSING as error:
                    log.warning("the worker of cluster %r pauses: %s", stream, error)
                    self._stopping.wait(_RETRY_S)
        except Exception as error:
            self.failure = error
            expected = isinstance(error, GangerError)
            log.error("the worker of cluster %r has stopped: %s", stream, error, exc_info=not expected)
        finally:
            self._ended.set()

    def _work(self) -> None:
        """Work for as long as the lease can be had and kept. Raises StoreError."""
        lease = self._acquire()
        if lease is None:
            return
        self._worker.epoch = lease.epoch
        try:
            while not self._stopping.is_set():
                lease = self._kept(lease)
                if not self._worker.step():
                    self._rest(lease)
                elif self._cluster.lock.taken and not self._worker.behind:
                    self._stopping.wait(_GIVE_WAY_S)
        finally:
            release(self._store, lease)

    def _acquire(self) -> Lease | None:
        """The lease; None after some waiting if another worker has it."""
        now = self._clock.now()
        try:
            lease = acquire(self._store, self._cluster.log.stream, self._holder, now=now, ttl_us=TTL_US)
        except LeaseHeld as held:
            if _is_dead(held.holder):
                self._take_over(held.holder)
                return None
            if not self._told_of_wait:
                log.warning("%s: waiting until it ends", held)
                self._told_of_wait = True
            left = (held.expires_us - now) / SECOND
            self._stopping.wait(min(max(left, 0.0), _RETRY_S))
            return None
        self._told_of_wait = False
        return lease

    def _take_over(self, dead: str) -> None:
        """Give back the lease of a process that did not live to do so: nobody need wait for its end."""
        now = self._clock.now()
        release(self._store, acquire(self._store, self._cluster.log.stream, dead, now=now, ttl_us=TTL_US))

    def _kept(self, lease: Lease) -> Lease:
        """The lease, renewed if it is time for that. Raises StaleEpoch if it is somebody else's."""
        now = self._clock.now()
        if lease.expires_us - now > TTL_US - _RENEW_US:
            return lease
        return renew(self._store, lease, now=now, ttl_us=TTL_US)

    def _rest(self, lease: Lease) -> None:
        """Wait until the log grows, something is due, or the lease wants to be renewed.

        Does not wait where a virtual clock can be moved, or nothing is left to wait for.
        """
        with self._cluster.lock:
            due, position = self._worker.next_due(), self._cluster.state.position
        if due is None and self._until_settled:
            self._stopping.set()
            return
        if due is not None and self._virtual is not None:
            self._virtual.advance_to(due)
            return
        renewal = lease.expires_us - (TTL_US - _RENEW_US)
        until = renewal if due is None else min(due, renewal)
        self._watcher.wait(position, max(0.0, (until - self._clock.now()) / SECOND))


def _machine() -> str:
    """What those processes have in common that see each other's ids."""
    try:
        space = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        space = platform.system()
    return f"{socket.gethostname()}/{space}"


def _is_dead(holder: str) -> bool:
    """Whether `holder` is a process of this machine that is no more; False if that cannot be known."""
    machine, _, process = holder.rpartition("/")[0].rpartition("/")
    if machine != _machine() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
