"""NodePorts: two Pods cannot have the same port of a node."""

import numpy as np

from domain.room import Room
from domain.scheduling.verdict import Verdict
from domain.shapes import PodShape

NAME = "NodePorts"
REASON = "node(s) didn't have free ports for the requested pod ports"


def node_ports(room: Room, shape: PodShape) -> Verdict:
    """Rule out nodes where a wanted host port is taken. Source: kube-scheduler 1.37, NodePorts."""
    return Verdict(NAME, {REASON: room.taken_ports(shape)}, np.zeros(len(room), dtype=np.bool_))
