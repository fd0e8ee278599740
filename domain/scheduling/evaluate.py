"""Which nodes can have one more Pod of a shape, and what keeps it off the others."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from domain.peers import Peer
from domain.room import Room
from domain.roster import Mask
from domain.scheduling.company import Company, company
from domain.scheduling.eligibility import eligibility
from domain.scheduling.filters.inter_pod_affinity import (
    in_good_company,
    in_good_company_at,
    inter_pod_affinity,
)
from domain.scheduling.filters.node_ports import node_ports
from domain.scheduling.filters.node_resources_fit import node_resources_fit, with_room
from domain.scheduling.filters.pod_topology_spread import pod_topology_spread, spread_evenly, spread_evenly_at
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
    mask = eligibility(room, shape).allowed
    mask = mask & with_room(room, shape) if room.profile.filters_by("NodeResourcesFit") else mask.copy()
    if shape.host_ports and room.profile.filters_by("NodePorts"):
        mask &= ~room.taken_ports(shape)
    if (around := company(room, shape)) is not None:
        mask &= welcome(around, room)
    return mask


def welcome(around: Company, room: Room) -> Mask:
    """The nodes of `room` that the rules about other Pods do not rule out."""
    good = in_good_company(around, len(room))
    if around.hard:
        good &= spread_evenly(around, len(room))
    for row, peers in room.expected.items():
        if good[row] and any(map(around.minds, peers)):
            with _beside(around, row, peers):
                good[row] = _welcome_now(around, row)
    return good


def welcome_at(around: Company, room: Room, row: int) -> bool:
    """Whether the rules about other Pods do not rule out the node in `row`."""
    if not _welcome_now(around, row):
        return False
    if not (peers := room.expected.get(row, ())):
        return True
    with _beside(around, row, peers):
        return _welcome_now(around, row)


def fits(room: Room, shape: PodShape, row: int) -> bool:
    """Whether the node in `row` can have one more Pod of `shape`."""
    if not eligibility(room, shape).allowed[row]:
        return False
    if not room.capacity_at(shape, row, limit=1):
        return False
    around = company(room, shape)
    return around is None or welcome_at(around, room, row)


def evaluate(room: Room, shape: PodShape) -> Evaluation:
    """Run the filters of the room's profile for one more Pod of `shape`.

    Source: kube-scheduler 1.37, RunFilterPlugins: on each node the first that refuses ends it.
    """
    eligible = eligibility(room, shape)
    if eligible.prefilter is not None:
        nothing = np.zeros(len(room), dtype=np.bool_)
        return Evaluation(eligible.prefilter, (), feasible=nothing, unresolvable=~nothing)
    left = np.ones(len(room), dtype=np.bool_)
    unresolvable = ~left
    verdicts = []
    checks = [*eligible.verdicts]
    if room.profile.filters_by("NodePorts"):
        checks.append(node_ports(room, shape))
    if room.profile.filters_by("NodeResourcesFit"):
        checks.append(node_resources_fit(room, shape))
    if (around := company(room, shape)) is not None:
        checks += _company_verdicts(around, room)
    for verdict in checks:
        verdict = verdict.among(left)
        verdicts.append(verdict)
        left &= ~verdict.refused
        unresolvable |= verdict.unresolvable
    return Evaluation(None, tuple(verdicts), feasible=left, unresolvable=unresolvable)


def _company_verdicts(around: Company, room: Room) -> list[Verdict]:
    """What the rules about other Pods say. Where Pods are expected, what rules a node out with them
    comes before what rules it out without. Source: kube-scheduler 1.37, nominated Pods in filters."""
    verdicts = _verdicts_now(around, len(room))
    for row, peers in room.expected.items():
        if any(map(around.minds, peers)):
            with _beside(around, row, peers):
                if _welcome_now(around, row):
                    continue
                beside = _verdicts_now(around, len(room))
            for verdict, instead in zip(verdicts, beside, strict=True):
                verdict.unresolvable[row] = instead.unresolvable[row]
                for reason, nodes in verdict.reasons.items():
                    nodes[row] = instead.reasons[reason][row]
    return verdicts


def _verdicts_now(around: Company, count: int) -> list[Verdict]:
    return [pod_topology_spread(around, count), inter_pod_affinity(around, count)]


def _welcome_now(around: Company, row: int) -> bool:
    return in_good_company_at(around, row) and spread_evenly_at(around, row)


@contextmanager
def _beside(around: Company, row: int, peers: Iterable[Peer]) -> Iterator[None]:
    """For as long as it is entered, Pods like `peers` are on the node in `row`."""
    for peer in peers:
        around.note(peer, row, 1)
    yield
    for peer in peers:
        around.note(peer, row, -1)
