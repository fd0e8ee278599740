"""NodeResourcesBalancedAllocation: a node is the better, the more evenly cpu and memory are used."""

import numpy as np

from domain.room import Ask, Load, LoadAt
from domain.roster import Whole


def balanced_allocation(load: Load, ask: Ask) -> Whole:
    """How much nearer to each other the Pod brings the utilisations of cpu and memory, shape (n,).

    75 where they stay as far apart as they are, between 50 and 100; 0 for Pods that request neither.
    Utilisation is capped at 1. Whole numbers throughout, where Kubernetes has floating point.
    Source: kube-scheduler 1.37, NodeResourcesBalancedAllocation.
    """
    if not ask.requested.any():
        return np.zeros(load.both.shape, dtype=np.int64)
    before, after = _imbalance(load)
    score: Whole = 50 + ((50 + before - after) >> 1)
    return score


def balanced_allocation_at(load: LoadAt) -> int:
    """The same of one node."""
    if not (load.requested_cpu or load.requested_memory):
        return 0
    before = _imbalance_at(load, load.used_cpu, load.used_memory)
    after = _imbalance_at(load, load.used_cpu + load.requested_cpu, load.used_memory + load.requested_memory)
    return 50 + ((50 + before - after) >> 1)


def _imbalance_at(load: LoadAt, used_cpu: int, used_memory: int) -> int:
    cpu, memory = load.cpu, load.memory
    gap = abs(min(used_cpu, cpu) * memory - min(used_memory, memory) * cpu)
    return -(gap * -50 // max(cpu * memory, 1))


def _imbalance(load: Load) -> Whole:
    """50 × |used cpu / cpu − used memory / memory|, rounded up, before and after, shape (2, n); 0 where a
    node lacks one of them."""
    if load.balance is None:
        return _imbalance_of_any_size(load)
    gap = _gap(load.allocatable, load.used)
    product, factor = load.balance
    rounded_down = (gap * factor).astype(np.int64)  # or one off, where the quotient is nearly whole
    # The remainder is exact although its terms may wrap around: it is less than 2 products from 0.
    remainder = gap * 50 - rounded_down * product
    imbalance: Whole = rounded_down + (remainder > 0) + (remainder > product)
    return imbalance


def _imbalance_of_any_size(load: Load) -> Whole:
    allocatable = load.allocatable.astype(np.object_)
    gap = _gap(allocatable, load.used.astype(np.object_))
    return np.array(-(gap * -50 // np.maximum(allocatable[0] * allocatable[1], 1)), dtype=np.int64)


def _gap(allocatable: Whole, used: Whole) -> Whole:
    """|used cpu / cpu − used memory / memory| × cpu × memory, which is 0 where a node lacks one of them."""
    cpu, memory = np.minimum(used, allocatable[:, np.newaxis]) * allocatable[::-1, np.newaxis]
    gap: Whole = np.abs(cpu - memory)
    return gap
