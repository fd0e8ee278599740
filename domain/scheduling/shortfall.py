"""What a domain lacks for a group that has to be in one domain as a whole."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from domain.events import PlacementFinding
from domain.resources import PODS, at_rest, shortage
from domain.room import Room
from domain.roster import Whole
from domain.scheduling import texts
from domain.scheduling.branch import Branch
from domain.scheduling.eligibility import eligibility
from domain.scheduling.evaluate import evaluate
from domain.scheduling.leaf import Misfit
from domain.scheduling.messages import fit_error
from domain.scheduling.survey import Survey, Tally
from domain.shapes import PodShape


def shortfall(
    branch: Branch, room: Room, name: str, *, scheduled: int, text: str, misfits: Sequence[Misfit]
) -> PlacementFinding:
    """Why `branch` did not do in the domain `name`, whose nodes are those of `room`, as they were before.

    `scheduled` and `text` are those of its outcome there, `misfits` those of the PodGroup that decided it.
    """
    found = PlacementFinding(domain=name, nodes=len(room), reason=text, scheduled=scheduled)
    if not misfits:
        return found
    shape, diagnosis = misfits[0].shape, misfits[0].diagnosis
    counts: dict[str, int] = {}
    for said in diagnosis.nodes:
        counts[said.reason] = counts.get(said.reason, 0) + said.count
    reason = min(counts, key=lambda reason: (-counts[reason], reason), default=diagnosis.message)
    found = replace(found, reason=reason)
    resource = _resources_by_reason(shape).get(reason)
    if resource is None:
        return found
    return _short_of(found, resource, _asked(branch, resource), sum(_free(room, shape, resource).tolist()))


def shortfalls(
    branch: Branch, room: Room, found: Survey, numbers: Sequence[int]
) -> tuple[PlacementFinding, ...]:
    """The same for the domains `numbers` of a survey, in none of which `branch` succeeds."""
    nodes = found.domains.sums(np.ones(len(room), dtype=np.int64)).tolist()
    reasons = _most_said(room, found, nodes)
    resources = _resources_by_reason(found.shape)
    short = {reason: resources[reason] for reason in dict.fromkeys(reasons) if reason in resources}
    asked = {reason: _asked(branch, resource) for reason, resource in short.items()}
    free = {
        reason: found.domains.sums(_free(room, found.shape, resource)).tolist()
        for reason, resource in short.items()
    }
    findings = []
    for number in numbers:
        tally = found.tallies[number]
        reason = _text(branch, tally) or reasons[number]
        finding = PlacementFinding(
            domain=found.domains.names[number],
            nodes=nodes[number],
            reason=reason,
            scheduled=tally.scheduled,
        )
        if reason in short:
            finding = _short_of(finding, short[reason], asked[reason], free[reason][number])
        findings.append(finding)
    return tuple(findings)


def _short_of(found: PlacementFinding, resource: str, asked: int, free: int) -> PlacementFinding:
    """`found`, of which the reason is that too little of `resource` is free, with the amounts."""
    return replace(found, resource=resource, asked=at_rest(asked), free=at_rest(free))


def _text(branch: Branch, tally: Tally) -> str | None:
    """The text of a group that was refused without a look at a member; else None."""
    if tally.misfit:
        return None
    minimum = branch.group.min_count
    if not branch.is_leaf:
        return texts.groups_not_satisfiable(minimum, tally.scheduled, tally.remaining)
    return texts.flagged(texts.minimum_not_satisfiable(minimum, tally.scheduled, tally.remaining))


def _asked(branch: Branch, resource: str) -> int:
    """How much of `resource` the members ask for that a group needs, in the order of the cycle."""
    if not branch.is_leaf:
        return sum(_asked(child, resource) for child in branch.children[: branch.group.min_count])
    needed = branch.members[: max(branch.group.min_count - branch.bound, 1)]
    return sum(1 if resource == PODS else shape.requested(resource) for _, shape in needed)


def _free(room: Room, shape: PodShape, resource: str) -> Whole:
    """What is left of `resource` on each node, 0 on those that `shape` cannot have."""
    column = room.roster.column.get(resource)
    if column is None:
        return np.zeros(len(room), dtype=np.int64)
    free: Whole = np.where(eligibility(room, shape).allowed, np.maximum(room.free(column), 0), 0)
    return free


def _resources_by_reason(shape: PodShape) -> dict[str, str]:
    return {shortage(resource): resource for resource in (PODS, *(name for name, _ in shape.requests))}


def _most_said(room: Room, found: Survey, nodes: Sequence[int]) -> list[str]:
    """What most nodes of each domain say once as many Pods as fit are there, of equals the first text."""
    evaluation = evaluate(room.filled(found.capacity(), found.shape), found.shape)
    if evaluation.prefilter is not None:
        return [fit_error(count, {}, evaluation.prefilter) for count in nodes]
    counts: dict[str, Whole] = {}
    for verdict in evaluation.verdicts:
        for reason, mask in verdict.reasons.items():
            counts[reason] = counts.get(reason, 0) + found.domains.sums(mask.astype(np.int64))
    if not counts:  # no filter that is on refuses a Pod: groups or Pods are too few
        return [""] * len(nodes)
    reasons = sorted(counts)
    most = np.argmax(np.stack([counts[reason] for reason in reasons]), axis=0)
    return [reasons[index] for index in most.tolist()]
