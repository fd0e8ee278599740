"""ImageLocality: a node that has a Pod's images is the better, the larger they are."""

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
    scores = np.zeros(len(roster), dtype=np.int64)
    present = np.zeros(len(roster), dtype=np.object_)
    for image in shape.images:
        sizes = [facts.images.get(image, 0) for facts in roster.facts]
        if any(sizes):
            present += np.array([roster.images.spread(size, image) for size in sizes], dtype=np.object_)
    if shape.images:
        most = _PLENTY * len(shape.images)
        counted = np.clip(present, _NEGLIGIBLE, most)
        scores += ((counted - _NEGLIGIBLE) * 100 // (most - _NEGLIGIBLE)).astype(np.int64)
    return scores
