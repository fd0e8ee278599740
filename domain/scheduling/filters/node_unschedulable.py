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
    minds = minds_cordons(shape)
    cordoned = np.array([facts.unschedulable and minds for facts in roster.facts], dtype=np.bool_)
    return hopeless(NAME, REASON, cordoned)


def minds_cordons(shape: PodShape) -> bool:
    """Whether a Pod of `shape` cannot have cordoned nodes."""
    return not tolerated(CORDON, shape.tolerations)
