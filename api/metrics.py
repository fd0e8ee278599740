"""Metrics for Prometheus: kube-scheduler's names where they are true here, and the book's own.

Attempts are counted as they come into the log, whoever made them, from the start of this server on;
what waits is read from the State when somebody asks. Source: kube-scheduler 1.37, pkg/scheduler/metrics.
"""

from collections import Counter as Count
from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from domain.events import Event, GroupAttempted
from domain.queue import Lane
from domain.state import State
from domain.version import VERSION
from worker.cluster import Cluster

disable_created_metrics()  # a series for each counter that says when it was made, which nobody asks for

RESULTS = {
    "scheduled": "scheduled",
    "unschedulable": "unschedulable",
    "waitingOnPreemption": "waiting_on_preemption",
    "error": "error",
}
"""The outcomes of attempts, as kube-scheduler's metrics call them."""

_BUCKETS = [0.001 * 2**i for i in range(15)]
_LABELS = ("cluster", "result", "profile")


class Metrics:
    """The metrics of all clusters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, histogram = _attempts, _durations
        self._group_attempts = counter("podgroup_schedule_attempts", "pod groups", self.registry)
        self._pod_attempts = counter("schedule_attempts", "single Pods", self.registry)
        self._group_seconds = histogram("podgroup_scheduling_attempt", "pod groups", self.registry)
        self._pod_seconds = histogram("scheduling_attempt", "single Pods", self.registry)
        self._clusters: list[Cluster] = []
        self.registry.register(_Waiting(self._clusters))

    def text(self) -> bytes:
        """All of them in Prometheus' text format."""
        return generate_latest(self.registry)

    def watch(self, cluster: Cluster) -> None:
        """Count what is attempted in `cluster` from now on."""
        name = cluster.log.stream
        for result in RESULTS.values():
            for counter in (self._group_attempts, self._pod_attempts):
                counter.labels(name, result, _profile(cluster.state))

        def count(state: State, events: Sequence[Event]) -> None:
            for event in events:
                if isinstance(event.payload, GroupAttempted):
                    attempt = event.payload
                    counter = self._pod_attempts if _of_pod(attempt) else self._group_attempts
                    counter.labels(name, RESULTS[attempt.outcome], _profile(state)).inc()

        cluster.listen(count)
        self._clusters.append(cluster)

    def timer(self, cluster: Cluster) -> Callable[[GroupAttempted, float], None]:
        """What to tell how many seconds an attempt in `cluster` took."""
        name = cluster.log.stream

        def observe(attempt: GroupAttempted, seconds: float) -> None:
            histogram = self._pod_seconds if _of_pod(attempt) else self._group_seconds
            result = RESULTS[attempt.outcome]
            histogram.labels(name, result, _profile(cluster.state)).observe(seconds)

        return observe


class _Waiting(Collector):
    """What can be seen of the States of `clusters` at the moment of asking."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self._clusters = clusters

    def collect(self) -> Iterator[Metric]:
        pods = GaugeMetricFamily(
            "scheduler_pending_pods", "Pods that wait, by lane", labels=["cluster", "queue"]
        )
        entities = GaugeMetricFamily(
            "scheduler_pending_entities",
            "Single Pods and roots of group trees that wait, by lane",
            labels=["cluster", "queue", "type"],
        )
        cache = GaugeMetricFamily(
            "scheduler_cache_size", "Nodes and Pods that are known", labels=["cluster", "type"]
        )
        position = GaugeMetricFamily(
            "ganger_log_position", "Position of the newest event", labels=["cluster"]
        )
        for cluster in self._clusters:
            name = cluster.log.stream
            with cluster.lock:
                cluster.refresh()
                state = cluster.state
                waiting = _count(state, cluster.present())
                cache.add_metric([name, "nodes"], len(state.node_records))
                cache.add_metric([name, "pods"], len(state.pods))
                position.add_metric([name], state.position)
            for lane in Lane:
                pods.add_metric([name, lane], waiting[lane, "pods"])
                for kind in ("pod", "podgroup"):
                    entities.add_metric([name, lane, kind], waiting[lane, kind])
        yield from (pods, entities, cache, position)
        build = GaugeMetricFamily("ganger_build_info", "Which ganger this is", labels=["version"])
        build.add_metric([VERSION], 1)
        yield build


def _count(state: State, now: int) -> Count[tuple[Lane, str]]:
    """By lane how many entities of each type wait, and how many `pods` in them."""
    found: Count[tuple[Lane, str]] = Count()
    for entity in state.queue.entities.values():
        lane = state.queue.lane(entity, now)
        found[lane, "pod" if entity.is_pod else "podgroup"] += 1
        found[lane, "pods"] += 1 if entity.is_pod else len(state.waiting_as(entity.name).pending)
    return found


def _of_pod(attempt: GroupAttempted) -> bool:
    return attempt.entity.startswith("Pod/")


def _profile(state: State) -> str:
    return state.config.scheduler_names[0]


def _attempts(name: str, of: str, registry: CollectorRegistry) -> Counter:
    return Counter(f"scheduler_{name}", f"Attempts to schedule {of}, by result", _LABELS, registry=registry)


def _durations(name: str, of: str, registry: CollectorRegistry) -> Histogram:
    text = f"Seconds from the decision about {of} to its being on disk, by result"
    return Histogram(f"scheduler_{name}_duration_seconds", text, _LABELS, registry=registry, buckets=_BUCKETS)
