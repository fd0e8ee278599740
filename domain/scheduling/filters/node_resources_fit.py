"""NodeResourcesFit: a node must have room for everything a Pod requests."""

import numpy as np

from domain.resources import PODS, shortage
from domain.room import Room
from domain.roster import Mask
from domain.scheduling.verdict import Verdict
from domain.shapes import PodShape

NAME = "NodeResourcesFit"


def node_resources_fit(room: Room, shape: PodShape) -> Verdict:
    """Rule out the nodes without room for one more Pod of `shape`, naming all that is short.

    Preemption cannot help where a request that is short exceeds the whole node.
    Source: kube-scheduler 1.37, NodeResourcesFit.
    """
    ask = room.ask(shape)
    reasons: dict[str, Mask] = {shortage(PODS): room.free(room.roster.column[PODS]) < 1}
    unresolvable = np.zeros(len(room), dtype=np.bool_)
    for column, amount in ask.columns:
        reasons[shortage(room.roster.resources[column])] = room.free(column) < amount
        unresolvable |= room.allocatable[column] < amount
    for resource in ask.unknown:
        reasons[shortage(resource)] = unresolvable = np.ones(len(room), dtype=np.bool_)
    return Verdict(NAME, reasons, unresolvable)


def with_room(room: Room, shape: PodShape) -> Mask:
    """The nodes that `node_resources_fit` does not rule out."""
    ask = room.ask(shape)
    if ask.unknown:
        return np.zeros(len(room), dtype=np.bool_)
    fit: Mask = room.free(room.roster.column[PODS]) >= 1
    for column, amount in ask.columns:
        fit &= room.free(column) >= amount
    return fit
