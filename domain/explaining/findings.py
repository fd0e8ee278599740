"""What an attempt found, told as parts of an explanation."""

from collections.abc import Iterable
from typing import NamedTuple

from domain.amounts import quantity_of
from domain.events import GroupAttempted, GroupFinding, NodeReason, ResourceFinding, ShapeFinding
from domain.explaining.obstacles import obstacles
from domain.explanation import Attempt, Figures, Preemption, Reason, Shape
from domain.scheduling.texts import NEVER_PREEMPTS
from domain.state import State
from domain.times import rfc3339_micro

_GROUP_TAIL = ", pod group preemption: "
_POD_TAIL = " preemption: "


class Recorded(NamedTuple):
    """An attempt as it stands in the log, at `position`.

    `findings` is the attempt that holds what it found: itself, or where nothing new was found an
    earlier one, at `findings_position`.
    """

    position: int
    attempt: GroupAttempted
    findings_position: int
    findings: GroupAttempted


def attempt_part(recorded: Recorded) -> Attempt:
    """Which attempt it was."""
    attempt = recorded.attempt
    return Attempt(
        position=recorded.position,
        snapshot_position=attempt.snapshot,
        findings_position=recorded.findings_position,
        number=attempt.number,
        outcome=attempt.outcome,
        scheduler=attempt.scheduler,
        time=rfc3339_micro(attempt.at),
    )


def finding_of(recorded: Recorded | None, group: str | None) -> GroupFinding | None:
    """What was found for the group of subject `group`; None if nothing was."""
    if recorded is None:
        return None
    return next((found for found in recorded.findings.groups if found.group == group), None)


def shapes_part(state: State, shapes: Iterable[ShapeFinding]) -> tuple[Shape, ...]:
    """The Pods that fitted nowhere, by shape, and what about the nodes of `state` does not suit them."""
    return tuple(
        Shape(
            pods=names(shape.pods),
            requests={name: quantity_of(name, amount) for name, amount in shape.requests},
            message=shape.message,
            total_nodes=shape.total,
            nodes=tuple(map(_reason, shape.nodes)),
            resources=tuple(map(_figures, shape.resources)),
            obstacles=obstacles(state, shape),
        )
        for shape in shapes
    )


def fared(findings: GroupAttempted, pod: str) -> str:
    """How the member of key `pod` fared in a refused attempt of its group."""
    for group in findings.groups:
        fitted, untried = given_up(group)
        if pod in fitted:
            return "it had a place, which was given up with those of its group"
        if pod in untried:
            return "it was not tried: its group was out of reach before its turn"
        if pod in group.untried and group.placed:
            return "its group could have started, and was given up with the one above it"
    return "no node could take it"


def given_up(group: GroupFinding) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The members of a refused `group` that had a place, and those that were not tried, by key.

    Neither where a group above threw away what had been found for this one, and only some had a place:
    the attempt does not keep which. All have been tried where none remained.
    """
    if group.fitted or not group.placed:
        return group.fitted, group.untried if group.remaining else ()
    return (group.untried, ()) if group.placed == len(group.untried) else ((), ())


def preemption_part(recorded: Recorded, group: GroupFinding | None) -> Preemption | None:
    """What preemption made of the refusal of `group`, or of a Pod without one; None where there is
    nothing that it could have changed."""
    findings = recorded.findings
    if findings.outcome not in ("unschedulable", "waitingOnPreemption"):
        return None
    if group is not None:
        _, _, answer = group.message.removeprefix(group.text).partition(_GROUP_TAIL)
    else:
        shape = findings.shapes[0]
        if not shape.total:
            return None
        _, _, answer = shape.message.partition(_POD_TAIL)
    return Preemption(tried=answer != NEVER_PREEMPTS, outcome=answer, victims=findings.victims)


def names(keys: Iterable[str]) -> tuple[str, ...]:
    """The names in keys of one namespace."""
    return tuple(key.rpartition("/")[2] for key in keys)


def _reason(found: NodeReason) -> Reason:
    return Reason(
        reason=found.reason,
        filter=found.filter,
        count=found.count,
        preemption_may_help=found.preemption_may_help,
        examples=found.examples,
    )


def _figures(found: ResourceFinding) -> Figures:
    return Figures(
        name=found.name,
        asked=quantity_of(found.name, found.asked),
        free_on_best_node=quantity_of(found.name, found.free_on_best_node),
        free_in_cluster=quantity_of(found.name, found.free_in_cluster),
    )
