"""Why an object is placed, waits or is held, from the State and what the log says of its attempt.

A pure function: the same State, moment and attempt give the same explanation. What is not in the
State is passed in by whoever reads the log: the attempt that the verdict comes from (`attempt_at`
says where it stands) and the binding of a Pod.
"""

from collections.abc import Mapping
from typing import Any

from domain.explaining.findings import Recorded, attempt_part
from domain.explaining.groups import explain_group
from domain.explaining.others import explain_kept, explain_node
from domain.explaining.pods import explain_pod
from domain.explaining.question import Binding, Evicted, Question, ref_of
from domain.explanation import Explanation, Fate, Moment, ObjectRef, title
from domain.state import State
from domain.times import rfc3339, rfc3339_micro


def attempt_at(state: State, kind: str, key: str) -> int | None:
    """The position of the attempt that explains why an object waits; None if the State knows of none.

    A Pod that came after the attempt of its group was not in it.
    """
    if kind != "Pod":
        entity = state.entity_with(kind, key)
        return None if entity is None else entity.last_attempt or None
    pod = state.pods.get(key)
    entity = None if pod is None else state.entity_of(pod)
    if pod is None or entity is None or pod.arrival > entity.snapshot:
        return None
    return entity.last_attempt or None


def explain(
    state: State,
    kind: str,
    key: str,
    *,
    now: int,
    attempt: Recorded | None = None,
    binding: Binding | None = None,
    eviction: Evicted | None = None,
    brief: bool = False,
) -> Explanation:
    """Why the object is where it is at `now` (microseconds). Raises KeyError if there is no such object.

    `attempt` is the one at `attempt_at`, or else the one that bound the object; `binding` is a
    Pod's, which counts as bound from outside without it. `brief` leaves out the tree of a group.
    """
    question = Question(state, now, attempt, binding, eviction, brief)
    match kind:
        case "Pod":
            return explain_pod(question, state.pods[key])
        case "PodGroup" | "CompositePodGroup":
            return explain_group(question, state.groups_of(kind)[key])
        case "Node":
            return explain_node(question, state.node_records[key])
        case _:
            return explain_kept(question, kind, state.kept[kind][key])


def explain_system_class(state: State, name: str, body: Mapping[str, Any], *, now: int) -> Explanation:
    """The explanation of a PriorityClass that every cluster has, whose manifest is `body`."""
    return Explanation(
        object=ref_of("PriorityClass", name, body["metadata"]["uid"]),
        at=Moment(position=state.position, time=rfc3339_micro(now)),
        verdict=Fate.PRESENT,
        note=f"it gives priority {body['value']}, in every cluster from the start",
    )


def explain_deleted(
    ref: ObjectRef,
    *,
    at: Moment,
    position: int,
    gone_us: int,
    before: Explanation | None,
    attempt: Recorded | None,
) -> Explanation:
    """The explanation of an object that went with the event at `position`, at `gone_us` microseconds.

    `before` is how it was when there was something to tell, `attempt` the last one that concerned
    it, if any did.
    """
    return Explanation(
        object=ref,
        at=at,
        verdict=Fate.DELETED,
        note=f"it was deleted at {rfc3339(gone_us)}, position {position}{_preempted(before)}",
        attempts=0 if attempt is None else attempt.attempt.number,
        attempt=None if attempt is None else attempt_part(attempt),
        since=rfc3339_micro(gone_us),
        before=before,
    )


def _preempted(before: Explanation | None) -> str:
    """By whom what was deleted had been preempted, if it was."""
    if before is None or before.evicted is None:
        return ""
    return f", preempted by {title(before.evicted.by)}"
