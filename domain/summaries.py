"""Events in one line of plain English each, told to somebody who looks at one of their subjects."""

import msgspec
from msgspec import UNSET

from domain import events as ev
from domain.amounts import quantity_of
from domain.explaining.findings import fared
from domain.manifests import read_group, read_node, read_status

OUTCOMES = {
    "scheduled": "Scheduled",
    "unschedulable": "Unschedulable",
    "waitingOnPreemption": "WaitingOnPreemption",
    "error": "SchedulerError",
}
"""How people call what came of an attempt."""


def summary_of(payload: ev.Payload, subject: str, findings: ev.GroupAttempted | None = None) -> str:
    """What `payload` says, as seen from `subject` (`Pod/default/a`), which is not named again.

    `findings` is the attempt that holds what an attempt found, if that is another one.
    """
    match payload:
        case ev.GroupAttempted():
            return _attempted(payload, subject, findings or payload)
        case ev.PodAdded() | ev.PodUpdated() | ev.PodDeleted():
            return _named("Pod", payload.key, subject, _pod_changed(payload))
        case ev.PodBound() | ev.PodNominated() | ev.PodEvicted() | ev.BindingFailed():
            return _named("Pod", payload.pod, subject, _pod_placed(payload))
        case ev.SchedulerConfigured():
            return "the scheduler was configured"
        case ev.Added() | ev.Updated() | ev.Deleted():
            return _named(ev.kind_of(payload), payload.key, subject, _changed(payload))


def _named(kind: str, key: str, subject: str, text: str) -> str:
    """`text`, said of an object; without naming it if it is the subject, or the subject's namespace."""
    if f"{kind}/{key}" == subject:
        return text
    namespace, _, name = key.rpartition("/")
    near = namespace and subject.split("/")[1:-1] == [namespace]
    return f"{kind} {name if near else key} {text}"


def _pod_changed(payload: ev.PodAdded | ev.PodUpdated | ev.PodDeleted) -> str:
    match payload:
        case ev.PodAdded(node=None):
            return "created"
        case ev.PodAdded():
            return f"created on {payload.node}"
        case ev.PodDeleted(node=None):
            return "gone"
        case ev.PodDeleted():
            return f"gone from {payload.node}"
        case ev.PodUpdated():
            told = []
            if payload.object is not UNSET:
                told.append("changed")
            if payload.status is not UNSET:
                told.append(f"is {read_status(payload.status).phase}")
            if payload.deletion is not None:
                told.append(f"is being deleted, with {payload.deletion.grace} s of grace")
            return ", ".join(told)


def _pod_placed(payload: ev.PodBound | ev.PodNominated | ev.PodEvicted | ev.BindingFailed) -> str:
    match payload:
        case ev.PodBound():
            return f"bound to {payload.node}"
        case ev.PodNominated(node=None):
            return "hopes for no node any more"
        case ev.PodNominated():
            return f"hopes for {payload.node}"
        case ev.PodEvicted():
            return f"evicted from {payload.node} for {payload.preemptor}: {payload.message}"
        case ev.BindingFailed():
            return f"not taken by {payload.node}: {payload.message}"


def _changed(payload: ev.Added | ev.Updated | ev.Deleted) -> str:
    if isinstance(payload, ev.Deleted):
        return "gone"
    if isinstance(payload, ev.Added):
        return f"created{_facts(payload, payload.object)}"
    told = "" if payload.object is UNSET else f"changed{_facts(payload, payload.object)}"
    if payload.deletion is None:
        return told
    return f"{told}, being deleted" if told else "is being deleted"


def _facts(payload: ev.Added | ev.Updated, manifest: msgspec.Raw) -> str:
    """What matters of a manifest for scheduling, behind a colon."""
    match ev.kind_of(payload):
        case "PodGroup":
            group = read_group(manifest, arrival=0, created_us=0)
            return f": gang, minCount {group.min_count}" if group.policy == "gang" else ": basic"
        case "Node":
            node = read_node(manifest)
            has = [f"{name} {quantity_of(name, amount)}" for name, amount in sorted(node.allocatable.items())]
            marks = ["cordoned"] if node.unschedulable else []
            marks += [f"tainted {taint.key}:{taint.effect}" for taint in node.taints]
            return f": {', '.join([*has, *marks])}" if has or marks else ""
        case _:
            return ""


def _attempted(attempt: ev.GroupAttempted, subject: str, findings: ev.GroupAttempted) -> str:
    told = f"attempt {attempt.number}: {OUTCOMES.get(attempt.outcome, attempt.outcome)}"
    if attempt.outcome == "scheduled":
        placed = sum(group.placed for group in findings.groups)
        return f"{told}, {placed} placed" if findings.groups else told
    again = "" if attempt.same_as is None else f" (found the same as at position {attempt.same_as})"
    if not findings.groups:
        return f"{told}: {findings.shapes[0].message}{again}" if findings.shapes else told + again
    message = next((group.message for group in findings.groups if group.group == subject), None)
    told = f"{told}: {findings.groups[0].message if message is None else message}{again}"
    if subject.startswith("Pod/") and attempt.outcome in ("unschedulable", "waitingOnPreemption"):
        return f"{told}; {fared(findings, subject.partition('/')[2])}"
    return told
