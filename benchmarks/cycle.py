"""P16 and P19: a whole cycle, from State to a durable batch."""

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.harness import Row, median_ratio
from domain.scheduling.cycle import decide
from domain.upcast import draft
from store.engine import Store, open_store
from store.log import EventLog
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker

NODES = 5_000
PODS = 1_000
WAITING = 20
CYCLES = 20
START = 1_767_225_600_000_000

Manifest = dict[str, Any]


def measure() -> list[Row]:
    """The rows of this module."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "book.db"), create=True)
        rows = [_large_gang(store), _beside_many(store)]
        store.close()
    return rows


def _large_gang(store: Store) -> Row:
    """P16: a gang of a thousand."""
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
    what = f"decide for {PODS:,} Pods on {NODES:,} nodes, encode, chain, durable commit"
    return Row("P16", what, "the append alone", times, "≤ 2.5×", times <= 2.5)


def _beside_many(store: Store) -> Row:
    """P19: what others that wait cost those that do not."""
    names = count()

    def cycles_beside(waiting: int) -> Callable[[], None]:
        cluster = _rested(store, waiting)
        worker = Worker(cluster)

        def cycles() -> None:
            for _ in range(CYCLES):
                cluster.apply(_gang(f"next-{next(names):05}", 2, cpu="100m"))
                assert worker.step()

        return cycles

    times = 1 / median_ratio(cycles_beside(100 * WAITING), cycles_beside(WAITING), runs=9)
    what = f"a gang of 2 comes and is bound, beside {100 * WAITING:,} waiting, unaffected groups"
    return Row("P19", what, f"the same beside {WAITING}", times, "≤ 1.5×", times <= 1.5)


def _rested(store: Store, waiting: int) -> Cluster:
    """A cluster in which so many gangs have been refused, since they want more than any node has."""
    cluster = Cluster.open(store, f"beside-{waiting}", clock=VirtualClock(START))
    cluster.apply(_nodes())
    cluster.apply([each for number in range(waiting) for each in _gang(f"idle-{number:05}", 1, cpu="9")])
    worker = Worker(cluster)
    while worker.step():
        pass
    assert len(cluster.state.queue.entities) == waiting
    return cluster


def _waiting_gang(store: Store) -> Cluster:
    cluster = Cluster.open(store, "gang", clock=VirtualClock(START))
    cluster.apply(_nodes())
    cluster.apply(_gang("gang", PODS, cpu="100m"))
    return cluster


def _nodes() -> list[Manifest]:
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{number:04}"},
            "status": {"allocatable": allocatable},
        }
        for number in range(NODES)
    ]


def _gang(name: str, size: int, *, cpu: str) -> list[Manifest]:
    resources = {"requests": {"cpu": cpu, "memory": "500Mi"}}
    group: Manifest = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": size}}},
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number:04}"},
            "spec": {
                "schedulingGroup": {"podGroupName": name},
                "containers": [{"name": "main", "image": "app", "resources": resources}],
            },
        }
        for number in range(size)
    ]
    return [group, *pods]
