"""NodeName: a Pod that names its node gets no other."""

import numpy as np

from domain.roster import Roster
from domain.scheduling.verdict import Verdict, hopeless
from domain.shapes import PodShape

NAME = "NodeName"
REASON = "node(s) didn't match the requested node name"


def node_name(roster: Roster, shape: PodShape) -> Verdict:
    """Rule out all nodes but the one that is asked for. Source: kube-scheduler 1.37, NodeName."""
    others = np.zeros(len(roster), dtype=np.bool_)
    if shape.node_name is not None:
        others = ~roster.mask([shape.node_name])
    return hopeless(NAME, REASON, others)
