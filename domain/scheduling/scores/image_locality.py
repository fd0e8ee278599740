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

    An image counts with its size times the share of all nodes that have it, also of those outside of a
    placement, so that Pods do not crowd where it happens to be.
    Source: kube-scheduler 1.37, ImageLocality.
    """
    present: dict[int, int] = {}
    for image in shape.images:
        for row, held in _stock(roster):
            if image in held:
                present[row] = present.get(row, 0) + roster.images.spread(held[image], image)
    scores = np.zeros(len(roster), dtype=np.int64)
    most = _PLENTY * len(shape.images)
    for row, size in present.items():
        scores[row] = (min(max(size, _NEGLIGIBLE), most) - _NEGLIGIBLE) * 100 // (most - _NEGLIGIBLE)
    return scores


def _stock(roster: Roster) -> Iterator[tuple[int, dict[str, int]]]:
    """The images of nodes that report any, with the row of each."""
    return ((row, roster.facts[row].images) for row in roster.stocked)
