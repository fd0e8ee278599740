"""TaintToleration as a score: the fewer unwelcoming taints, the better."""

import numpy as np
from numpy.typing import NDArray

from domain.roster import Roster
from domain.shapes import PodShape
from domain.taints import PREFER_NO_SCHEDULE, Taint, tolerated


def untolerated_preferences(roster: Roster, shape: PodShape) -> NDArray[np.int64]:
    """How many PreferNoSchedule taints of each node the Pod does not tolerate, shape (N,)."""

    def count(taints: tuple[Taint, ...]) -> int:
        return sum(
            taint.effect == PREFER_NO_SCHEDULE and not tolerated(taint, shape.tolerations) for taint in taints
        )

    return roster.by_taints(count, np.int64)


def taint_toleration(raw: NDArray[np.int64]) -> NDArray[np.int64]:
    """The scores, given `untolerated_preferences` of the feasible nodes.

    Source: kube-scheduler 1.37, TaintToleration and DefaultNormalizeScore, reversed.
    """
    most = raw.max(initial=0)
    return 100 - raw * 100 // most if most else np.full_like(raw, 100)
