"""Preemption: whom to evict so that a Pod or a group that fits nowhere will have room.

A group is looked at as a whole: everyone of lower priority is taken away, the whole group is placed
again, and whoever does not stand in its way comes back. A single Pod looks for one node.
Sources: kube-scheduler 1.37, framework/preemption and DefaultPreemption; KEP-5710.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from domain.objects import Group, Pod
from domain.room import Room
from domain.roster import Mask
from domain.scheduling import texts
from domain.scheduling.diagnosis import Diagnosis
from domain.scheduling.evaluate import Evaluation, evaluate, fits
from domain.scheduling.leaf import Member
from domain.scheduling.reprieve import Sites, bring_back, clear, left_out, without_reprieve
from domain.scheduling.rules import rules_in_play, shape_now, shaped
from domain.scheduling.units import Unit, allowances, unit_priority, units_below, violating
from domain.shapes import PodShape
from domain.state import State

_SHIFT = 2**31
"""Makes priorities positive before they are added up, so that fewer victims weigh less."""


@dataclass(frozen=True)
class Answer:
    """What preemption answers to a refused entity.

    With `waits`, there will be room once `victims` have ended; those of them that are not ending
    yet are to be evicted. With `error`, `text` is an error of the rerun. `nominations` are nodes by
    Pod, for all its Pods that get one; None leaves what they have.
    """

    text: str
    waits: bool = False
    error: bool = False
    victims: tuple[Pod, ...] = ()
    nominations: Mapping[str, str] | None = field(default_factory=dict)


def room_for(state: State, priority: int, own: Sequence[Pod]) -> Room:
    """What is free for Pods of `priority`: others of equal or higher rank keep what they are
    nominated to; `own` are the Pods that are about to be tried."""
    room = state.nodes.for_cycle(state.profile_for(own))
    if state.nominated:
        rules = rules_in_play(state, own)
        mine = {pod.key for pod in own}
        for key in state.nominated:
            pod = state.pods[key]
            row = room.roster.row.get(str(pod.nominated))
            if key not in mine and row is not None and pod.spec.priority >= priority:
                room.reserve(row, shape_now(state, pod, rules=rules))
    return room


@dataclass(frozen=True)
class Rerun:
    """How the algorithm of a root came out in another room.

    `succeeded` is whether it ended in success and placed somebody; else `text` is its status, which
    may be an `error`. `placed` are the Pods with a place, their shapes and the rows of their nodes, in
    the order of the cycle; in the room they have been given up again.
    """

    succeeded: bool
    text: str = ""
    error: bool = False
    placed: Sequence[tuple[Pod, PodShape, int]] = ()


def preempt_for_group(
    state: State, root: Group, members: Sequence[Member], again: Callable[[Room], Rerun]
) -> Answer:
    """What stands behind `pod group preemption: `, and what follows, for a `root` that was refused.

    `members` are those that were in the attempt, in their order. `again` runs the algorithm of the
    root once more, in the room that it is given.
    """
    if root.preemption_policy == "Never":
        return Answer(texts.NEVER_PREEMPTS)
    pods = [pod for pod, _ in members]
    nodes = {pod.nominated for pod in pods if pod.nominated is not None}
    if ending := _ending_on(state, nodes, root.priority):
        return Answer(texts.ONGOING, waits=True, victims=ending, nominations=None)
    units = units_below(state, root.priority)
    if not units:
        return Answer(texts.NO_VICTIMS)
    rules = rules_in_play(state, pods)
    room = room_for(state, root.priority, pods)
    clear(state, room, units, rules=rules)
    rerun = again(room)
    if not rerun.succeeded:
        return Answer(rerun.text, error=rerun.error)
    placed = [(shape, row) for _, shape, row in rerun.placed]
    broken = violating(allowances(state), units)
    victims = _pods_of(without_reprieve(state, room, units, broken, placed, rules=rules))
    return Answer(
        texts.found_for_group(len(victims)),
        waits=True,
        victims=victims,
        nominations={pod.key: room.names[row] for pod, _, row in rerun.placed},
    )


def preempt_for_pod(state: State, pod: Pod, diagnosis: Diagnosis) -> Answer:
    """What stands behind `preemption: `, and what follows, for a single Pod that was refused."""
    spec = pod.spec
    if spec.preemption_policy == "Never":
        return Answer(texts.NEVER_PREEMPTS, nominations=None)
    if pod.nominated in diagnosis.resolvable and (
        ending := _ending_on(state, {pod.nominated}, spec.priority)
    ):
        return Answer(texts.VICTIM_ENDS, waits=True, victims=ending, nominations=None)
    on_node = units_by_node(units_below(state, spec.priority), diagnosis.resolvable)
    candidates, refusals = candidates_for_pod(state, pod, on_node)
    if not candidates:
        return Answer(_no_candidate(refusals, diagnosis, len(on_node)))
    best = min(candidates, key=Candidate.order)
    victims = _pods_of(best.victims)
    return Answer(
        texts.found_for_pod(best.node, len(victims)),
        waits=True,
        victims=victims,
        nominations={pod.key: best.node},
    )


def candidates_for_pod(state: State, pod: Pod, on_node: "OnNode") -> "tuple[list[Candidate], Counter[str]]":
    """The nodes that `pod` could have if it evicts units there, in no order that means anything, and why
    it cannot have the others, how often each."""
    room = room_for(state, pod.spec.priority, [pod])
    ((_, shape),) = shaped(state, [pod])
    search = _at_once if shape.peer is None else _node_by_node
    return search(state, room, shape, on_node)


@dataclass(frozen=True)
class Candidate:
    """A node that a single Pod could have, and whom it would cost, the most important first."""

    node: str
    victims: list[Unit]
    broken: int
    """How many of the victims' Pods break a budget."""

    @classmethod
    def of(cls, node: str, victims: list[Unit], broken: Mapping[str, int]) -> "Candidate":
        """The candidate whose victims are `victims`; `broken` is as from `violating`."""
        return cls(node, victims, sum(broken.get(unit.name, 0) for unit in victims))

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


OnNode: TypeAlias = Mapping[str, Sequence[Unit]]
"""The units with a Pod on each node that is looked at."""


def _at_once(
    state: State, room: Room, shape: PodShape, on_node: OnNode
) -> tuple[list[Candidate], Counter[str]]:
    """The nodes that a Pod of `shape` could have, and why it cannot have the others, how often each.

    No rule about other Pods is in play: what is cleared on other nodes makes no difference.
    """
    clear(
        state, room, {unit.name: unit for units in on_node.values() for unit in units}.values(), rules=False
    )
    evaluation = evaluate(room, shape)
    names = room.names
    helped = [row for row in np.flatnonzero(evaluation.feasible).tolist() if names[row] in on_node]
    sites = Sites(room, [(shape, row) for row in helped])
    allowed = allowances(state)
    candidates = []
    for row in helped:
        here, units = names[row], on_node[names[row]]

        def admit(unit: Unit, here: str = here, row: int = row) -> bool:
            return sites.admit([(pod.spec.shape, row) for pod in unit.pods if pod.node == here])

        broken = violating(allowed, units)
        candidates.append(Candidate.of(here, left_out(units, broken, admit), broken))
    looked_at = np.array([name in on_node for name in names], dtype=np.bool_)
    return candidates, _refusals(evaluation, looked_at)


def _node_by_node(
    state: State, room: Room, shape: PodShape, on_node: OnNode
) -> tuple[list[Candidate], Counter[str]]:
    """The same among rules about other Pods: on every node only its own units are taken away."""
    candidates = []
    refusals = Counter[str]()
    allowed = allowances(state)
    for here, units in sorted(on_node.items()):
        row = room.roster.row[here]
        clear(state, room, units, rules=True)
        if fits(room, shape, row):
            broken = violating(allowed, units)
            victims = without_reprieve(state, room, units, broken, [(shape, row)], rules=True)
            candidates.append(Candidate.of(here, victims, broken))
        else:
            looked_at = np.arange(len(room)) == row
            refusals += _refusals(evaluate(room, shape), looked_at)
        bring_back(state, room, units, rules=True)
    return candidates, refusals


def _refusals(evaluation: Evaluation, looked_at: Mask) -> Counter[str]:
    """How many of the nodes `looked_at` are refused for each reason."""
    counts = Counter[str]()
    for verdict in evaluation.verdicts:
        for reason, nodes in verdict.among(looked_at).reasons.items():
            counts[reason] += int(np.count_nonzero(nodes))
    return counts


def _no_candidate(refusals: Counter[str], diagnosis: Diagnosis, looked_at: int) -> str:
    """Why no node can be helped, in the form of a FitError; so many nodes had units to take away."""
    counts = refusals + Counter(
        {
            texts.NO_VICTIMS_ON_NODE: len(diagnosis.resolvable) - looked_at,
            texts.NOT_HELPFUL: diagnosis.total - len(diagnosis.resolvable),
        }
    )
    parts = sorted(f"{count} {reason}" for reason, count in counts.items() if count)
    return f"0/{diagnosis.total} nodes are available: {', '.join(parts)}."


def units_by_node(units: Sequence[Unit], nodes: frozenset[str]) -> dict[str, list[Unit]]:
    """The units with a Pod on each of `nodes`, in their order."""
    found: dict[str, list[Unit]] = {}
    for unit in units:
        for node in {str(pod.node): None for pod in unit.pods}:
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
