"""NodeResourcesFit as a score: how empty, how full, or how well filled a node is."""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from domain.profile import (
    CPU_AND_MEMORY,
    LEAST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    CurvePoint,
    Profile,
)
from domain.resources import CPU, MEMORY
from domain.room import Load, LoadAt
from domain.roster import Whole

_SCALE = 10
"""Points of the curve are scores from 0 to 10, scores of nodes are from 0 to 100."""


def node_resources_fit(load: Load, profile: Profile) -> Whole:
    """The scores by the strategy of `profile` once the Pod is there, shape (n,).

    A resource that a node has none of is left out. Source: kube-scheduler 1.37, LeastAllocated,
    MostAllocated and RequestedToCapacityRatio.
    """
    if is_plain(profile):
        return _least_allocated(load)
    by_ratio = profile.strategy == REQUESTED_TO_CAPACITY_RATIO
    total, weights = np.zeros(load.scored.shape, dtype=np.int64)
    cpu, memory = zip(load.allocatable, load.scored, strict=True)
    amounts = {CPU: cpu, MEMORY: memory, **load.others}
    for resource in profile.resources:
        if resource.name in amounts:
            allocatable, asked = amounts[resource.name]
            points = _points(allocatable, asked, profile)
            counts = (allocatable > 0) & (points > 0) if by_ratio else allocatable > 0
            total += np.where(counts, points * resource.weight, 0)
            weights += np.where(counts, resource.weight, 0)
    half = weights // 2 if by_ratio else 0  # the mean of ratios is rounded, the others are cut off
    mean: Whole = (total + half) // np.maximum(weights, 1)
    return mean


def is_plain(profile: Profile) -> bool:
    """Whether nodes are compared by what is left of cpu and memory, as in the default profile."""
    return profile.strategy == LEAST_ALLOCATED and profile.resources == CPU_AND_MEMORY


def least_allocated_at(load: LoadAt) -> int:
    """`node_resources_fit` of one node by a plain profile."""
    cpu = max(load.cpu - load.scored_cpu, 0) * 100 // max(load.cpu, 1)
    memory = max(load.memory - load.scored_memory, 0) * 100 // max(load.memory, 1)
    return (cpu + memory) >> (load.cpu > 0 and load.memory > 0)


def _least_allocated(load: Load) -> Whole:
    """The mean share of cpu and memory that is left, in percent: what most profiles have."""
    cpu, memory = _percent_left(load.allocatable, load.scored, load.divisor)
    # The share of a resource that a node has none of is 0, so that the sum is the other one's.
    mean: Whole = (cpu + memory) >> load.both
    return mean


def _points(allocatable: Whole, asked: Whole, profile: Profile) -> NDArray[np.int64]:
    """The score of one resource; of no meaning where there is none of it."""
    if profile.strategy == LEAST_ALLOCATED:
        return _percent_left(allocatable, asked, np.maximum(allocatable, 1)).astype(np.int64)
    percent = np.minimum(asked, allocatable) * 100 // np.maximum(allocatable, 1)
    utilization: NDArray[np.int64] = percent.astype(np.int64)
    if profile.strategy == REQUESTED_TO_CAPACITY_RATIO:
        return _curve(profile.curve).take(utilization)
    return utilization


def _percent_left(allocatable: Whole, asked: Whole, divisor: Whole) -> Whole:
    left: Whole = np.maximum(allocatable - asked, 0)
    return left * 100 // divisor


@lru_cache(maxsize=64)
def _curve(points: tuple[CurvePoint, ...]) -> NDArray[np.int64]:
    """The scores for 0 to 100 percent: level before the first point and after the last."""
    scores = np.full(101, points[-1].score * _SCALE, dtype=np.int64)
    scores[: points[0].utilization + 1] = points[0].score * _SCALE
    for left, right in pairwise(points):
        rise, width = (right.score - left.score) * _SCALE, right.utilization - left.utilization
        for step in range(1, width + 1):
            cut_toward_zero = abs(rise) * step // width
            scores[left.utilization + step] = left.score * _SCALE + (
                cut_toward_zero if rise > 0 else -cut_toward_zero
            )
    return scores
