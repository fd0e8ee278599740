"""The group algorithm over a tree: every group in order, each all or nothing, inside its placement.

Source: kube-scheduler 1.37, PodGroup scheduling cycle, with the words of 1.38 for composites;
KEP-6012, KEP-5732.
"""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from domain.events import PlacementFinding
from domain.objects import Pod
from domain.room import Room
from domain.scheduling import texts
from domain.scheduling.branch import Branch
from domain.scheduling.leaf import Feasible, Misfit, feasible, run_leaf
from domain.scheduling.lockstep import can_step, fill_domains
from domain.scheduling.placements import (
    UndeterminedDomain,
    best_placement,
    candidates,
    most_nominated,
    use_of_domains,
    use_of_rooms,
)
from domain.scheduling.shortfall import shortfall, shortfalls
from domain.scheduling.survey import can_survey, survey, use_with
from domain.shapes import PodShape


class Status(enum.Enum):
    """How a group came out; the values are those of its finding."""

    SUCCESS = "Success"
    UNSCHEDULABLE = "Unschedulable"
    ERROR = "Error"
    UNTRIED = "Untried"
    """Not reached; a group of a finished tree has the status of one above it instead."""


class Placed(NamedTuple):
    """A member that found a place."""

    pod: Pod
    shape: PodShape
    node: str


@dataclass
class Outcome:
    """How a group came out. `text` is empty on success, else its text before preemption.

    `scheduled` and `remaining` are the numbers of the last feasibility check. `placed` has the
    members in it and below it that found a place, in the order of the cycle, and after a refusal those
    that have given it up again. `misfits` and `untried` are about a PodGroup's own members; `children`
    has one outcome for each child. `domain` and `placements` are as in GroupFinding.
    """

    branch: Branch
    status: Status
    text: str = ""
    scheduled: int = 0
    remaining: int = 0
    placed: list[Placed] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)
    untried: list[Pod] = field(default_factory=list)
    children: "list[Outcome]" = field(default_factory=list)
    domain: str | None = None
    placements: tuple[PlacementFinding, ...] = ()
    own: bool = True
    """Whether its status is its own and was not handed down."""
    lean: bool = False
    """Of a root: each group got its minimum before any got more."""

    @property
    def succeeded(self) -> bool:
        """Whether what was placed is to be kept."""
        return self.status is Status.SUCCESS

    def each(self) -> "Iterator[Outcome]":
        """The outcomes of the group and of all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.each()


def run_tree(root: Branch, room: Room, *, lean: bool = False) -> Outcome:
    """Try the tree of `root` as a whole; what was placed stays assumed in `room` if it succeeds.

    Each group takes what it can before its siblings. With `lean`, where that leaves some without a
    start, there is a second pass, in which each group gets its minimum before any gets more; it
    counts if more groups start. A tree that succeeds without placing anybody is refused, so that
    preemption gets its say.
    """
    outcome = try_tree(root, room, lean=lean)
    if outcome.succeeded and not outcome.placed:
        outcome.status, outcome.text = Status.UNSCHEDULABLE, texts.flagged()
    _hand_down(outcome, None)
    return outcome


def try_tree(root: Branch, room: Room, *, lean: bool = False) -> Outcome:
    """The same before groups that are pulled down or not reached get their status from above, and without
    a refusal where nobody is placed."""
    outcome = _run(root, room, alone=root.is_leaf)
    if lean and not root.is_leaf and not all(each.succeeded for each in outcome.each()):
        outcome = _leaner(root, room, outcome)
    return outcome


def _leaner(root: Branch, room: Room, greedy: Outcome) -> Outcome:
    """The outcome of the lean pass if it starts more groups than `greedy` did, else that one.

    An error in a group is one of the tree, in whatever order groups are tried.
    """
    if greedy.status is Status.ERROR:
        return greedy
    if greedy.succeeded:
        give_up(greedy.placed, room)
    outcome = _run(root.lean(), room)
    if outcome.succeeded:
        _start_rest(outcome, room)
    sound = all(each.status is not Status.ERROR for each in outcome.each())
    if sound and _started(outcome) > _started(greedy):
        _share_rest(outcome, room)
        outcome.lean = True
        return outcome
    if outcome.succeeded:
        give_up(outcome.placed, room)
    if greedy.succeeded:
        _assume(greedy.placed, room)
    return greedy


def _started(outcome: Outcome) -> int:
    """How many groups start, the group itself and those below it."""
    return 1 + sum(map(_started, outcome.children)) if outcome.succeeded else 0


def _start_rest(outcome: Outcome, room: Room) -> list[Placed]:
    """Try the groups that a composite may start beyond its minimum, each with its own, then those of its
    children, in the domain that it has; who found a place is assumed in `room` and returned."""
    if outcome.branch.is_leaf:
        return []
    inner = inside(outcome, room)
    placed: list[Placed] = []
    for index, child in enumerate(outcome.children):
        if child.status is Status.UNTRIED:
            tried = outcome.children[index] = _run(child.branch, inner)
            outcome.remaining -= 1
            outcome.scheduled += tried.succeeded
            placed += tried.placed if tried.succeeded else []
    for child in outcome.children:
        placed += _start_rest(child, inner) if child.succeeded else []
    if inner is not room:
        _assume(placed, room)
    outcome.placed += placed
    return placed


def inside(outcome: Outcome, room: Room) -> Room:
    """`room`, or the part of it that is the domain of `outcome`."""
    key = outcome.branch.group.topology_key
    if key is None or outcome.domain is None:
        return room
    return room.inside(key, outcome.domain)


def _share_rest(outcome: Outcome, room: Room) -> list[Placed]:
    """Try the members beyond the minimum of each PodGroup that started, in the order of the tree, each in
    the domain that its groups have; who found a place is assumed in `room` and returned."""
    inner = inside(outcome, room)
    if outcome.branch.is_leaf:
        left = {pod.key for pod in outcome.untried}
        rest = tuple(member for member in outcome.branch.members if member[0].key in left)
        bound = outcome.branch.bound + len(outcome.placed)
        more = _try_members(outcome.branch._replace(members=rest, bound=bound, most=None), inner)
        outcome.scheduled, outcome.remaining = more.scheduled, more.remaining
        outcome.misfits, outcome.untried, placed = [*outcome.misfits, *more.misfits], [], more.placed
    else:
        placed = [each for child in outcome.children if child.succeeded for each in _share_rest(child, inner)]
    if inner is not room:
        _assume(placed, room)
    outcome.placed += placed
    return placed


def fail_tree(root: Branch, text: str) -> Outcome:
    """The outcome of a tree that ends in an error for all before anything is tried."""
    outcome = _not_reached(root, Status.ERROR, text)
    _hand_down(outcome, None)
    return outcome


def give_up(placed: Sequence[Placed], room: Room) -> None:
    """Take those who are `placed` out of `room`."""
    for _, shape, node in reversed(placed):
        room.forget(room.roster.row[node], shape)


def _assume(placed: Sequence[Placed], room: Room) -> None:
    """Put those who are `placed` into `room`."""
    for shape, alike in groupby(placed, key=lambda each: each.shape):
        room.assume_all([room.roster.row[each.node] for each in alike], shape)


def _run(branch: Branch, room: Room, *, alone: bool = False) -> Outcome:
    """Try one group in the placement that is `room`; `alone` is a PodGroup outside a tree.

    Its text tells of placements, unless it is alone and has no constraint.
    """
    if branch.group.topology_key is not None:
        return _choose(branch, room, alone=alone)
    outcome = _try(branch, room)
    if outcome.status is Status.UNSCHEDULABLE and not alone:
        outcome.text = texts.no_placement(1, outcome.text)
    return outcome


def _try(branch: Branch, room: Room) -> Outcome:
    """Try one group on all nodes of `room`."""
    return _try_members(branch, room) if branch.is_leaf else _try_children(branch, room)


def _try_members(branch: Branch, room: Room) -> Outcome:
    minimum, most = branch.group.min_count, branch.most
    leaf = run_leaf(room, branch.members, minimum=minimum, bound=branch.bound, most=most)
    names = room.names
    shapes = {pod.key: shape for pod, shape in branch.members}
    return Outcome(
        branch,
        Status.SUCCESS if leaf.succeeded else Status.UNSCHEDULABLE,
        leaf.text,
        leaf.scheduled,
        leaf.remaining,
        [Placed(pod, shapes[pod.key], names[row]) for pod, row in leaf.placed],
        leaf.misfits,
        leaf.untried,
    )


def _try_children(branch: Branch, room: Room) -> Outcome:
    """Try the children in order, each in what the ones before it have left.

    As with members, it goes on beyond the minimum and stops as soon as that is out of reach. Those that
    are more than it may start are not reached.
    """
    minimum = branch.group.min_count
    outcome = Outcome(branch, Status.SUCCESS, remaining=len(branch.children))
    open_ = feasible(minimum, 0, outcome.remaining) is not Feasible.IMPOSSIBLE
    for child, enough in branch.turns():
        if not open_ or (enough is not None and outcome.scheduled >= enough):
            outcome.children.append(_not_reached(child))
            continue
        result = _run(child, room)
        outcome.children.append(result)
        if result.status is Status.ERROR:
            outcome.status, outcome.text = Status.ERROR, texts.child_error(result.text)
            open_ = False
            continue
        outcome.remaining -= 1
        if result.succeeded:
            outcome.scheduled += 1
            outcome.placed += result.placed
        open_ = feasible(minimum, outcome.scheduled, outcome.remaining) is not Feasible.IMPOSSIBLE
    if not open_:
        if outcome.status is not Status.ERROR:
            outcome.status = Status.UNSCHEDULABLE
            outcome.text = texts.groups_not_satisfiable(minimum, outcome.scheduled, outcome.remaining)
        give_up(outcome.placed, room)
    return outcome


def _not_reached(branch: Branch, status: Status = Status.UNTRIED, text: str = "") -> Outcome:
    """The outcome of a group of which nothing was tried."""
    return Outcome(
        branch,
        status,
        text,
        scheduled=branch.bound,
        remaining=len(branch.members) if branch.is_leaf else len(branch.children),
        untried=[pod for pod, _ in branch.members],
        children=[_not_reached(child) for child in branch.children],
    )


def _hand_down(outcome: Outcome, cause: Outcome | None) -> None:
    """Give the groups below `outcome` that were pulled down with it, or not reached, their status.

    `cause` is the group further up that pulled `outcome` down; None if its status is its own.
    """
    above = outcome if cause is None else cause
    for child in outcome.children:
        pulled = not above.succeeded and child.status in (Status.SUCCESS, Status.UNTRIED)
        if pulled:
            child.own = False
            child.status = above.status
            child.text = above.text
            if above.status is Status.UNSCHEDULABLE:
                name = above.branch.group.name
                child.text = texts.handed_down(name, above.text, parent=above is outcome)
            child.misfits, child.untried = [], [pod for pod, _ in child.branch.members]
        _hand_down(child, above if pulled else None)


class _Trial(NamedTuple):
    """How a group came out in the domain `name`, and the `room` of its nodes afterwards."""

    name: str
    room: Room
    outcome: Outcome


def _choose(branch: Branch, room: Room, *, alone: bool) -> Outcome:
    """Try a group in every placement that its constraint allows, and keep what it placed in the best.

    Outside a tree, the placement that most of its members are nominated to is tried first and, if
    anybody finds a place there, taken.
    """
    key = branch.group.topology_key
    assert key is not None
    try:
        numbers = candidates(room.roster, key, branch.all_running())
    except UndeterminedDomain as fault:
        return _not_reached(branch, Status.ERROR, str(fault))
    if not numbers:
        return _not_reached(branch, Status.UNSCHEDULABLE, texts.NO_PLACEMENTS)
    shown = numbers[0]
    if alone:
        pods = [pod for pod, _ in branch.members]
        nominated = most_nominated(room.roster, key, pods, numbers)
        if nominated is not None:
            trial = _try_domain(branch, room, nominated)
            if trial.outcome.succeeded and trial.outcome.placed:
                return _adopt(trial, room)
            shown = nominated
    if len(numbers) > 1 and can_survey(branch):
        return _choose_by_survey(branch, room, numbers, shown)
    if len(numbers) > 1 and can_step(branch, room):
        return _choose_in_lockstep(branch, room, numbers, shown)
    return _choose_by_trial(branch, room, numbers, shown)


def _choose_by_trial(branch: Branch, room: Room, numbers: Sequence[int], shown: int) -> Outcome:
    """Try `branch` in each of the domains `numbers`; if all refuse it, `shown` is the one reported."""
    trials = {}
    for number in numbers:
        trials[number] = _try_domain(branch, room, number)
        if trials[number].outcome.status is Status.ERROR:
            return trials[number].outcome
    good = [trial for trial in trials.values() if trial.outcome.succeeded]
    if good:
        allocatable, used = use_of_rooms(trial.room for trial in good)
        placed = [len(trial.outcome.placed) for trial in good]
        best = best_placement(placed, allocatable, used, room.profile.weights.node_resources_fit)
        return _adopt(good[best], room)
    return _refuse(
        trials[shown],
        tuple(
            shortfall(
                branch,
                trial.room,
                trial.name,
                scheduled=trial.outcome.scheduled,
                text=trial.outcome.text,
                misfits=_decisive(trial.outcome).misfits,
            )
            for trial in trials.values()
        ),
    )


def _decisive(refused: Outcome) -> Outcome:
    """The group in a refused one, or that itself, with which its minimum went out of reach."""
    below = [child for child in refused.children if child.status is Status.UNSCHEDULABLE]
    return _decisive(below[-1]) if below else refused


def _choose_by_survey(branch: Branch, room: Room, numbers: Sequence[int], shown: int) -> Outcome:
    """The same as `_choose_by_trial` at the price of one trial."""
    key = branch.group.topology_key
    assert key is not None
    found = survey(branch, room, key)
    good = np.array([number for number in numbers if found.tallies[number].succeeded], dtype=np.intp)
    if len(good):
        placed = np.array([found.tallies[number].placed for number in good.tolist()], dtype=np.int64)
        allocatable, used = (amounts.take(good, axis=1) for amounts in use_of_domains(room, key))
        used = use_with(placed, room.ask(found.shape), used)
        best = best_placement(placed, allocatable, used, room.profile.weights.node_resources_fit)
        return _adopt(_try_domain(branch, room, int(good[best])), room)
    return _refuse(_try_domain(branch, room, shown), shortfalls(branch, room, found, numbers))


def _choose_in_lockstep(branch: Branch, room: Room, numbers: Sequence[int], shown: int) -> Outcome:
    """The same where members differ in shape; only a refusal takes a trial of every domain."""
    key = branch.group.topology_key
    assert key is not None
    found = fill_domains(branch, room, key)
    good = [number for number in numbers if found.succeeded[number]]
    if not good:
        return _choose_by_trial(branch, room, numbers, shown)
    allocatable, _ = use_of_domains(room, key)
    placed, weight = found.placed[good].tolist(), room.profile.weights.node_resources_fit
    best = best_placement(placed, allocatable[:, good], found.used[:, good], weight)
    return _adopt(_try_domain(branch, room, good[best]), room)


def _try_domain(branch: Branch, room: Room, number: int) -> _Trial:
    """Try `branch` on the nodes of one domain of its key, in a room of its own."""
    key = branch.group.topology_key
    assert key is not None
    inner = room.within(key, number)
    return _Trial(room.roster.domains(key).names[number], inner, _try(branch, inner))


def _adopt(trial: _Trial, room: Room) -> Outcome:
    """Assume in `room` what was placed in a trial."""
    _assume(trial.outcome.placed, room)
    trial.outcome.domain = trial.name
    return trial.outcome


def _refuse(shown: _Trial, findings: tuple[PlacementFinding, ...]) -> Outcome:
    """The outcome where no placement will do, `shown` being the one that is reported."""
    outcome = shown.outcome
    outcome.text = texts.no_placement(len(findings), outcome.text)
    outcome.domain, outcome.placements = shown.name, findings
    return outcome
