"""Placing Pods of one shape where each placement may change every node, by rules about other Pods.

Step by step as in the plain loop, but what a placement changes on its own node only (what fits, and
what the use of cpu and memory is worth) is worked out for many nodes and steps at a time.
"""

import numpy as np

from domain.profile import Weights
from domain.room import Room
from domain.roster import Mask, Rows
from domain.scheduling.company import Company
from domain.scheduling.eligibility import Eligibility, eligibility
from domain.scheduling.evaluate import welcome
from domain.scheduling.greedy import Numbers
from domain.scheduling.score import by_facts, by_resources
from domain.scheduling.scores.inter_pod_affinity import inter_pod_affinity
from domain.scheduling.scores.pod_topology_spread import compare, domain_weights
from domain.shapes import PodShape

_LEVELS = 8
"""So many Pods on a node are looked ahead for all nodes together."""
_GROWTH = 4
"""Beyond that it is so many times as many as there are, for one node at a time."""


def place_in_company(room: Room, shape: PodShape, around: Company, count: int) -> list[int]:
    """Put up to `count` Pods of `shape` into `room` and return the row of each, in order.

    `around` is the company for `shape`. It hears of every placement at once, `room` of all at the end.
    """
    assert shape.peer is not None
    eligible, weights = eligibility(room, shape), room.profile.weights
    ahead = _Ahead(room, shape, eligible.allowed, count)
    field = _Field(eligible, around, np.zeros(len(room), dtype=np.bool_), weights)
    placed: list[int] = []
    while len(placed) < count:
        mask = ahead.open & welcome(around, room)
        if not np.array_equal(mask, field.mask):
            field = _Field(eligible, around, mask, weights)
        if len(field.rows) == 0:
            break
        row = field.best(ahead.points)
        around.note(shape.peer, row, 1)
        placed.append(row)
        ahead.step(row)
    room.assume_all(placed, shape, told=around)
    return placed


class _Field:
    """The feasible nodes at one step, and what stays the same for as long as these are feasible."""

    def __init__(self, eligible: Eligibility, around: Company, mask: Mask, weights: Weights) -> None:
        self.mask = mask
        self.rows = np.flatnonzero(mask)
        self._around, self._weights = around, weights
        self._facts = None if eligible.indifferent else by_facts(eligible, self.rows, weights)
        if around.soft:
            keyed = around.soft[0].keyed[self.rows]
            self._compared = None if keyed.all() else np.flatnonzero(keyed)
            self._keyed = self.rows if self._compared is None else self.rows[keyed]
            self._domain_weights = domain_weights(around, self._keyed)

    def best(self, points: Numbers) -> int:
        """The node with the best total, given the `points` for the use of every node in the room."""
        if len(self.rows) == 1:
            return int(self.rows[0])
        total = points.take(self.rows)
        if self._facts is not None:
            total += self._facts
        if self._around.soft:
            spread = compare(self._around, self._keyed, self._domain_weights)
            spread *= self._weights.pod_topology_spread
            if self._compared is None:
                total += spread
            else:
                total[self._compared] += spread
        if self._around.liking:
            total += inter_pod_affinity(self._around, self.rows) * self._weights.inter_pod_affinity
        return int(self.rows[total.argmax()])


class _Ahead:
    """What the use of each node says about the next Pod of a shape, steps ahead.

    `open` are the nodes of `allowed` that have room for one more, `points` what it is worth there.
    """

    def __init__(self, room: Room, shape: PodShape, allowed: Mask, count: int) -> None:
        self._room, self._shape = room, shape
        self._every = np.arange(len(room))
        self._left = np.where(allowed, room.capacity(shape, self._every, limit=count), 0)
        self.open: Mask = self._left > 0
        self.points = by_resources(room, shape)
        self._placed: dict[int, int] = {}
        self._levels: list[Numbers] = [self.points.copy()]
        """What Pod number 0, 1, … is worth on every node."""
        self._deeper: dict[int, Numbers] = {}
        """What Pods number _LEVELS, _LEVELS + 1, … are worth on a node, as far as that is known."""

    def step(self, row: int) -> None:
        """Go on after a Pod was put on the node in `row`."""
        self._left[row] -= 1
        if self._left[row] == 0:
            self.open[row] = False
            return
        placed = self._placed[row] = self._placed.get(row, 0) + 1
        if placed < _LEVELS:
            if placed == len(self._levels):
                self._levels.append(self._worth(self._every, np.full_like(self._every, placed)))
            self.points[row] = self._levels[placed][row]
            return
        deeper = self._deeper.get(row, self.points[:0])
        if placed - _LEVELS == len(deeper):
            steps = np.arange(placed, _GROWTH * placed)
            deeper = self._deeper[row] = np.concatenate(
                [deeper, self._worth(np.full_like(steps, row), steps)]
            )
        self.points[row] = deeper[placed - _LEVELS]

    def _worth(self, rows: Rows, steps: Numbers) -> Numbers:
        """What Pod number `steps`, from 0, is worth on the nodes in `rows`."""
        return by_resources(self._room, self._shape, rows, placed=steps)
