"""The leaf algorithm: try the members of one PodGroup, all or nothing.

Source: kube-scheduler 1.37, PodGroup scheduling cycle and GangScheduling's PlacementFeasible;
KEP-4671.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from domain.objects import Pod
from domain.room import Room
from domain.scheduling import texts
from domain.scheduling.diagnosis import Diagnosis, diagnose
from domain.scheduling.evaluate import fits
from domain.scheduling.place import place
from domain.shapes import PodShape

Member: TypeAlias = tuple[Pod, PodShape]


class Feasible(enum.Enum):
    """Whether a group can still, or already does, meet its minimum."""

    MET = "met"
    POSSIBLE = "possible"
    IMPOSSIBLE = "impossible"


def feasible(minimum: int, scheduled: int, remaining: int) -> Feasible:
    """The quorum check: `scheduled` members have a place, `remaining` are still to be tried."""
    if remaining + scheduled < minimum:
        return Feasible.IMPOSSIBLE
    return Feasible.POSSIBLE if scheduled < minimum else Feasible.MET


@dataclass
class Misfit:
    """Members of one shape that found no node, and what kept them off; `after` others had a place."""

    shape: PodShape
    diagnosis: Diagnosis
    pods: list[Pod]
    after: int = 0


@dataclass
class LeafResult:
    """How a leaf came out. `text` is empty on success, else the group's text before preemption.

    `placed` are (member, row of the room) in the order of the cycle. On a refusal they have been
    given up again in the room. `untried` are the members that a stop left.
    """

    succeeded: bool
    text: str = ""
    scheduled: int = 0
    remaining: int = 0
    placed: list[tuple[Pod, int]] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)
    untried: list[Pod] = field(default_factory=list)


def run_leaf(
    room: Room,
    members: Sequence[Member],
    *,
    minimum: int,
    bound: int,
    most: int | None = None,
) -> LeafResult:
    """Try `members` in order; `bound` others of the group have a node already.

    Goes on beyond the minimum until `most` are placed, and stops as soon as it is out of reach. A
    member with a nominated node takes that one if it can. What was placed stays assumed in `room` if
    the leaf succeeds.
    """
    result = LeafResult(succeeded=False, scheduled=bound, remaining=len(members))
    if feasible(minimum, bound, len(members)) is Feasible.IMPOSSIBLE:
        result.text = texts.flagged(texts.minimum_not_satisfiable(minimum, bound, len(members)))
        result.untried = [pod for pod, _ in members]
        return result
    start = 0
    while start < len(members) and (most is None or len(result.placed) < most):
        if _take_nominated(room, members[start], result):
            start += 1
            continue
        shape = members[start][1]
        end = start + 1
        while end < len(members) and members[end][1] is shape and members[end][0].nominated is None:
            end += 1
        if most is not None:
            end = min(end, start + most - len(result.placed))
        stopped_at = _try_run(room, members[start:end], shape, minimum, result)
        if stopped_at is not None:
            result.text = texts.minimum_not_satisfiable(minimum, result.scheduled, result.remaining)
            result.untried = [pod for pod, _ in members[start + stopped_at :]]
            _give_up(room, members, result)
            return result
        start = end
    result.untried = [pod for pod, _ in members[start:]]
    result.succeeded = True
    return result


def _take_nominated(room: Room, member: Member, result: LeafResult) -> bool:
    """Put a member on its nominated node, without a look at the scores, if it fits there."""
    pod, shape = member
    row = nominated_row(room, pod, shape)
    if row is None:
        return False
    room.assume(row, shape)
    result.placed.append((pod, row))
    result.scheduled += 1
    result.remaining -= 1
    return True


def nominated_row(room: Room, pod: Pod, shape: PodShape) -> int | None:
    """The row of the node that `pod` is nominated to; None if there is none or it does not fit there."""
    row = None if pod.nominated is None else room.roster.row.get(pod.nominated)
    return row if row is not None and fits(room, shape, row) else None


def _try_run(
    room: Room,
    run: Sequence[Member],
    shape: PodShape,
    minimum: int,
    result: LeafResult,
) -> int | None:
    """Try members of one shape; the index of the first one not tried after an early stop.

    When one of them fits nowhere, nothing changes, so that those after it do not fit either.
    """
    rows = place(room, shape, len(run))
    result.placed.extend((pod, row) for (pod, _), row in zip(run, rows, strict=False))
    result.scheduled += len(rows)
    result.remaining -= len(rows)
    if len(rows) == len(run):
        return None
    misfit = Misfit(shape, diagnose(room, shape), [], after=len(result.placed))
    result.misfits.append(misfit)
    for index in range(len(rows), len(run)):
        misfit.pods.append(run[index][0])
        result.remaining -= 1
        if feasible(minimum, result.scheduled, result.remaining) is Feasible.IMPOSSIBLE:
            return index + 1
    return None


def _give_up(room: Room, members: Sequence[Member], result: LeafResult) -> None:
    shapes = {pod.key: shape for pod, shape in members}
    for pod, row in reversed(result.placed):
        room.forget(row, shapes[pod.key])
