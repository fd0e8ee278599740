"""Placing Pods of one shape where each placement may change every node, by rules about other Pods.

Step by step as in the plain loop, but what a placement changes on its own node only (what fits, and
what the use of cpu and memory is worth) is worked out for many nodes and steps at a time.
"""

import numpy as np

from domain.room import Room
from domain.roster import Mask
from domain.scheduling.company import Company
from domain.scheduling.eligibility import eligibility
from domain.scheduling.evaluate import welcome
from domain.scheduling.greedy import Numbers
from domain.scheduling.score import Weights, by_company, by_facts, by_resources
from domain.shapes import PodShape

_GROWTH = 4


def place_in_company(room: Room, shape: PodShape, around: Company, count: int, weights: Weights) -> list[int]:
    """Put up to `count` Pods of `shape` into `room` and return the row of each, in order.

    `around` is the company for `shape`, which hears of every placement from `room`.
    """
    eligible = eligibility(room.roster, shape)
    ahead = _Ahead(room, shape, eligible.allowed, count, weights)
    placed: list[int] = []
    while len(placed) < count:
        rows = np.flatnonzero(ahead.open & welcome(around, len(room)))
        if len(rows) == 0:
            break
        if len(rows) == 1:
            row = int(rows[0])
        else:
            points = ahead.points[rows] + by_facts(eligible, rows, weights)
            points += by_company(around, rows, weights)
            row = int(rows[np.argmax(points)])
        room.assume(row, shape)
        placed.append(row)
        ahead.step(row)
    return placed


class _Ahead:
    """What the use of each node says about the next Pod of a shape, steps ahead.

    `open` are the nodes of `allowed` that have room for one more, `points` what it is worth there.
    """

    def __init__(self, room: Room, shape: PodShape, allowed: Mask, count: int, weights: Weights) -> None:
        self._room, self._shape, self._weights = room, shape, weights
        every = np.arange(len(room))
        self._left = np.where(allowed, room.capacity(shape, every, limit=count), 0)
        self.open: Mask = self._left > 0
        self.points = by_resources(room, shape, room.load(shape, slice(None)), weights)
        self._second = self.points
        if count > 1:
            once = np.ones(len(room), dtype=np.int64)
            self._second = by_resources(room, shape, room.load(shape, every, placed=once), weights)
        self._placed: dict[int, int] = {}
        self._later: dict[int, Numbers] = {}
        """What Pods number 2, 3, … on a node, from 0, are worth, as far as that is known."""

    def step(self, row: int) -> None:
        """Go on after a Pod was put on the node in `row`; the room has it already."""
        self._left[row] -= 1
        if self._left[row] == 0:
            self.open[row] = False
            return
        placed = self._placed[row] = self._placed.get(row, 0) + 1
        if placed == 1:
            self.points[row] = self._second[row]
            return
        later = self._later.get(row, self.points[:0])
        if placed - 2 >= len(later):
            later = self._later[row] = np.concatenate([later, self._next(row, _GROWTH * placed)])
        self.points[row] = later[placed - 2]

    def _next(self, row: int, count: int) -> Numbers:
        """What each of the next `count` Pods on the node in `row` is worth."""
        load = self._room.load(self._shape, np.full(count, row), placed=np.arange(count))
        return by_resources(self._room, self._shape, load, self._weights)
