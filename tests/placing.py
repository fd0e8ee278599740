"""Placement as the plain loop and by the plain reference, and the checks of filters and scores against it."""

import numpy as np

from clusters import Cluster
from domain.room import Room
from domain.scheduling.evaluate import evaluate, feasible, fits
from domain.scheduling.score import score
from domain.shapes import PodShape
from reference import filters as reference
from reference import neighbours
from reference import scores as reference_scores
from reference.filters import Host
from reference.trials import refuse_among


def place_plainly(room: Room, shape: PodShape, count: int) -> list[int]:
    """One pod after the other: filter, score all feasible nodes, take the first of the best."""
    placed: list[int] = []
    while len(placed) < count:
        rows = np.flatnonzero(evaluate(room, shape).feasible)
        if not len(rows):
            break
        row = int(rows[np.argmax(score(room, shape, rows).total)])
        room.assume(row, shape)
        placed.append(row)
    return placed


def place_by_the_rules(cluster: Cluster, count: int) -> list[str]:
    """The same from manifests, one node and one pod at a time, with fractions."""
    hosts = hosts_of(cluster)
    placed: list[str] = []
    while len(placed) < count:
        candidates = open_hosts(cluster, hosts)
        if not candidates:
            break
        points = reference_scores.totals(cluster.pod, candidates, hosts)
        best = candidates[points.index(max(points))]
        best.pods.append(cluster.pod)
        placed.append(best.name)
    return placed


def hosts_of(cluster: Cluster) -> list[Host]:
    return [
        Host(
            one,
            [other for name, other in cluster.bound if name == one["metadata"]["name"]],
            cluster.namespaces,
        )
        for one in sorted(cluster.nodes, key=lambda one: str(one["metadata"]["name"]))
    ]


def open_hosts(cluster: Cluster, hosts: list[Host]) -> list[Host]:
    pinned = reference.pinned_nodes(cluster.pod)
    looked_at = [host for host in hosts if pinned is None or host.name in pinned]
    return [host for host in looked_at if refuse_among(cluster.pod, host, hosts) is None]


def check_filters(cluster: Cluster) -> None:
    """Each node is refused as by the rules, one by one."""
    room, shape = cluster.table().for_cycle(), cluster.shape
    evaluation = evaluate(room, shape)
    assert np.array_equal(feasible(room, shape), evaluation.feasible)
    pinned = reference.pinned_nodes(cluster.pod)
    assert evaluation.prefilter == (reference.CONFLICT if pinned == set() else None)
    if evaluation.prefilter:
        assert evaluation.unresolvable.all()
        assert not evaluation.feasible.any()
        return
    hosts = hosts_of(cluster)
    for row, host in enumerate(hosts):
        refusal = refuse_among(cluster.pod, host, hosts)
        if pinned is not None and host.name not in pinned:
            refusal = reference.Refusal((reference.OTHER_NODE,), hopeless=True)
        reasons = [
            reason
            for verdict in evaluation.verdicts
            for reason, nodes in verdict.reasons.items()
            if nodes[row]
        ]
        assert set(reasons) == set(refusal.reasons if refusal else ())
        assert evaluation.unresolvable[row] == (refusal is not None and refusal.hopeless)
        assert evaluation.feasible[row] == (refusal is None) == fits(room, shape, row)


def check_scores(cluster: Cluster) -> None:
    hosts = hosts_of(cluster)
    candidates = open_hosts(cluster, hosts)
    if not candidates:
        return
    room, shape = cluster.table().for_cycle(), cluster.shape
    scores = score(room, shape, np.flatnonzero(feasible(room, shape)))
    assert scores.node_resources_fit.tolist() == reference_scores.least_allocated(cluster.pod, candidates)
    assert scores.balanced_allocation.tolist() == reference_scores.balanced_allocation(
        cluster.pod, candidates
    )
    assert scores.taint_toleration.tolist() == reference_scores.taint_toleration(cluster.pod, candidates)
    assert scores.node_affinity.tolist() == reference_scores.node_affinity(cluster.pod, candidates)
    assert scores.pod_topology_spread.tolist() == neighbours.score_topology_spread(
        cluster.pod, candidates, hosts
    )
    assert scores.inter_pod_affinity.tolist() == neighbours.score_inter_pod_affinity(
        cluster.pod, candidates, hosts
    )
    assert scores.image_locality.tolist() == reference_scores.image_locality(cluster.pod, candidates, hosts)
    assert scores.total.tolist() == reference_scores.totals(cluster.pod, candidates, hosts)
