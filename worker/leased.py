"""Working on a cluster in the calling thread, as the only active worker of it."""

import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from domain.times import SECOND
from store.errors import LeaseHeld
from store.leases import Lease, acquire, release, renew
from store.notify import Watcher
from worker.clocks import SystemClock, VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker

TTL_US: Final = 15 * SECOND
"""How long a lease lasts: after a crash the next worker waits at most so long."""

_RENEW_US: Final = 5 * SECOND
_RETRY_S: Final = 0.5


def work(
    cluster: Cluster,
    *,
    virtual: VirtualClock | None = None,
    until_settled: bool = False,
    on_wait: Callable[[LeaseHeld], None] = lambda held: None,
) -> None:
    """Do what is due, for ever, or with `until_settled` until time would move nothing more.

    `virtual` is the cluster's clock, to be moved to whatever is due next; None where the cluster
    lives by the system's. While another worker holds the lease it waits for it, and says so once to
    `on_wait`. Raises StaleEpoch if another worker takes over.
    """
    with _leased(cluster, on_wait) as lease, Watcher(cluster.log.store, cluster.log.stream) as watcher:
        worker = Worker(cluster, epoch=lease.lease.epoch)
        while True:
            lease.keep()
            if worker.step():
                continue
            due = worker.next_due()
            if due is None and until_settled:
                return
            if due is not None and virtual is not None:
                virtual.advance_to(due)
            else:
                until = lease.renewal if due is None else min(due, lease.renewal)
                watcher.wait(cluster.state.position, max(0.0, (until - _now()) / SECOND))


class _Held:
    """A lease that is kept; times are the system's, whatever clock the cluster lives by."""

    def __init__(self, cluster: Cluster, lease: Lease) -> None:
        self.lease = lease
        self._store = cluster.log.store

    @property
    def renewal(self) -> int:
        """When it wants to be renewed, in microseconds."""
        return self.lease.expires_us - TTL_US + _RENEW_US

    def keep(self) -> None:
        """Renew it if it is time for that. Raises StaleEpoch if it is somebody else's."""
        now = _now()
        if now >= self.renewal:
            self.lease = renew(self._store, self.lease, now=now, ttl_us=TTL_US)


@contextmanager
def _leased(cluster: Cluster, on_wait: Callable[[LeaseHeld], None]) -> Iterator[_Held]:
    lease = _acquire(cluster, on_wait)
    held = _Held(cluster, lease)
    try:
        yield held
    finally:
        release(cluster.log.store, held.lease)


def _acquire(cluster: Cluster, on_wait: Callable[[LeaseHeld], None]) -> Lease:
    holder = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"
    told = False
    while True:
        try:
            return acquire(cluster.log.store, cluster.log.stream, holder, now=_now(), ttl_us=TTL_US)
        except LeaseHeld as held:
            if not told:
                on_wait(held)
                told = True
            time.sleep(min(max((held.expires_us - _now()) / SECOND, 0.0), _RETRY_S))


def _now() -> int:
    return SystemClock().now()
