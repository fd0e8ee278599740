"""Why a PodGroup or a CompositePodGroup is placed, waits, or has nothing that could wait."""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from domain.explaining.evictions import eviction_part
from domain.explaining.findings import attempt_part, finding_of, given_up, names, shapes_part
from domain.explaining.outlook import where_it_waits
from domain.explaining.question import (
    Question,
    ended_below,
    group_verdict,
    in_queue,
    quorum_part,
    ref_of,
    refused,
)
from domain.explaining.trees import in_tree
from domain.explaining.wording import number_of, pods_named, so_many
from domain.explanation import Explanation, OnNode
from domain.objects import POD_GROUP, Group, Pod
from domain.queue import Entity, Verdict
from domain.state import State
from domain.times import rfc3339, rfc3339_micro


def explain_group(question: Question, group: Group) -> Explanation:
    """The explanation of a PodGroup or a CompositePodGroup."""
    state = question.state
    bound = state.bound_below(group.kind, group.key)
    entity = state.entity_with(group.kind, group.key)
    ended = ended_below(state) if entity is None else Counter[str | None]()
    told = Explanation(
        object=ref_of(group.kind, group.key, group.uid),
        at=question.at,
        verdict=group_verdict(question, group, entity, ended),
        attempts=0 if question.attempt is None else question.attempt.attempt.number,
        quorum=quorum_part(question, group),
        attempt=None if question.attempt is None else attempt_part(question.attempt),
        bound=_by_node(state, bound),
        since=_since(bound),
        evicted=eviction_part(question, whole=group.disruption is not None),
    )
    if entity is None:
        return in_tree(question, _resting(question, told, group, ended), group)
    return in_tree(question, _waiting(question, told, group, entity), group)


def _resting(question: Question, told: Explanation, group: Group, ended: Counter[str | None]) -> Explanation:
    """A group of which nothing waits: all members are placed or have ended, or there are none."""
    state = question.state
    leaves = state.leaves_of(group.kind, group.key)
    on_nodes, over = sum(len(each.pods) for each in told.bound), sum(ended[leaf] for leaf in leaves)
    if on_nodes or over:
        short = "" if over else below_minimum(state, group)
        parts = [f"{so_many(on_nodes, 'member')} on nodes{short}"] if on_nodes else []
        parts += [f"{over} ended"] if over else []
        return replace(told, note=f"{', '.join(parts)}, none waits{_leaving(state, group)}{_dying(group)}")
    return replace(told, note=f"{_without_members(state, group)}{_dying(group)}")


def _without_members(state: State, group: Group) -> str:
    """Why nothing could ever wait for a group."""
    leaves = state.leaves_of(group.kind, group.key)
    foreign = sum(len(state.members_of(leaf).foreign) for leaf in leaves)
    if group.kind == POD_GROUP:
        return f"another scheduler places the {foreign} Pods that name it" if foreign else "no Pod names it"
    if foreign:
        return f"another scheduler places the {foreign} Pods below it"
    return "no Pod names a group below it" if leaves else "no PodGroup is below it"


def _waiting(question: Question, told: Explanation, group: Group, entity: Entity) -> Explanation:
    state = question.state
    stands = where_it_waits(state, entity, question.now)
    if told.bound:
        on_nodes = sum(len(each.pods) for each in told.bound)
        leaves = state.leaves_of(group.kind, group.key)
        waiting = sum(len(state.members_of(leaf).pending) for leaf in leaves)
        stands = (
            f"{so_many(on_nodes, 'member')} on nodes, {waiting} waiting{_leaving(state, group)}; {stands}"
        )
    told = replace(
        in_queue(question, told, entity),
        summary=_summary(question, group, entity),
        note=f"{stands}{_dying(group)}",
    )
    found = finding_of(question.attempt, group.subject)
    if entity.hold is not None or question.attempt is None or found is None:
        return told
    fitted, untried = given_up(found)
    told = replace(
        told,
        shapes=shapes_part(state, question.attempt.findings.shapes),
        fitted=names(fitted),
        untried=names(untried),
    )
    return refused(question, told, entity)


def _summary(question: Question, group: Group, entity: Entity) -> str:
    if entity.hold is not None:
        return entity.hold.text
    if entity.verdict is Verdict.UNTRIED:
        return ""
    found = finding_of(question.attempt, group.subject)
    if found is not None and found.message:
        return found.message
    if group.kind != POD_GROUP:
        return ""
    pods = map(question.state.pods.__getitem__, question.state.members_of(group.key).pending)
    return next((pod.condition.message for pod in pods if pod.condition is not None), "")  # a failed binding


def below_minimum(state: State, group: Group) -> str:
    """That fewer members of a PodGroup run than its minimum; empty if that is not so."""
    if group.kind != POD_GROUP:
        return ""
    lacking = group.min_count - len(state.members_of(group.key).bound)
    return f", {lacking} fewer than its minimum of {group.min_count}" if lacking > 0 else ""


def _leaving(state: State, group: Group) -> str:
    """Which members on nodes are being deleted; empty if none is."""
    leaving = [pod for pod in state.bound_below(group.kind, group.key) if pod.deletion is not None]
    if not leaving:
        return ""
    return f"; {pods_named(leaving)} {number_of(len(leaving), 'is', 'are')} being deleted and still there"


def _dying(group: Group) -> str:
    if group.deletion is None:
        return ""
    return f"; its deletion, asked for at {rfc3339(group.deletion.at)}, waits for its Pods"


def _by_node(state: State, pods: Iterable[Pod]) -> tuple[OnNode, ...]:
    """Pods of one namespace by node, nodes by name."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        found.setdefault(str(pod.node), []).append(pod.key)
    return tuple(
        OnNode(node=node, pods=names(keys), gone=node not in state.node_records)
        for node, keys in sorted(found.items())
    )


def _since(bound: Iterable[Pod]) -> str | None:
    """When the last of the members on nodes got there."""
    moments = [pod.condition.since for pod in bound if pod.condition is not None]
    return rfc3339_micro(max(moments)) if moments else None
