"""NodeAffinity as a score: the more of a Pod's preferences a node meets, the better."""

import numpy as np
from numpy.typing import NDArray

from domain.roster import Roster
from domain.scheduling.selection import matching
from domain.shapes import PodShape


def met_preferences(roster: Roster, shape: PodShape) -> NDArray[np.int64]:
    """The weights of the preferred terms that each node meets, added up, shape (N,)."""
    met = np.zeros(len(roster), dtype=np.int64)
    for preference in shape.preferred:
        met += np.where(matching(roster, preference.term), preference.weight, 0)
    return met


def node_affinity(raw: NDArray[np.int64]) -> NDArray[np.int64]:
    """The scores, given `met_preferences` of the feasible nodes.

    Source: kube-scheduler 1.37, NodeAffinity and DefaultNormalizeScore.
    """
    most = raw.max(initial=0)
    return raw * 100 // most if most else raw
