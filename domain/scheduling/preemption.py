"""Preemption: whom to evict so that a Pod or a group that fits nowhere will have room.

A group is looked at as a whole: everyone of lower priority is taken away, the whole group is placed
again, and whoever does not stand in its way comes back. A single Pod looks for one node.
Sources: kube-scheduler 1.37, framework/preemption and DefaultPreemption; KEP-5710.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from domain.objects import Group, Pod
from domain.room import Room
from domain.scheduling import texts
from domain.scheduling.diagnosis import Diagnosis
from domain.scheduling.evaluate import Evaluation, evaluate
from domain.scheduling.leaf import Member, run_leaf
from domain.scheduling.reprieve import clear, without_reprieve
from domain.scheduling.rules import rules_in_play
from domain.scheduling.units import Unit, unit_priority, units_below, violating
from domain.shapes import PodShape
from domain.state import State

_SHIFT = 2**31
"""Makes priorities positive before they are added up, so that fewer victims weigh less."""


@dataclass(frozen=True)
class Answer:
    """What preemption answers to a refused entity.

    `text` is None where it says nothing: with rules about other Pods in play nobody is evicted yet.
    With `waits`, there will be room once `victims` have ended; those of them that are not ending
    yet are to be evicted. `nominations` are nodes by Pod, for all its Pods that get one; None leaves
    what they have.
    """

    text: str | None
    waits: bool = False
    victims: tuple[Pod, ...] = ()
    nominations: Mapping[str, str] | None = field(default_factory=dict)


def room_for(state: State, priority: int, own: Sequence[Pod]) -> Room:
    """What is free for Pods of `priority`: others of equal or higher rank keep what they are
    nominated to; `own` are the Pods that are about to be tried."""
    room = state.nodes.for_cycle(state.profile_for(own))
    if state.nominated:
        mine = {pod.key for pod in own}
        for key in state.nominated:
            pod = state.pods[key]
            row = room.roster.row.get(str(pod.nominated))
            if key not in mine and row is not None and state.spec(pod).priority >= priority:
                room.reserve(row, state.spec(pod).shape)
    return room


def preempt_for_group(state: State, group: Group, members: Sequence[Member]) -> Answer:
    """What stands behind `pod group preemption: `, and what follows, for a `group` that was refused.

    `members` are those that were in the attempt, in their order.
    """
    if group.preemption_policy == "Never":
        return Answer(texts.NEVER_PREEMPTS)
    pods = [pod for pod, _ in members]
    nodes = {pod.nominated for pod in pods if pod.nominated is not None}
    if ending := _ending_on(state, nodes, group.priority):
        return Answer(texts.ONGOING, waits=True, victims=ending, nominations=None)
    units = units_below(state, group.priority)
    if not units:
        return Answer(texts.NO_VICTIMS)
    if rules_in_play(state, pods):
        return Answer(None)
    room = room_for(state, group.priority, pods)
    clear(state, room, units)
    bound = len(state.members_of(group.key).bound)
    leaf = run_leaf(room, members, minimum=group.min_count, bound=bound)
    if not (leaf.succeeded and leaf.placed):
        return Answer(leaf.text or texts.flagged())
    placed = [(state.spec(pod).shape, row) for pod, row in leaf.placed]
    for shape, row in placed:
        room.forget(row, shape)
    victims = _pods_of(without_reprieve(state, room, units, violating(state, units), placed))
    return Answer(
        texts.found_for_group(len(victims)),
        waits=True,
        victims=victims,
        nominations={pod.key: room.names[row] for pod, row in leaf.placed},
    )


def preempt_for_pod(state: State, pod: Pod, diagnosis: Diagnosis) -> Answer:
    """What stands behind `preemption: `, and what follows, for a single Pod that was refused."""
    spec = state.spec(pod)
    if spec.preemption_policy == "Never":
        return Answer(texts.NEVER_PREEMPTS, nominations=None)
    if pod.nominated in diagnosis.resolvable and (
        ending := _ending_on(state, {pod.nominated}, spec.priority)
    ):
        return Answer(texts.VICTIM_ENDS, waits=True, victims=ending, nominations=None)
    units = units_below(state, spec.priority)
    on_node = _by_node(units, diagnosis.resolvable)
    if on_node and rules_in_play(state, [pod]):
        return Answer(None)
    cleared = room_for(state, spec.priority, [pod])
    clear(state, cleared, units)
    evaluation = evaluate(cleared, spec.shape)
    helped = [row for row in np.flatnonzero(evaluation.feasible).tolist() if cleared.names[row] in on_node]
    if not helped:
        return Answer(_no_candidate(cleared, evaluation, diagnosis, on_node))
    best = min(
        (_candidate(state, cleared, row, spec.shape, on_node[cleared.names[row]]) for row in helped),
        key=_Candidate.order,
    )
    victims = _pods_of(best.victims)
    return Answer(
        texts.found_for_pod(best.node, len(victims)),
        waits=True,
        victims=victims,
        nominations={pod.key: best.node},
    )


@dataclass(frozen=True)
class _Candidate:
    """A node that a single Pod could have, and whom it would cost, the most important first."""

    node: str
    victims: list[Unit]
    broken: int
    """How many of the victims break a budget."""

    def order(self) -> tuple[int, int, int, int, float, str]:
        """The candidate with the smallest key is taken."""
        pods = [(unit.priority, pod) for unit in self.victims for pod in unit.pods]
        highest = max(unit.priority for unit in self.victims)
        first = min(unit.started_us for unit in self.victims if unit.priority == highest)
        return (
            self.broken,
            highest,
            sum(priority + _SHIFT for priority, _ in pods),
            len(pods),
            -first,
            self.node,
        )


def _candidate(state: State, room: Room, row: int, shape: PodShape, units: Sequence[Unit]) -> _Candidate:
    """Whom it costs to put a Pod of `shape` on the node in `row`, with `units` on it.

    Units are cleared from `room`; those that can stay are put back on this node, and no other.
    """
    broken = violating(state, units)
    victims = without_reprieve(state, room, units, broken, [(shape, row)])
    return _Candidate(room.names[row], victims, sum(unit.name in broken for unit in victims))


def _no_candidate(
    cleared: Room, evaluation: Evaluation, diagnosis: Diagnosis, on_node: Mapping[str, Sequence[Unit]]
) -> str:
    """Why no node can be helped, in the form of a FitError."""
    looked_at = np.array([name in on_node for name in cleared.names], dtype=np.bool_)
    counts = Counter[str]()
    for verdict in evaluation.verdicts:
        for reason, nodes in verdict.among(looked_at).reasons.items():
            counts[reason] += int(np.count_nonzero(nodes))
    counts[texts.NO_VICTIMS_ON_NODE] += len(diagnosis.resolvable) - len(on_node)
    counts[texts.NOT_HELPFUL] += diagnosis.total - len(diagnosis.resolvable)
    parts = sorted(f"{count} {reason}" for reason, count in counts.items() if count)
    return f"0/{diagnosis.total} nodes are available: {', '.join(parts)}."


def _by_node(units: Sequence[Unit], nodes: frozenset[str]) -> dict[str, list[Unit]]:
    """The units with a Pod on each of `nodes`, in their order."""
    found: dict[str, list[Unit]] = {}
    for unit in units:
        for node in dict.fromkeys(str(pod.node) for pod in unit.pods):
            if node in nodes:
                found.setdefault(node, []).append(unit)
    return found


def _ending_on(state: State, nodes: set[str], priority: int) -> tuple[Pod, ...]:
    """The Pods below `priority` on `nodes` that end because the scheduler evicted them."""
    ending = [
        pod
        for pod in map(state.pods.__getitem__, state.evicted)
        if pod.node in nodes and pod.node in state.node_records and unit_priority(state, pod) < priority
    ]
    return tuple(sorted(ending, key=lambda pod: pod.arrival))


def _pods_of(units: Sequence[Unit]) -> tuple[Pod, ...]:
    return tuple(pod for unit in units for pod in unit.pods)
