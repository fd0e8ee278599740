"""The clusters of the store that this server serves, each opened when it is first asked for."""

import logging
import threading
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from api.errors import bad_value
from api.following import Tail
from api.metrics import Metrics
from api.prefix import KEY
from api.watching import Broadcast
from domain.errors import GangerError, NotFound
from store.engine import Store
from store.log import EventLog, stream_names
from worker.active import ActiveWorker
from worker.clocks import Clock
from worker.cluster import CLUSTER_NAME, CLUSTER_NAME_RULE, Cluster
from worker.requests import Requests

log = logging.getLogger("ganger.api")


@dataclass(frozen=True)
class Served:
    """A cluster in use: its requests go one way, its log is followed, and a worker may be on it."""

    cluster: Cluster
    requests: Requests
    tail: Tail
    broadcast: Broadcast
    worker: ActiveWorker | None

    def close(self) -> None:
        """Answer what was taken, then let go of the cluster."""
        self.requests.close()
        if self.worker is not None:
            self.worker.stop()
        self.tail.close()


class Clusters:
    """Opens clusters of `store`, checked from the first event on; `default` is there from the start.

    With `work`, each has a worker for as long as the server runs; clusters that the store has already
    are opened for that without being asked for.
    """

    def __init__(self, store: Store, default: str, *, clock: Clock, work: bool) -> None:
        self.store = store
        self.default = default
        self._clock = clock
        self._work = work
        self._opening = threading.Lock()
        self._open: dict[str, Served] = {}
        self.metrics = Metrics()
        self.open(default)
        if work:
            self._open_others()

    def opened(self, name: str) -> Served | None:
        """The cluster `name` if it is in use already."""
        return self._open.get(name)

    def all(self) -> list[Served]:
        """Every cluster in use."""
        return list(self._open.values())

    def open(self, name: str, *, must_exist: bool = False) -> Served:
        """The cluster `name`. Raises NotFound if it has no events and must, CorruptLog if they are wrong."""
        with self._opening:
            if must_exist and name != self.default and EventLog(self.store, name).head().position == 0:
                raise NotFound(f'clusters "{name}" not found', name=name, kind="clusters")
            served = self._open.get(name)
            if served is None:
                served = self._open[name] = self._serve(name)
            return served

    def _open_others(self) -> None:
        """Open what else the store has; one that cannot be opened is told of and does not stop the rest."""
        for name in stream_names(self.store):
            try:
                self.open(name)
            except GangerError as error:
                log.error("cluster %r has no worker: %s", name, error)

    def end_following(self) -> None:
        """Let go of those who follow a log."""
        for served in self.all():
            served.tail.close()

    def close(self) -> None:
        """Answer what was taken, stop the workers, give their leases back."""
        for served in self.all():
            served.close()

    def _serve(self, name: str) -> Served:
        cluster = Cluster.open(self.store, name, clock=self._clock, verify=True)
        if cluster.state.position == 0 and not CLUSTER_NAME.fullmatch(name):
            raise bad_value("cluster", name, CLUSTER_NAME_RULE)
        self.metrics.watch(cluster)
        worker = ActiveWorker(cluster, timed=self.metrics.timer(cluster)) if self._work else None
        tail = Tail(self.store, name)
        served = Served(cluster, Requests(cluster), tail, Broadcast(cluster, tail), worker)
        if worker is not None:
            worker.start()
        return served


async def _all(request: Request) -> Clusters:
    return cast(Clusters, request.app.state.clusters)


async def _existing(request: Request) -> Served:
    return await _find(request, must_exist=True)


async def _perhaps_new(request: Request) -> Served:
    return await _find(request, must_exist=False)


async def _find(request: Request, *, must_exist: bool) -> Served:
    clusters = await _all(request)
    name = request.scope.get(KEY, clusters.default)
    served = clusters.opened(name)
    if served is None or (must_exist and served.cluster.state.position == 0):
        served = await run_in_threadpool(clusters.open, name, must_exist=must_exist)
    return served


Existing = Annotated[Served, Depends(_existing)]
"""The cluster that the path selects; 404 if there is none."""

PerhapsNew = Annotated[Served, Depends(_perhaps_new)]
"""The cluster that the path selects; its first event makes it."""

AllClusters = Annotated[Clusters, Depends(_all)]
"""Every cluster in use."""
