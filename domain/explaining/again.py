"""An attempt made once more at its snapshot, for what the log does not keep of it.

Deciding is deterministic, so that what is seen now is what was seen then.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from domain.events import GroupAttempted, ShapeFinding
from domain.explaining.findings import Recorded
from domain.explaining.needs import branch_for, members_of
from domain.explanation import Explanation, Fate, TreeNode
from domain.objects import POD_GROUP, Pod
from domain.queue import Entity
from domain.room import Room
from domain.scheduling.diagnosis import Diagnosis, diagnose
from domain.scheduling.leaf import nominated_row
from domain.scheduling.place import place
from domain.scheduling.preemption import room_for
from domain.scheduling.record import shape_findings
from domain.scheduling.rules import shaped
from domain.scheduling.tree import Outcome, Placed, give_up, inside, run_tree, try_tree
from domain.shapes import PodShape
from domain.state import State

_REFUSED = (Fate.UNSCHEDULABLE, Fate.WAITING_ON_PREEMPTION, Fate.PARTLY_SCHEDULED)


class Turn(NamedTuple):
    """The moment at which `pod` was tried, in `room` as it was then, which is changed later.

    `where` is the domain that its groups have, `node` the one it got or would have got.
    """

    pod: Pod
    shape: PodShape
    room: Room
    where: str | None
    node: str | None


class Again(NamedTuple):
    """An attempt as recorded, and the State that it was decided on."""

    recorded: Recorded
    state: State

    @property
    def attempt(self) -> GroupAttempted:
        """The attempt itself; what it found may stand in an earlier one."""
        return self.recorded.attempt

    @property
    def entity(self) -> Entity:
        """What was tried, as it waited then."""
        return self.state.queue.entities[self.attempt.entity]

    def turns(self) -> Iterator[Turn]:
        """The turns of all Pods that were tried, in the order of the cycle; of those of one shape that
        fitted nowhere in a PodGroup the first. Each is valid until the next is asked for."""
        if self.attempt.outcome == "error":
            return iter(())
        if self.entity.is_pod:
            return iter((self._turn_of_pod(),))
        outcome, room = self._outcome(), self._room()
        placed = outcome.succeeded and outcome.placed
        return _turns_placed(outcome, room) if placed else _turns_refused(outcome, room, None)

    def misfits(self) -> tuple[ShapeFinding, ...]:
        """The members of a tree that fitted nowhere, those of groups that were given up, too."""
        return shape_findings(self._outcome())

    def starts_lean(self) -> bool:
        """Whether the tree would have started if each group had got its minimum first."""
        outcome = run_tree(branch_for(self.state, self.entity), self._room(), lean=True)
        return outcome.succeeded and outcome.lean

    def diagnosis(self) -> Diagnosis:
        """What kept a single Pod off every node."""
        turn = self._turn_of_pod()
        return diagnose(turn.room, turn.shape)

    def single_pod(self) -> Pod:
        """The Pod that was tried by itself."""
        return self.state.pods[self.entity.key]

    def _turn_of_pod(self) -> Turn:
        pod = self.single_pod()
        ((_, shape),) = shaped(self.state, [pod])
        room = room_for(self.state, pod.spec.priority, [pod])
        row = nominated_row(room, pod, shape)
        if row is None:
            rows = place(room, shape, 1)
            row = rows[0] if rows else None
            for each in rows:
                room.forget(each, shape)
        return Turn(pod, shape, room, None, None if row is None else room.names[row])

    def _outcome(self) -> Outcome:
        """How the groups came out, each by itself."""
        lean = self.state.config.siblings == "lean"
        return try_tree(branch_for(self.state, self.entity), self._room(), lean=lean)

    def _room(self) -> Room:
        return room_for(self.state, self.entity.priority, members_of(self.state, self.entity))


def tells_more(told: Explanation) -> bool:
    """Whether an attempt that is made again has something to tell at level 1."""
    return lean_could_help(told) or nothing_more_fits(told)


def nothing_more_fits(told: Explanation) -> bool:
    """Whether a tree was refused although all the groups that it needs have their minimum: members beyond
    that fit nowhere, and the attempt does not keep why."""
    root = told.tree
    return root is not None and root.placeable is not None and root.placeable >= root.min_count


def lean_could_help(told: Explanation) -> bool:
    """Whether a refused tree has groups below its root that may take more than their minimum, which alone
    makes the lean division another one."""
    return (
        told.tree is not None
        and told.attempt is not None
        and told.attempt.outcome in ("unschedulable", "waitingOnPreemption")
        and told.verdict in _REFUSED
        and _has_extra(told.tree)
    )


def _has_extra(node: TreeNode) -> bool:
    return any(child.created > child.min_count or _has_extra(child) for child in node.children)


def _turns_placed(outcome: Outcome, room: Room) -> Iterator[Turn]:
    """The turns of those who found a place in a tree that started."""
    domains = dict(_domains(outcome, ()))
    for placed in outcome.placed:
        inner, where = room, None
        for key, name in domains[f"{POD_GROUP}/{placed.pod.group}"]:
            inner, where = inner.inside(key, name), name
        yield Turn(placed.pod, placed.shape, inner, where, placed.node)
        room.assume(room.roster.row[placed.node], placed.shape)


_Domains = tuple[tuple[str, str], ...]
"""Labels with the values that a group and those above it have been given, the root first."""


def _domains(outcome: Outcome, above: _Domains) -> Iterator[tuple[str, _Domains]]:
    """The groups of a tree by subject, each with its domains."""
    key = outcome.branch.group.topology_key
    held = above if key is None or outcome.domain is None else (*above, (key, outcome.domain))
    yield outcome.branch.group.subject, held
    for child in outcome.children:
        yield from _domains(child, held)


def _turns_refused(outcome: Outcome, room: Room, where: str | None) -> Iterator[Turn]:
    """The turns in a tree that was refused, or a part of it; `room` is as before afterwards."""
    inner = inside(outcome, room)
    if inner is not room:
        where = outcome.domain
    if outcome.branch.is_leaf:
        yield from _turns_of_leaf(outcome, inner, where)
        return
    kept: list[Placed] = []
    for child in outcome.children:
        yield from _turns_refused(child, inner, where)
        if child.succeeded:
            kept += child.placed
            _put(child.placed, inner)
    give_up(kept, inner)


def _turns_of_leaf(outcome: Outcome, room: Room, where: str | None) -> Iterator[Turn]:
    for number, placed in enumerate(outcome.placed):
        yield from _misfits(outcome, number, room, where)
        yield Turn(placed.pod, placed.shape, room, where, placed.node)
        _put([placed], room)
    yield from _misfits(outcome, len(outcome.placed), room, where)
    give_up(outcome.placed, room)


def _misfits(outcome: Outcome, after: int, room: Room, where: str | None) -> Iterator[Turn]:
    """The turns of those who fitted nowhere after so many others had a place."""
    for misfit in outcome.misfits:
        if misfit.after == after:
            yield Turn(misfit.pods[0], misfit.shape, room, where, None)


def _put(placed: Sequence[Placed], room: Room) -> None:
    for each in placed:
        room.assume(room.roster.row[each.node], each.shape)
