"""P16: a whole cycle for a gang of a thousand, from State to a durable batch."""

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

from benchmarks.harness import Row, median_ratio
from domain.scheduling.cycle import decide
from domain.upcast import draft
from store.engine import Store, open_store
from store.log import EventLog
from worker.clocks import VirtualClock
from worker.cluster import Cluster

NODES = 5_000
PODS = 1_000


def measure() -> list[Row]:
    """The rows of this module."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "book.db"), create=True)
        cluster = _waiting_gang(store)
        decision = decide(cluster.state, cluster.clock.now())
        assert decision is not None
        assert len(decision.payloads) == PODS + 1
        drafts = [draft(payload, actor="scheduler") for payload in decision.payloads]
        streams = count()

        def append_alone() -> None:
            next_log().append(drafts, at=0)

        def whole_cycle() -> None:
            again = decide(cluster.state, cluster.clock.now())
            assert again is not None
            next_log().append([draft(payload, actor="scheduler") for payload in again.payloads], at=0)

        next_log: Callable[[], EventLog] = lambda: EventLog(store, f"bench-{next(streams)}")  # noqa: E731
        times = 1 / median_ratio(whole_cycle, append_alone, runs=15)
        store.close()
    what = f"decide for {PODS:,} Pods on {NODES:,} nodes, encode, chain, durable commit"
    return [Row("P16", what, "the append alone", times, "≤ 2.5×", times <= 2.5)]


def _waiting_gang(store: Store) -> Cluster:
    cluster = Cluster.open(store, "gang", clock=VirtualClock(1_767_225_600_000_000))
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    cluster.apply(
        [
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"node-{number:04}"},
                "status": {"allocatable": allocatable},
            }
            for number in range(NODES)
        ]
    )
    resources = {"requests": {"cpu": "100m", "memory": "500Mi"}}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"gang-{number:04}"},
            "spec": {
                "schedulingGroup": {"podGroupName": "gang"},
                "containers": [{"name": "main", "image": "app", "resources": resources}],
            },
        }
        for number in range(PODS)
    ]
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": PODS}}},
    }
    cluster.apply([group, *pods])
    return cluster
