"""NodeResourcesBalancedAllocation: a node is the better, the more evenly cpu and memory are used."""

import numpy as np

from domain.room import Ask, Load
from domain.roster import Whole


def balanced_allocation(load: Load, ask: Ask) -> Whole:
    """How much nearer to each other the Pod brings the utilisations of cpu and memory, shape (n,).

    75 where they stay as far apart as they are, between 50 and 100; 0 for Pods that request neither.
    Utilisation is capped at 1. Whole numbers throughout, where Kubernetes has floating point.
    Source: kube-scheduler 1.37, NodeResourcesBalancedAllocation.
    """
    if not (ask.cpu or ask.memory):
        return np.zeros(len(load.cpu), dtype=np.int64)
    before = _imbalance(load, load.used_cpu, load.used_memory)
    after = _imbalance(load, load.used_cpu + ask.cpu, load.used_memory + ask.memory)
    score: Whole = 50 + ((50 + before - after) >> 1)
    return score


def _imbalance(load: Load, used_cpu: Whole, used_memory: Whole) -> Whole:
    """50 × |used_cpu / cpu − used_memory / memory|, rounded up; 0 where a node lacks one of them."""
    if load.balance is None:
        return _imbalance_of_any_size(load, used_cpu.astype(np.object_), used_memory.astype(np.object_))
    gap = _gap(load.cpu, load.memory, used_cpu, used_memory)
    product, factor = load.balance
    rounded_down = (gap * factor).astype(np.int64)  # or one off, where the quotient is nearly whole
    # The remainder is exact although its terms may wrap around: it is less than 2 products from 0.
    remainder = gap * 50 - rounded_down * product
    imbalance: Whole = rounded_down + (remainder > 0) + (remainder > product)
    return imbalance


def _imbalance_of_any_size(load: Load, used_cpu: Whole, used_memory: Whole) -> Whole:
    cpu, memory = load.cpu.astype(np.object_), load.memory.astype(np.object_)
    gap = _gap(cpu, memory, used_cpu, used_memory)
    return np.array(-(gap * -50 // np.maximum(cpu * memory, 1)), dtype=np.int64)


def _gap(cpu: Whole, memory: Whole, used_cpu: Whole, used_memory: Whole) -> Whole:
    """|used_cpu / cpu − used_memory / memory| × cpu × memory; 0 where a node lacks one of them."""
    gap = np.abs(np.minimum(used_cpu, cpu) * memory - np.minimum(used_memory, memory) * cpu)
    return np.where((cpu > 0) & (memory > 0), gap, 0)
