"""P10 and P11: placing a thousand identical Pods on five thousand nodes in use."""

import random

from benchmarks.harness import Row, median_ratio
from domain.node_facts import NodeFacts
from domain.nodes import NodeTable
from domain.scheduling.place import place
from domain.shapes import PodShape, shape_of

NODES = 5_000
BOUND = 50_000
PODS = 1_000


def shape(cpu: int, memory: int) -> PodShape:
    """A Pod of one container with `cpu` millicores and `memory` MiB."""
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    return shape_of({"containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}]})


def used_nodes(seed: int = 1) -> NodeTable:
    """Nodes of nine sizes with ten Pods each on average."""
    draw = random.Random(seed)
    table = NodeTable()
    names = [f"node-{number:05}" for number in range(NODES)]
    for name in names:
        cpu, memory = draw.choice((16, 32, 64)), draw.choice((64, 128, 256))
        table.put(
            NodeFacts(
                name=name,
                labels={"kubernetes.io/hostname": name},
                allocatable={"cpu": cpu * 1000, "memory": memory * 2**30, "pods": 110},
            )
        )
    shapes = [shape(cpu, memory) for cpu in (100, 500, 1000) for memory in (200, 1000, 3000)]
    for _ in range(BOUND):
        table.take(draw.choice(names), draw.choice(shapes))
    return table


def measure() -> list[Row]:
    """The rows of this module."""
    table = used_nodes()
    wanted = shape(500, 1024)

    def ours() -> list[int]:
        return place(table.for_cycle(), wanted, PODS)

    def pod_by_pod() -> list[int]:
        room = table.for_cycle()
        return [row for _ in range(PODS) for row in place(room, wanted, 1)]

    def one_pass() -> list[int]:
        return place(table.for_cycle(), wanted, 1)

    assert ours() == pod_by_pod(), "the fast path places otherwise than the plain loop"
    faster = median_ratio(ours, pod_by_pod)
    passes = 1 / median_ratio(ours, one_pass, runs=51)
    return [
        Row(
            id="P10",
            what=f"place {PODS:,} identical Pods on {NODES:,} used nodes",
            reference="numpy, all nodes recomputed for each Pod",
            ratio=faster,
            target="≥ 45×",
            met=faster >= 45,
        ),
        Row(
            id="P11",
            what="the same, time",
            reference="one filter-and-score pass over all nodes",
            ratio=passes,
            target="≤ 30 passes",
            met=passes <= 30,
        ),
    ]
