"""ImageLocality: a node that has a Pod's images is the better, the larger they are."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from domain.roster import Roster
from domain.shapes import PodShape

_MEBIBYTE = 2**20
_NEGLIGIBLE = 23 * _MEBIBYTE
_PLENTY = 1000 * _MEBIBYTE


def image_locality(roster: Roster, shape: PodShape) -> NDArray[np.int64]:
    """The scores, shape (N,); other Pods play no part.

    An image counts with its size times the share of all nodes that have it, rounded down, so that
    Pods do not crowd where it happens to be. Source: kube-scheduler 1.37, ImageLocality.
    """
    present: dict[int, int] = {}
    for image in shape.images:
        sizes = [(row, facts[image]) for row, facts in _stock(roster) if image in facts]
        for row, size in sizes:
            present[row] = present.get(row, 0) + size * len(sizes) // len(roster)
    scores = np.zeros(len(roster), dtype=np.int64)
    most = _PLENTY * len(shape.images)
    for row, size in present.items():
        scores[row] = (min(max(size, _NEGLIGIBLE), most) - _NEGLIGIBLE) * 100 // (most - _NEGLIGIBLE)
    return scores


def _stock(roster: Roster) -> Iterator[tuple[int, dict[str, int]]]:
    """The images of nodes that report any, with the row of each."""
    return ((row, roster.facts[row].images) for row in roster.stocked)
