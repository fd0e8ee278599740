"""Why a PodGroup is placed, waits, or has nothing that could wait."""

from collections.abc import Iterable

from msgspec.structs import replace

from domain.explaining.findings import attempt_part, finding_of, names, shapes_part
from domain.explaining.outlook import count_of, where_it_waits
from domain.explaining.question import Question, in_queue, quorum_part, ref_of, refused
from domain.explanation import Explanation, Fate, OnNode
from domain.objects import Group, Members, Pod
from domain.queue import Entity, Verdict
from domain.times import rfc3339, rfc3339_micro


def explain_group(question: Question, group: Group) -> Explanation:
    """The explanation of `group`."""
    state = question.state
    bound = [state.pods[key] for key in state.members_of(group.key).bound]
    told = Explanation(
        object=ref_of("PodGroup", group.key, group.uid),
        at=question.at,
        verdict=Fate.SCHEDULED,
        attempts=0 if question.attempt is None else question.attempt.attempt.number,
        quorum=quorum_part(question, group),
        attempt=None if question.attempt is None else attempt_part(question.attempt),
        bound=_by_node(bound),
        since=_since(bound),
    )
    entity = state.entity_with(group.kind, group.key)
    if entity is None:
        return _resting(question, told, group)
    return _waiting(question, told, group, entity)


def _resting(question: Question, told: Explanation, group: Group) -> Explanation:
    """A group of which nothing waits: all members are placed or have ended, or there are none."""
    members = question.state.members_of(group.key)
    ended = sum(1 for pod in question.state.pods.values() if pod.group == group.key and pod.terminal)
    if members.bound or ended:
        parts = [f"{count_of(len(members.bound))} on nodes"] if members.bound else []
        parts += [f"{ended} ended"] if ended else []
        return replace(told, note=f"{', '.join(parts)}, none waits{_dying(group)}")
    if members.foreign:
        note = f"another scheduler places the {len(members.foreign)} Pods that name it"
    else:
        note = "no Pod names it"
    return replace(told, verdict=Fate.GATED, note=f"{note}{_dying(group)}")


def _waiting(question: Question, told: Explanation, group: Group, entity: Entity) -> Explanation:
    stands = where_it_waits(question.state, entity, question.now)
    members = question.state.members_of(group.key)
    if members.bound:
        stands = f"{count_of(len(members.bound))} on nodes, {len(members.pending)} waiting; {stands}"
    told = replace(
        in_queue(question, told, entity),
        verdict=_verdict(members, entity),
        summary=_summary(question, group, entity),
        note=f"{stands}{_dying(group)}",
    )
    found = finding_of(question.attempt, group.subject)
    if entity.hold is not None or question.attempt is None or found is None:
        return told
    told = replace(
        told,
        shapes=shapes_part(question.attempt.findings.shapes),
        fitted=names(found.fitted),
        untried=names(found.untried),
    )
    return refused(question, told, entity)


def _verdict(members: Members, entity: Entity) -> Fate:
    if members.bound:
        return Fate.PARTLY_SCHEDULED
    if entity.hold is not None:
        return Fate.GATED
    match entity.verdict:
        case Verdict.UNTRIED:
            return Fate.PENDING
        case Verdict.REJECTED:
            return Fate.UNSCHEDULABLE
        case Verdict.WAITING:
            return Fate.WAITING_ON_PREEMPTION
        case Verdict.ERROR:
            return Fate.SCHEDULER_ERROR


def _summary(question: Question, group: Group, entity: Entity) -> str:
    if entity.hold is not None:
        return entity.hold.text
    if entity.verdict is Verdict.UNTRIED:
        return ""
    found = finding_of(question.attempt, group.subject)
    if found is not None and found.message:
        return found.message
    pods = map(question.state.pods.__getitem__, question.state.members_of(group.key).pending)
    return next((pod.condition.message for pod in pods if pod.condition is not None), "")  # a failed binding


def _dying(group: Group) -> str:
    if group.deletion is None:
        return ""
    return f"; its deletion, asked for at {rfc3339(group.deletion.at)}, waits for its Pods"


def _by_node(pods: Iterable[Pod]) -> tuple[OnNode, ...]:
    """Pods of one namespace by node, nodes by name, Pods in the order of arrival."""
    found: dict[str, list[str]] = {}
    for pod in sorted(pods, key=lambda pod: pod.arrival):
        found.setdefault(str(pod.node), []).append(pod.key)
    return tuple(OnNode(node=node, pods=names(keys)) for node, keys in sorted(found.items()))


def _since(bound: Iterable[Pod]) -> str | None:
    """When the last of the members on nodes got there."""
    moments = [pod.condition.since for pod in bound if pod.condition is not None]
    return rfc3339_micro(max(moments)) if moments else None
