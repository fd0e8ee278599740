"""What every node is worth for the next Pod of a shape, kept up to date while Pods are placed.

Members of a group that differ in shape are tried in turn. Of what is known about a shape, the Pods
placed since it was last tried change only their own nodes: these are looked at again, no others.
"""

from typing import Final

import numpy as np

from domain.room import Kept, Room
from domain.scheduling.eligibility import eligibility
from domain.scheduling.score import Points, by_facts, by_resources, by_resources_at
from domain.shapes import PodShape

_NOWHERE: Final = -1
"""Less than any score."""

_FEW: Final = 16
"""So many nodes are looked at sooner one by one than together."""


class Ranking(Kept):
    """The nodes of `room`, at least one, for Pods of `shape`.

    It wants no host ports, and no rule about other Pods is in play when this is asked: what happens on one
    node changes nothing on another one but what the scores of all are weighed against. Rules may have
    been in play before, in another room with other Pods in it, so they are left out here altogether.
    """

    def __init__(self, room: Room, shape: PodShape) -> None:
        super().__init__(room)
        self._shape, self._weights = shape, room.profile.weights
        self._eligible = eligibility(room, shape)
        outer = room.unchanged_outer()
        if outer is None:
            self._fits = self._eligible.allowed & (room.capacity(shape, slice(None), limit=1) > 0)
            self._points = by_resources(room, shape)
        else:
            around, rows = outer
            whole = around.kept(Ranking, shape)
            self._fits, self._points = whole._fits[rows], whole._points[rows]
            self._seen = 0
        self._rank_all()

    def best(self) -> int | None:
        """The row of the best node, of equals the first; None if no node has room."""
        row = int(self._worth.argmax())
        return row if self._worth[row] > _NOWHERE else None

    def _rank_all(self) -> None:
        """Weigh the feasible nodes against each other."""
        rows = np.flatnonzero(self._fits)
        worth = self._points
        if not self._eligible.indifferent:
            self._facts: Points = np.zeros_like(self._points)
            self._facts[rows] = by_facts(self._eligible, rows, self._weights)
            worth = self._points + self._facts
        self._worth: Points = np.where(self._fits, worth, _NOWHERE)

    def _part(self) -> None:
        self._fits, self._points, self._worth = self._fits.copy(), self._points.copy(), self._worth.copy()

    def _look_again(self, room: Room, touched: list[int]) -> None:
        if len(touched) <= _FEW:
            self._look_at_each(room, touched)
            return
        rows, shape = np.array(touched), self._shape
        fits = self._eligible.allowed[rows] & (room.capacity(shape, rows, limit=1) > 0)
        self._points[rows] = worth = by_resources(room, shape, rows)
        if self._eligible.indifferent:
            self._fits[rows] = fits
        elif np.array_equal(fits, self._fits[rows]):
            worth = worth + self._facts[rows]
        else:
            self._fits[rows] = fits
            self._rank_all()
            return
        self._worth[rows] = np.where(fits, worth, _NOWHERE)

    def _look_at_each(self, room: Room, rows: list[int]) -> None:
        shape, weighed = self._shape, True
        for row in rows:
            fits = bool(self._eligible.allowed[row]) and room.capacity_at(shape, row, limit=1) > 0
            weighed = weighed and (self._eligible.indifferent or fits == self._fits[row])
            self._fits[row] = fits
            self._points[row] = worth = by_resources_at(room, shape, row)
            if weighed and not self._eligible.indifferent:
                worth += int(self._facts[row])
            self._worth[row] = worth if fits else _NOWHERE
        if not weighed:
            self._rank_all()
