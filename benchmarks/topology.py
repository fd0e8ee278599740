"""P15, P23 and P26: gangs that need one rack for themselves, all racks evaluated, and trees of groups."""

import heapq
import random
import statistics
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.harness import Row, median_ratio
from benchmarks.kube import NODES, Manifest, gang, nodes, seconds_to_bind_all
from benchmarks.placement import shape
from domain.node_facts import NodeFacts
from domain.nodes import NodeTable
from domain.scheduling.branch import Branch
from domain.scheduling.tree import run_tree
from ganger_testing.manifests import group, pod
from ganger_testing.story import Story
from store.engine import Store, open_store
from worker.clocks import SystemClock
from worker.cluster import Cluster
from worker.loop import Worker

RACK: Final = "topology.kubernetes.io/rack"
RACKS: Final = 200
IN_RACK: Final = 25
PODS: Final = 64
CPU, MEMORY = 4000, 8 * 2**30
"""What each Pod of the gang asks for."""

GANGS: Final = 300
SMALL: Final = 4
IN_LARGE_RACK: Final = 50
RUNS: Final = 5

TREES: Final = 1_500
CHILDREN: Final = ("a", "b")
IN_CHILD: Final = 3

_Host = tuple[str, int, int, int, int]
"""Name, allocatable cpu and memory, and what is used of them."""


def measure() -> list[Row]:
    """The rows of this module."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "book.db"), create=True)
        rows = [_one_gang(), _many_gangs(store), *_many_trees(store)]
        store.close()
    return rows


def _one_gang() -> Row:
    """P15: a gang of 64 among 200 racks in use."""
    table, racks = _used_racks()
    wanted = _wanted()

    def ours() -> list[str]:
        return [placed.node for placed in run_tree(wanted, table.for_cycle()).placed]

    def heap_per_rack() -> list[str]:
        return _best_rack(racks)

    assert ours() == heap_per_rack(), "the survey chooses otherwise than the plain way"
    faster = median_ratio(ours, heap_per_rack, runs=21)
    return Row(
        "P15",
        f"gang of {PODS} in one of {RACKS} racks of {IN_RACK}, all evaluated",
        "Python heap per rack, pruned by capacity",
        faster,
        "≥ 3.5×",
        faster >= 3.5,
    )


def _wanted() -> Branch:
    """The gang with its members, all of one shape."""
    one_rack = {"topology": [{"key": RACK}]}
    amounts = {"cpu": CPU, "memory": f"{MEMORY // 2**20}Mi"}
    pods = [pod(f"gang-{number:02}", group="gang", **amounts) for number in range(PODS)]
    state = Story(group("gang", PODS, schedulingConstraints=one_rack), *pods).state
    members = tuple((each, each.spec.shape) for each in state.pods.values())
    return Branch(state.groups["default/gang"], members=members)


def _used_racks(seed: int = 1) -> tuple[NodeTable, dict[str, list[_Host]]]:
    """Racks of which each is in use by a different part, and the same as plain numbers."""
    draw = random.Random(seed)
    table, racks = NodeTable(), dict[str, list[_Host]]()
    small = shape(1000, 2048)
    for number in range(RACKS):
        rack, busy = f"rack-{number:03}", draw.random()
        for place in range(IN_RACK):
            name = f"node-{number:03}-{place:02}"
            cpu, memory = draw.choice((16, 32)) * 1000, 64 * 2**30
            allocatable = {"cpu": cpu, "memory": memory, "pods": 110}
            table.put(NodeFacts(name=name, labels={RACK: rack}, allocatable=allocatable))
            pods = sum(draw.random() < busy for _ in range(16))
            for _ in range(pods):
                table.take(name, small)
            racks.setdefault(rack, []).append((name, cpu, memory, pods * 1000, pods * 2 * 2**30))
    return table, racks


def _best_rack(racks: dict[str, list[_Host]]) -> list[str]:
    """Where the gang goes if every rack that can have it is filled by a heap of scores."""
    best: tuple[int, list[str]] = (-1, [])
    for _, hosts in sorted(racks.items()):
        places = sum(min((c - uc) // CPU, (m - um) // MEMORY) for _, c, m, uc, um in hosts)
        if places < PODS:
            continue
        cpu, memory = sum(host[1] for host in hosts), sum(host[2] for host in hosts)
        used_cpu = sum(host[3] for host in hosts) + PODS * CPU
        used_memory = sum(host[4] for host in hosts) + PODS * MEMORY
        full = (used_cpu * 100 // cpu + used_memory * 100 // memory) // 2
        placed = _fill(hosts)
        if full > best[0]:
            best = (full, placed)
    return best[1]


def _fill(hosts: list[_Host]) -> list[str]:
    heap = [(-_score(host), host) for host in hosts if _fits(host)]
    heapq.heapify(heap)
    placed = []
    while len(placed) < PODS:
        _, (name, cpu, memory, used_cpu, used_memory) = heap[0]
        placed.append(name)
        host = (name, cpu, memory, used_cpu + CPU, used_memory + MEMORY)
        if _fits(host):
            heapq.heapreplace(heap, (-_score(host), host))
        else:
            heapq.heappop(heap)
    return placed


def _fits(host: _Host) -> bool:
    _, cpu, memory, used_cpu, used_memory = host
    return used_cpu + CPU <= cpu and used_memory + MEMORY <= memory


def _score(host: _Host) -> int:
    """LeastAllocated and NodeResourcesBalancedAllocation for one more Pod."""
    _, cpu, memory, used_cpu, used_memory = host
    after_cpu, after_memory = used_cpu + CPU, used_memory + MEMORY
    least = ((cpu - after_cpu) * 100 // cpu + (memory - after_memory) * 100 // memory) // 2
    before = _imbalance(cpu, memory, used_cpu, used_memory)
    return least + 50 + (50 + before - _imbalance(cpu, memory, after_cpu, after_memory)) // 2


def _imbalance(cpu: int, memory: int, used_cpu: int, used_memory: int) -> int:
    return -(-50 * abs(used_cpu * memory - used_memory * cpu) // (cpu * memory))


_streams = count()


def _many_gangs(store: Store) -> Row:
    """P23: gangs of four, each in one of a hundred racks of fifty; durable commits included."""
    taken = statistics.median(seconds_to_bind_all(_waiting_gangs(store)) for _ in range(RUNS))
    pods = GANGS * SMALL / taken
    what = f"{GANGS} gangs of {SMALL}, each in one rack of {IN_LARGE_RACK}, all racks evaluated"
    return Row("P23", what, "110", pods, "≥ 2,000", pods >= 2_000, " Pods/s")


def _waiting_gangs(store: Store) -> Cluster:
    cluster = Cluster.open(store, f"racks-{next(_streams)}", clock=SystemClock())
    hosts = nodes()
    for number, host in enumerate(hosts):
        host["metadata"]["labels"][RACK] = f"rack-{number // IN_LARGE_RACK:03}"
    cluster.apply(hosts)
    Worker(cluster).step()  # as a server's worker does when nodes have come
    made: list[Manifest] = []
    for number in range(GANGS):
        group, *pods = gang(f"gang-{number:03}", SMALL)
        group["spec"]["schedulingConstraints"] = {"topology": [{"key": RACK}]}
        made += [group, *pods]
    cluster.apply(made)
    return cluster


def _many_trees(store: Store) -> list[Row]:
    """P26: composites of two gangs of three, which all wait before the first is tried."""
    took = [each for _ in range(RUNS) for each in _seconds_by_attempt(_waiting_trees(store))]
    mean, slow = 1_000 * statistics.mean(took), 1_000 * statistics.quantiles(took, n=100)[-1]
    what = f"{TREES:,} trees of {len(CHILDREN) * IN_CHILD} Pods on {NODES:,} nodes: mean attempt, durable"
    return [
        Row("P26", what, "-", mean, "-", True, " ms"),
        Row("P26", "the same: 99th percentile", "-", slow, "-", True, " ms"),
    ]


def _seconds_by_attempt(cluster: Cluster) -> list[float]:
    """What each attempt took: a step commits a run of them, which share its time evenly.

    Steps in which nodes start Pods are left out.
    """
    took: list[float] = []
    attempts: list[float] = []
    worker = Worker(cluster, timed=lambda attempt, seconds: attempts.append(seconds))
    while cluster.state.queue.entities:
        start = time.perf_counter()
        worker.step()
        seconds = time.perf_counter() - start
        if attempts:
            took += [seconds / len(attempts)] * len(attempts)
            attempts.clear()
    return took


def _waiting_trees(store: Store) -> Cluster:
    cluster = Cluster.open(store, f"trees-{next(_streams)}", clock=SystemClock())
    cluster.apply(nodes())
    Worker(cluster).step()
    cluster.apply([manifest for number in range(TREES) for manifest in _tree(f"tree-{number:04}")])
    return cluster


def _tree(name: str) -> list[Manifest]:
    """A composite all of whose gangs have to start, as manifests."""
    root: Manifest = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name},
        "spec": {
            "workloadRef": {"workloadName": "job", "templateName": "root"},
            "schedulingPolicy": {"gang": {"minGroupCount": len(CHILDREN)}},
        },
    }
    made = [root]
    for child in CHILDREN:
        group, *pods = gang(f"{name}-{child}", IN_CHILD)
        above = {"workloadName": "job", "templateName": "leaf"}
        group["spec"].update(parentCompositePodGroupName=name, workloadRef=above)
        made += [group, *pods]
    return made
