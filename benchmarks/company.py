"""P13: placing a thousand Pods whose rules about each other make every placement change other nodes."""

import random
from typing import Any

from benchmarks.harness import Row, median_ratio
from benchmarks.placement import BOUND, NODES, PODS, shape
from domain.node_facts import NodeFacts
from domain.nodes import NodeTable
from domain.peers import Peer
from domain.scheduling.place import place
from domain.shapes import PodShape, shape_of

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
ZONES = 10
LABELS = {"app": "train"}
PLAIN_PODS = 100
"""So many Pods stand for all of them where each is placed on its own; the rest would cost the same."""


def crowded_nodes(seed: int = 1) -> NodeTable:
    """Nodes of nine sizes in ten zones, with ten Pods of three kinds each on average."""
    draw = random.Random(seed)
    table = NodeTable()
    names = [f"node-{number:05}" for number in range(NODES)]
    for number, name in enumerate(names):
        cpu, memory = draw.choice((16, 32, 64)), draw.choice((64, 128, 256))
        table.put(
            NodeFacts(
                name=name,
                labels={HOST: name, ZONE: f"zone-{number % ZONES}"},
                allocatable={"cpu": cpu * 1000, "memory": memory * 2**30, "pods": 110},
            )
        )
    shapes = [shape(cpu, memory) for cpu in (100, 500, 1000) for memory in (200, 1000, 3000)]
    peers = [Peer(namespace="default", labels=(("app", app),)) for app in ("web", "db", "cache")]
    for _ in range(BOUND * NODES):
        table.take(draw.choice(names), draw.choice(shapes), draw.choice(peers))
    return table


def wanted_pod() -> PodShape:
    """One Pod a host, and no zone with more than one above the others."""
    rule = {"labelSelector": {"matchLabels": LABELS}}
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [{**rule, "topologyKey": HOST}]}
    evenly = {**rule, "topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}],
        "affinity": {"podAntiAffinity": apart},
        "topologySpreadConstraints": [evenly],
    }
    return shape_of(spec, "default", LABELS)


def measure() -> list[Row]:
    """The rows of this module."""
    table = crowded_nodes()
    wanted = wanted_pod()

    def ours() -> list[int]:
        return place(table.for_cycle(), wanted, PODS)

    def pod_by_pod() -> list[int]:
        placed = []
        for _ in range(PLAIN_PODS):
            room = table.for_cycle()
            (row,) = place(room, wanted, 1)
            table.take(room.names[row], wanted, wanted.peer)
            placed.append(row)
        for row in placed:
            table.give_back(room.names[row], wanted, wanted.peer)
        return placed

    assert ours()[:PLAIN_PODS] == pod_by_pod(), "stepping places otherwise than the plain loop"
    faster = median_ratio(ours, pod_by_pod) * PODS / PLAIN_PODS
    return [
        Row(
            id="P13",
            what=f"place {PODS:,} Pods, one a host, evenly over {ZONES} zones of {NODES:,} nodes",
            reference="numpy, all nodes recomputed for each Pod",
            ratio=faster,
            target="≥ 15×",
            met=faster >= 15,
        )
    ]
