"""What every node is worth for the next Pod of a shape, kept up to date while Pods are placed.

Members of a group that differ in shape are tried in turn. Of what is known about a shape, the Pods
placed since it was last tried change only their own nodes: these are looked at again, no others.
"""

from copy import copy
from typing import Final, Self

import numpy as np

from domain.room import Room
from domain.scheduling.eligibility import eligibility
from domain.scheduling.evaluate import feasible
from domain.scheduling.score import Points, by_facts, by_resources
from domain.shapes import PodShape

_NOWHERE: Final = -1
"""Less than any score."""


class Ranking:
    """The nodes of `room`, at least one, for Pods of `shape`.

    It wants no host ports and is under no rule about other Pods: what happens on one node changes
    nothing on another one but what the scores of all are weighed against.
    """

    def __init__(self, room: Room, shape: PodShape) -> None:
        self._room, self._shape, self._weights = room, shape, room.profile.weights
        self._eligible = eligibility(room, shape)
        self._seen = len(room.touched)
        self._fits = feasible(room, shape)
        self._points = by_resources(room, shape)
        self._rank_all()

    def over(self, room: Room) -> Self:
        """The same for `room`, a copy of the room it is about."""
        self._catch_up()
        other = copy(self)
        other._room, other._seen = room, 0
        other._fits, other._points = self._fits.copy(), self._points.copy()
        other._worth = self._worth.copy()
        return other

    def best(self) -> int | None:
        """The row of the best node, of equals the first; None if no node has room."""
        self._catch_up()
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

    def _catch_up(self) -> None:
        """Look again at the nodes that were touched since."""
        touched = self._room.touched[self._seen :]
        if not touched:
            return
        self._seen += len(touched)
        rows = np.array(touched)
        room, shape = self._room, self._shape
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
