"""TaintToleration: a Pod must tolerate the taints that keep Pods off a node."""

import numpy as np

from domain.roster import Roster
from domain.scheduling.verdict import Verdict, hopeless
from domain.shapes import PodShape
from domain.taints import NO_EXECUTE, NO_SCHEDULE, Taint, tolerated

NAME = "TaintToleration"
REASON = "node(s) had untolerated taint(s)"


def taint_toleration(roster: Roster, shape: PodShape) -> Verdict:
    """Rule out nodes with an untolerated NoSchedule or NoExecute taint.

    Source: kube-scheduler 1.37, TaintToleration.
    """
    repelling = roster.by_taints(lambda taints: repelled(taints, shape), np.bool_)
    return hopeless(NAME, REASON, repelling)


def repelled(taints: tuple[Taint, ...], shape: PodShape) -> bool:
    """Whether `taints` keep a Pod of `shape` off."""
    return any(
        taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, shape.tolerations)
        for taint in taints
    )
