"""What an attempt found, in the form in which it is kept."""

from collections.abc import Iterator

from domain.events import GroupFinding, ShapeFinding
from domain.scheduling import texts
from domain.scheduling.diagnosis import Diagnosis
from domain.scheduling.leaf import Misfit
from domain.scheduling.tree import Outcome, Status
from domain.shapes import PodShape
from domain.state import State


def group_findings(state: State, outcome: Outcome, answer: str | None) -> tuple[GroupFinding, ...]:
    """One finding a group of the tree, parents first; `answer` is what preemption says to a refusal."""
    return tuple(_group_findings(state, outcome, None, answer))


def _group_findings(
    state: State, outcome: Outcome, parent: str | None, answer: str | None
) -> Iterator[GroupFinding]:
    group, refused = outcome.branch.group, outcome.status is Status.UNSCHEDULABLE
    leaf = outcome.branch.is_leaf
    own_refusal = leaf and refused and outcome.own
    yield GroupFinding(
        created=state.members_of(group.key).created if leaf else len(outcome.branch.children),
        domain=outcome.domain,
        fitted=tuple(placed.pod.key for placed in outcome.placed) if own_refusal else (),
        group=group.subject,
        message=texts.with_preemption(outcome.text, answer) if refused and answer else outcome.text,
        minimum=group.min_count,
        parent=parent,
        placed=len(outcome.placed),
        placements=outcome.placements,
        policy=group.policy,
        remaining=outcome.remaining,
        scheduled=outcome.scheduled,
        status=outcome.status.value,
        text=outcome.text,
        topology_key=group.topology_key,
        untried=tuple(pod.key for pod in outcome.untried),
    )
    for child in outcome.children:
        yield from _group_findings(state, child, group.subject, answer)


def shape_findings(outcome: Outcome) -> tuple[ShapeFinding, ...]:
    """For each PodGroup in turn, one finding a shape and text, the members of all its runs together."""
    findings: list[ShapeFinding] = []
    for below in outcome.each():
        merged: dict[tuple[PodShape, str], Misfit] = {}
        for misfit in below.misfits:
            key = (misfit.shape, misfit.diagnosis.message)
            if key in merged:
                merged[key].pods.extend(misfit.pods)
            else:
                merged[key] = Misfit(misfit.shape, misfit.diagnosis, list(misfit.pods))
        findings += (
            shape_finding(misfit.shape, misfit.diagnosis, tuple(pod.key for pod in misfit.pods))
            for misfit in merged.values()
        )
    return tuple(findings)


def shape_finding(
    shape: PodShape, diagnosis: Diagnosis, pods: tuple[str, ...], preemption: str | None = None
) -> ShapeFinding:
    """What kept `pods`, which have one `shape`, off every node; `preemption` stands after it."""
    message = diagnosis.message if preemption is None else f"{diagnosis.message} {preemption}"
    return ShapeFinding(
        message=message,
        nodes=diagnosis.nodes,
        pods=pods,
        requests=shape.requests,
        resources=diagnosis.resources,
        total=diagnosis.total,
    )
