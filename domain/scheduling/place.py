"""Placing Pods of one shape one after the other, each where it scores best.

The result is that of the plain loop: run the filters, score the feasible nodes, take the best (of
equals the first by name), put the Pod there, start again. It is reached in one pass over the nodes
where a placement changes feasibility and amounts of its own node only. What it can change for the
others is the maximum that raw scores are normalised by, when the last node that has it fills up;
there a run of placements ends, and the next begins with fresh scores.

Where Pods are few, or shapes take turns, what is known of each shape is kept up to date from one to the
next (`domain.scheduling.ranking`).

Where rules about other Pods are in play, a placement can change every node. There the loop is run,
with what others do not change kept from step to step (`domain.scheduling.stepping`).
"""

import numpy as np

from domain.room import Room
from domain.roster import Mask, Rows
from domain.scheduling.company import company
from domain.scheduling.eligibility import Eligibility, eligibility
from domain.scheduling.evaluate import feasible
from domain.scheduling.greedy import Numbers, greedy_order
from domain.scheduling.ranking import Ranking
from domain.scheduling.score import by_facts, by_resources
from domain.scheduling.stepping import place_in_company
from domain.shapes import PodShape

_SHORT = 16
"""So many Pods of a shape are placed sooner one by one than by sorting."""

_FEW = 4
"""Less than one node in so many is few."""


def place(room: Room, shape: PodShape, count: int) -> list[int]:
    """Put up to `count` Pods of `shape` into `room` and return the row of each, in order.

    Fewer come back where no node is left for the next one; none for a `count` of 0.
    """
    if (around := company(room, shape)) is not None:
        return place_in_company(room, shape, around, count)
    if count <= _SHORT and len(room) and not shape.host_ports:
        return _place_in_turn(room, shape, count)
    placed: list[int] = []
    while len(placed) < count:
        rows = _run(room, shape, count - len(placed))
        if not rows:
            break
        room.assume_all(rows, shape)
        placed += rows
    return placed


def _place_in_turn(room: Room, shape: PodShape, count: int) -> list[int]:
    """`place` for a few Pods, one by one: what is known of the shape is there when it is next tried."""
    ranking = room.kept(Ranking, shape)
    placed: list[int] = []
    while len(placed) < count and (row := ranking.best()) is not None:
        room.assume(row, shape)
        ranking.catch_up(room)
        placed.append(row)
    return placed


def _run(room: Room, shape: PodShape, count: int) -> list[int]:
    """The rows of the next placements, as many as can be told from one look at the nodes."""
    rows = np.flatnonzero(feasible(room, shape))
    if len(rows) == 0 or (len(rows) == 1 and count == 1):
        return list(map(int, rows))
    eligible = eligibility(room, shape)
    facts = by_facts(eligible, rows, room.profile.weights)
    heads = facts + _resources_now(room, shape, rows)
    if count == 1:
        return [int(rows[np.argmax(heads)])]

    def capacity(nodes: Numbers) -> Numbers:
        return room.capacity(shape, rows[nodes], limit=count)

    def score(nodes: Numbers, steps: Numbers) -> Numbers:
        return facts[nodes] + by_resources(room, shape, rows[nodes], placed=steps)

    nodes, steps = greedy_order(heads, capacity, score, count)
    if not eligible.indifferent:
        fills = steps + 1 == capacity(nodes)
        nodes = nodes[: _valid(eligible, rows, nodes, fills)]
    return list(map(int, rows[nodes]))


def _resources_now(room: Room, shape: PodShape, rows: Rows) -> Numbers:
    """`by_resources` for the next Pod on `rows`; columns are gathered only where rows are few."""
    if len(rows) * _FEW < len(room):
        return by_resources(room, shape, rows)
    return by_resources(room, shape)[rows]


def _valid(eligible: Eligibility, rows: Rows, nodes: Numbers, fills: Mask) -> int:
    """How many placements on `nodes` come before one that changes the scores of other nodes.

    `fills` tells which of them take the last place of their node.
    """
    valid = len(nodes)
    for raw in (eligible.dislikes[rows], eligible.likes[rows]):
        at_most = raw == raw.max()
        if at_most.all():
            continue
        gone = np.flatnonzero(fills & at_most[nodes])
        if len(gone) == np.count_nonzero(at_most):
            valid = min(valid, int(gone[-1]) + 1)
    return valid
