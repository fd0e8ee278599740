"""How good each feasible node is for one more Pod of a shape."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domain.profile import Weights
from domain.room import Room
from domain.roster import Rows
from domain.scheduling.company import Company, company
from domain.scheduling.eligibility import Eligibility, eligibility
from domain.scheduling.scores.balanced_allocation import balanced_allocation, balanced_allocation_at
from domain.scheduling.scores.inter_pod_affinity import inter_pod_affinity
from domain.scheduling.scores.node_affinity import node_affinity
from domain.scheduling.scores.node_resources_fit import is_plain, least_allocated_at, node_resources_fit
from domain.scheduling.scores.pod_topology_spread import pod_topology_spread
from domain.scheduling.scores.taint_toleration import taint_toleration
from domain.shapes import PodShape

Points = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of n feasible nodes, 0 to 100 for each plugin, and their weighted total.

    `rows` are the nodes, rising; every other array is of shape (n,) and in their order.
    """

    rows: Rows
    node_resources_fit: Points
    balanced_allocation: Points
    taint_toleration: Points
    node_affinity: Points
    pod_topology_spread: Points
    inter_pod_affinity: Points
    image_locality: Points
    total: Points


def score(room: Room, shape: PodShape, rows: Rows) -> Scores:
    """Score `rows`, which must be all feasible nodes: some plugins weigh them against each other."""
    eligible, weights = eligibility(room, shape), room.profile.weights
    load = room.load(shape, rows)
    spread = affinity = np.zeros(len(rows), dtype=np.int64)
    total = by_resources(room, shape, rows) + by_facts(eligible, rows, weights)
    if (around := company(room, shape)) is not None:
        spread, affinity = pod_topology_spread(around, rows), inter_pod_affinity(around, rows)
        total += by_company(around, rows, weights)
    return Scores(
        rows=rows,
        node_resources_fit=node_resources_fit(load, room.profile).astype(np.int64),
        balanced_allocation=balanced_allocation(load, room.ask(shape)).astype(np.int64),
        taint_toleration=taint_toleration(eligible.dislikes[rows]),
        node_affinity=node_affinity(eligible.likes[rows]),
        pod_topology_spread=spread,
        inter_pod_affinity=affinity,
        image_locality=eligible.images[rows],
        total=total,
    )


def by_resources(
    room: Room, shape: PodShape, rows: Rows | slice = slice(None), placed: Points | int = 0
) -> Points:
    """The part of the total that depends on what is in use, for one more Pod on each of `rows` after
    `placed` more."""
    load, weights = room.load(shape, rows, placed), room.profile.weights
    points = node_resources_fit(load, room.profile) * weights.node_resources_fit
    points = points + balanced_allocation(load, room.ask(shape)) * weights.balanced_allocation
    return points.astype(np.int64, copy=False)


def by_resources_at(room: Room, shape: PodShape, row: int) -> int:
    """`by_resources` of one node, for which Python's integers cost a tenth of what arrays do."""
    weights = room.profile.weights
    if not is_plain(room.profile):
        return int(by_resources(room, shape, np.array([row]))[0])
    load = room.load_at(shape, row)
    points = least_allocated_at(load) * weights.node_resources_fit
    return points + balanced_allocation_at(load) * weights.balanced_allocation


def by_facts(eligible: Eligibility, rows: Rows, weights: Weights) -> Points:
    """The part of the total that stays as long as the same nodes are feasible, for `rows`."""
    if eligible.indifferent:
        return np.full(len(rows), 100 * weights.taint_toleration, dtype=np.int64)
    points = taint_toleration(eligible.dislikes[rows]) * weights.taint_toleration
    points += node_affinity(eligible.likes[rows]) * weights.node_affinity
    points += eligible.images[rows] * weights.image_locality
    return points


def by_company(around: Company, rows: Rows, weights: Weights) -> Points:
    """The part of the total that depends on the Pods near, for all feasible nodes `rows`."""
    points = np.zeros(len(rows), dtype=np.int64)
    if around.soft:
        points += pod_topology_spread(around, rows) * weights.pod_topology_spread
    if around.liking:
        points += inter_pod_affinity(around, rows) * weights.inter_pod_affinity
    return points
