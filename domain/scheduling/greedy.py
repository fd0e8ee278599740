"""The order in which a greedy loop hands out places, without running the loop.

Each node has a fixed sequence of scores: what its first, second, … Pod of the shape is worth. The
loop takes the best head of all sequences, of equals the first node. Once it has taken a node's head
of score m, every later head of that node that is at least m goes at once. So its order is the sort
by (least score so far in the sequence, falling; node; step), also where scores rise on the way.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

_GROWTH = 4
"""Sequences are looked into a few steps deep, then so many times as deep where that was too little."""


def greedy_order(
    heads: Numbers,
    capacity: Callable[[Numbers], Numbers],
    score: Callable[[Numbers, Numbers], Numbers],
    count: int,
) -> tuple[Numbers, Numbers]:
    """The nodes of the first `count` Pods in greedy order, and which step of its node each is.

    `heads` are the scores of the first Pod on each of n nodes. `capacity(nodes)` is how many Pods
    each can take, at least 1; `score(nodes, steps)` what Pod number `steps`, from 0, is worth there.
    Fewer than `count` come back where that is all that fits.
    """
    total = len(heads)
    nodes = _best(heads, count)
    limits = np.minimum(capacity(nodes), count)
    least = heads[nodes]
    found = np.stack([_rank(least, nodes, total), nodes, np.zeros_like(nodes)])
    depth = 1
    while True:
        ranks = found[0]
        cut = max(len(ranks) - count, 0)
        threshold = np.partition(ranks, cut)[cut]
        found = found[:, ranks >= threshold]
        # A deeper step can be among the best only where the last known one is.
        deeper = (limits > depth) & (_rank(least, nodes, total) >= threshold)
        if not deeper.any():
            return _in_order(found, count)
        nodes, limits, least = nodes[deeper], limits[deeper], least[deeper]
        steps = np.arange(depth, depth * _GROWTH)
        exists = steps < limits[:, None]
        which, step = np.nonzero(exists)
        worth = np.zeros(exists.shape, dtype=np.int64)
        worth[exists] = score(nodes[which], steps[step])
        running = np.minimum.accumulate(np.column_stack([least, worth]), axis=1)[:, 1:]
        least = running[:, -1]
        new = np.stack([_rank(running[exists], nodes[which], total), nodes[which], steps[step]])
        found = np.concatenate([found, new], axis=1)
        depth *= _GROWTH


def _rank(scores: Numbers, nodes: Numbers, total: int) -> Numbers:
    """Numbers that are the larger, the better the score and, of equal ones, the smaller the node."""
    return scores * total + (total - 1 - nodes)


def _best(heads: Numbers, count: int) -> Numbers:
    """The nodes with the best `count` heads, in no order: no other can be among the first `count`."""
    nodes = np.arange(len(heads))
    if count >= len(heads):
        return nodes
    return np.argpartition(_rank(heads, nodes, len(heads)), -count)[-count:]


def _in_order(found: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Nodes and steps by falling rank; equal ranks are steps of one node, and found in their order."""
    order = np.argsort(-found[0], kind="stable")[:count]
    return found[1, order], found[2, order]
