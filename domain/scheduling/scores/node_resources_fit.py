"""NodeResourcesFit as a score, LeastAllocated: the emptier a node, the better."""

import numpy as np

from domain.room import Ask, Load
from domain.roster import Whole


def least_allocated(load: Load, ask: Ask) -> Whole:
    """The mean share of cpu and memory that is left once the Pod is there, in percent, shape (n,).

    A resource that a node has none of is left out. Source: kube-scheduler 1.37, LeastAllocated.
    """
    cpu = _percent_left(load.cpu, load.scored_cpu + ask.scored_cpu)
    memory = _percent_left(load.memory, load.scored_memory + ask.scored_memory)
    # The share of a resource that a node has none of is 0, so that the sum is the other one's.
    mean: Whole = (cpu + memory) >> ((load.cpu > 0) & (load.memory > 0)).astype(np.int64)
    return mean


def _percent_left(allocatable: Whole, asked: Whole) -> Whole:
    left = np.maximum(allocatable - asked, 0)
    percent: Whole = left * 100 // np.maximum(allocatable, 1)
    return percent
