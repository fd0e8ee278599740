"""P10, P11, P12 and P14: placing a thousand Pods on five thousand nodes in use, or a hundred thousand."""

import random

import numpy as np

from benchmarks.harness import Row, median_ratio
from domain.node_facts import NodeFacts
from domain.nodes import NodeTable
from domain.room import Room
from domain.scheduling.eligibility import eligibility
from domain.scheduling.evaluate import feasible
from domain.scheduling.place import place
from domain.scheduling.score import by_facts, by_resources
from domain.shapes import PodShape, shape_of

NODES = 5_000
MANY_NODES = 100_000
BOUND = 10
"""How many Pods are on a node already, on average."""
BLOCK = 8_192
"""So many nodes at a time, and what is computed stays in the cache."""
PODS = 1_000
SHAPES = 50


def shape(cpu: int, memory: int) -> PodShape:
    """A Pod of one container with `cpu` millicores and `memory` MiB."""
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    return shape_of({"containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}]})


def used_nodes(seed: int = 1, count: int = NODES) -> NodeTable:
    """Nodes of nine sizes with ten Pods each on average."""
    draw = random.Random(seed)
    table = NodeTable()
    names = [f"node-{number:05}" for number in range(count)]
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
    for _ in range(BOUND * count):
        table.take(draw.choice(names), draw.choice(shapes))
    return table


def recomputed(room: Room, wanted: PodShape) -> int:
    """The row of one more Pod, placed after one pass over all nodes."""
    rows = np.flatnonzero(feasible(room, wanted))
    points = by_facts(eligibility(room, wanted), rows, room.profile.weights)
    points += by_resources(room, wanted, rows)
    row = int(rows[np.argmax(points)])
    room.assume(row, wanted)
    return row


def measure() -> list[Row]:
    """The rows of this module."""
    table = used_nodes()
    return [*_identical(table), _on_many_nodes(), _in_turn(table)]


def _on_many_nodes() -> Row:
    """P12: a hundred thousand nodes."""
    room, wanted = used_nodes(count=MANY_NODES).for_cycle(), shape(500, 1024)
    eligible = eligibility(room, wanted).allowed

    def ours() -> list[int]:
        rows = place(room, wanted, PODS)
        for row in rows:
            room.forget(row, wanted)
        return rows

    def one_pass() -> int:
        best = row = -1
        for start in range(0, len(room), BLOCK):
            block = slice(start, start + BLOCK)
            points = by_resources(room, wanted, block)
            fits = eligible[block] & (room.capacity(wanted, block, limit=1) > 0)
            first = int(np.argmax(np.where(fits, points, -1)))
            if points[first] > best:
                best, row = int(points[first]), start + first
        return row

    assert ours()[0] == one_pass()
    passes = 1 / median_ratio(ours, one_pass, runs=21)
    return Row(
        id="P12",
        what=f"place {PODS:,} identical Pods on {MANY_NODES:,} used nodes",
        reference=f"one filter-and-score pass in blocks of {BLOCK:,}",
        ratio=passes,
        target="≤ 4 passes",
        met=passes <= 4,
    )


def _in_turn(table: NodeTable) -> Row:
    """P14: fifty shapes take turns."""
    shapes = [shape(100 + 10 * number, 200 + 20 * number) for number in range(SHAPES)]
    turns = [shapes[number % SHAPES] for number in range(PODS)]

    def ours() -> list[int]:
        room = table.for_cycle()
        return [row for wanted in turns for row in place(room, wanted, 1)]

    def pod_by_pod() -> list[int]:
        room = table.for_cycle()
        return [recomputed(room, wanted) for wanted in turns]

    assert ours() == pod_by_pod(), "taking turns places otherwise than the plain loop"
    faster = median_ratio(ours, pod_by_pod)
    return Row(
        id="P14",
        what=f"place {PODS:,} Pods of {SHAPES} shapes in turn on {NODES:,} used nodes",
        reference="numpy, all nodes recomputed for each Pod",
        ratio=faster,
        target="≥ 2×",
        met=faster >= 2,
    )


def _identical(table: NodeTable) -> list[Row]:
    """P10 and P11: all are of one shape."""
    wanted = shape(500, 1024)

    def ours() -> list[int]:
        return place(table.for_cycle(), wanted, PODS)

    def pod_by_pod() -> list[int]:
        room = table.for_cycle()
        return [recomputed(room, wanted) for _ in range(PODS)]

    def one_pass() -> int:
        return recomputed(table.for_cycle(), wanted)

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
