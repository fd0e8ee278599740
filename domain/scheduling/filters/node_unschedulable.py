"""NodeUnschedulable: a cordoned node takes only Pods that tolerate that."""

import numpy as np

from domain.roster import Roster
from domain.scheduling.verdict import Verdict, hopeless
from domain.shapes import PodShape
from domain.taints import NO_SCHEDULE, Taint, tolerated

NAME = "NodeUnschedulable"
REASON = "node(s) were unschedulable"

CORDON = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)


def node_unschedulable(roster: Roster, shape: PodShape) -> Verdict:
    """Rule out cordoned nodes. Source: kube-scheduler 1.37, NodeUnschedulable."""
    cordoned = roster.cordoned
    return hopeless(NAME, REASON, cordoned if minds_cordons(shape) else np.zeros_like(cordoned))


def minds_cordons(shape: PodShape) -> bool:
    """Whether a Pod of `shape` cannot have cordoned nodes."""
    return not tolerated(CORDON, shape.tolerations)
