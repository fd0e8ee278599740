"""Why a Pod is on its node, or waits."""

from msgspec.structs import replace

from domain.explaining.causes import cause_of_misfit
from domain.explaining.evictions import eviction_part
from domain.explaining.findings import Recorded, attempt_part, fared, names, shapes_part
from domain.explaining.outlook import where_it_waits
from domain.explaining.question import Binding, Question, in_queue, quorum_part, ref_of, refused
from domain.explaining.trees import in_tree
from domain.explanation import Explanation, Fate, OnNode
from domain.objects import Pod, Standing
from domain.queue import Entity, Verdict
from domain.refusals import SCHEDULER_ERROR
from domain.scheduling.texts import GATED_MESSAGE, successfully_assigned
from domain.times import rfc3339, rfc3339_micro

_REJECTED = (Fate.UNSCHEDULABLE, Fate.WAITING_ON_PREEMPTION)


def explain_pod(question: Question, pod: Pod) -> Explanation:
    """The explanation of `pod`."""
    state = question.state
    group = None if pod.group is None else state.groups.get(pod.group)
    told = Explanation(
        object=ref_of("Pod", pod.key, pod.uid),
        at=question.at,
        verdict=Fate.PRESENT,
        attempts=pod.attempts,
        phase=pod.phase,
        quorum=None if group is None else quorum_part(question, group),
        evicted=eviction_part(question),
        group=None if group is None else group.subject,
    )
    told = _explained(question, told, pod)
    return told if group is None else in_tree(question, told, group)


def _explained(question: Question, told: Explanation, pod: Pod) -> Explanation:
    state = question.state
    standing = state.standing(pod)
    if standing is Standing.PENDING:
        return _waiting(question, told, pod)
    if pod.node is not None:
        return _placed(question, told, pod)
    if standing is Standing.ENDED:
        return replace(told, note=f"it ended ({pod.phase}) without ever having a node")
    scheduler = pod.spec.scheduler
    return replace(told, note=f"another scheduler places it: spec.schedulerName is {scheduler}{_dying(pod)}")


def _placed(question: Question, told: Explanation, pod: Pod) -> Explanation:
    binding, attempt = question.binding, question.attempt
    node = str(pod.node)
    if binding is not None:
        since: int | None = binding.at
    else:
        since = None if pod.condition is None else pod.condition.since
    note = f"it ended ({pod.phase}) on {node}" if pod.terminal else f"it is on {node}"
    if node not in question.state.node_records:
        note += ", a node that has left the cluster"
    return replace(
        told,
        verdict=Fate.SCHEDULED,
        summary="" if binding is None else successfully_assigned(pod.key, node),
        note=f"{note}, {_bound_by(attempt, binding)}{_dying(pod)}",
        attempt=None if attempt is None else attempt_part(attempt),
        bound=(OnNode(node=node, pods=names([pod.key])),),
        since=None if since is None else rfc3339_micro(since),
    )


def _bound_by(attempt: Recorded | None, binding: Binding | None) -> str:
    if binding is None:
        return "put there by its manifest"
    if attempt is None:
        return f"bound at position {binding.position}"
    return f"bound by attempt {attempt.attempt.number} at position {attempt.position}"


def _dying(pod: Pod) -> str:
    deletion = pod.deletion
    if deletion is None or pod.terminal:
        return ""
    return f"; it is being deleted since {rfc3339(deletion.at)}, with {deletion.grace} s of grace"


def _waiting(question: Question, told: Explanation, pod: Pod) -> Explanation:
    state, attempt = question.state, question.attempt
    entity = state.entity_of(pod)
    assert entity is not None, "a pending Pod waits as an entity"
    verdict = _verdict(pod, entity)
    told = replace(
        in_queue(question, told, entity),
        verdict=verdict,
        summary=_summary(pod, entity),
        note=f"{_note(question, pod, entity, verdict)}{_dying(pod)}",
        attempts=pod.attempts,
    )
    if attempt is None or verdict not in (*_REJECTED, Fate.SCHEDULER_ERROR):
        return told
    own = [shape for shape in attempt.findings.shapes if pod.key in shape.pods]
    told = replace(told, shapes=shapes_part(state, own or attempt.findings.shapes))
    if entity.is_pod and own and not question.brief:
        told = replace(told, cause=cause_of_misfit(state, own[0]))
    return refused(question, told, entity)


def _verdict(pod: Pod, entity: Entity) -> Fate:
    if entity.hold is not None:
        return Fate.GATED
    if pod.condition is None or pod.condition.status == "True":
        return Fate.PENDING
    if pod.condition.reason == SCHEDULER_ERROR:
        return Fate.SCHEDULER_ERROR
    return Fate.WAITING_ON_PREEMPTION if entity.verdict is Verdict.WAITING else Fate.UNSCHEDULABLE


def _summary(pod: Pod, entity: Entity) -> str:
    if entity.hold is not None:
        return GATED_MESSAGE if pod.spec.gates else entity.hold.text
    return "" if pod.condition is None else pod.condition.message


def _note(question: Question, pod: Pod, entity: Entity, verdict: Fate) -> str:
    stands = where_it_waits(question.state, entity, question.now)
    if entity.is_pod or entity.hold is not None:
        return stands
    if verdict is Fate.PENDING and entity.attempts:
        return f"it came after the last attempt of its group; {stands}"
    if verdict in _REJECTED and question.attempt is not None:
        return f"{fared(question.attempt.findings, pod.key)}; {stands}"
    return stands
