"""Which nodes can have one more Pod of a shape, and what keeps it off the others."""

from dataclasses import dataclass

import numpy as np

from domain.room import Room
from domain.roster import Mask
from domain.scheduling.eligibility import eligibility
from domain.scheduling.filters.node_ports import node_ports
from domain.scheduling.filters.node_resources_fit import node_resources_fit, with_room
from domain.scheduling.verdict import Verdict
from domain.shapes import PodShape


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the filters say about N nodes.

    `prefilter` is the text with which PreFilter refuses the Pod; no filter looks at a node then.
    `verdicts` are in the order of the filters; a node is in that of the first filter that refuses
    it only. `unresolvable` are the nodes where no preemption can help.
    """

    prefilter: str | None
    verdicts: tuple[Verdict, ...]
    feasible: Mask
    unresolvable: Mask

    def counts(self) -> dict[str, int]:
        """How many nodes are refused for each reason, without those of no node."""
        counts: dict[str, int] = {}
        for verdict in self.verdicts:
            for reason, nodes in verdict.reasons.items():
                count = int(np.count_nonzero(nodes))
                if count:
                    counts[reason] = counts.get(reason, 0) + count
        return counts


def feasible(room: Room, shape: PodShape) -> Mask:
    """The nodes that can have one more Pod of `shape`: those of `evaluate`, without the reasons."""
    mask = with_room(room, shape) & eligibility(room.roster, shape).allowed
    if shape.host_ports:
        mask &= ~room.taken_ports(shape)
    return mask


def fits(room: Room, shape: PodShape, row: int) -> bool:
    """Whether the node in `row` can have one more Pod of `shape`."""
    if not eligibility(room.roster, shape).allowed[row]:
        return False
    return bool(room.capacity(shape, np.array([row]), limit=1)[0])


def evaluate(room: Room, shape: PodShape) -> Evaluation:
    """Run the filters of the default profile for one more Pod of `shape`.

    Source: kube-scheduler 1.37, RunFilterPlugins: on each node the first that refuses ends it.
    """
    eligible = eligibility(room.roster, shape)
    if eligible.prefilter is not None:
        nothing = np.zeros(len(room), dtype=np.bool_)
        return Evaluation(eligible.prefilter, (), feasible=nothing, unresolvable=~nothing)
    left = np.ones(len(room), dtype=np.bool_)
    unresolvable = ~left
    verdicts = []
    for verdict in (*eligible.verdicts, node_ports(room, shape), node_resources_fit(room, shape)):
        verdict = verdict.among(left)
        verdicts.append(verdict)
        left &= ~verdict.refused
        unresolvable |= verdict.unresolvable
    return Evaluation(None, tuple(verdicts), feasible=left, unresolvable=unresolvable)
