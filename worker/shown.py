"""Objects as Kubernetes shows them: the manifest from the log, with what the fold knows on top."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from domain.admission.kinds import PRIORITY_CLASS
from domain.admission.priority import SYSTEM_CLASSES, SYSTEM_DESCRIPTIONS
from domain.budgets import Counted, counted
from domain.events import Deletion
from domain.incomplete import as_of
from domain.objects import Condition, Group, Kept, NodeRecord, Pod
from domain.state import State
from domain.times import rfc3339

Record = Pod | Group | NodeRecord | Kept


@dataclass(frozen=True)
class SystemClass:
    """A PriorityClass that every cluster has: the log need not say so, and says only what changes it."""

    key: str
    revision: ClassVar[int] = 1
    deletion: ClassVar[None] = None

    @property
    def body(self) -> dict[str, Any]:
        """The whole object."""
        facts = SYSTEM_CLASSES[self.key]
        return {
            "apiVersion": PRIORITY_CLASS.api_version,
            "kind": PRIORITY_CLASS.name,
            "metadata": {"name": self.key, "uid": _SYSTEM_UIDS[self.key]},
            "value": facts.value,
            "description": SYSTEM_DESCRIPTIONS[self.key],
            "preemptionPolicy": facts.preemption_policy,
        }


_SYSTEM_UIDS = {
    "system-cluster-critical": "2cd1a7d2-5b6b-5c60-9a4f-0d4c7f3b8e01",
    "system-node-critical": "2cd1a7d2-5b6b-5c60-9a4f-0d4c7f3b8e02",
}

Visible = Record | SystemClass
"""What is remembered of an object that can be read."""


def record_of(state: State, kind: str, key: str) -> Record | None:
    """What the State remembers of an object; None if there is no such object."""
    match kind:
        case "Pod":
            return state.pods.get(key)
        case "PodGroup" | "CompositePodGroup":
            return state.groups_of(kind).get(key)
        case "Node":
            return state.node_records.get(key)
        case _:
            return state.kept.get(kind, {}).get(key)


def visible_of(state: State, kind: str, key: str) -> Visible | None:
    """As `record_of`, and the PriorityClasses that every cluster has."""
    record = record_of(state, kind, key)
    if record is None and kind == PRIORITY_CLASS.name and key in SYSTEM_CLASSES:
        return SystemClass(key)
    return record


def body_of(record: Visible, manifest_at: Callable[[int], Mapping[str, Any]]) -> Mapping[str, Any]:
    """The whole object as it was last written; `manifest_at` gives what stands at a position of the log."""
    return record.body if isinstance(record, SystemClass) else manifest_at(record.manifest)


def all_visible(state: State, kind: str) -> Mapping[str, Visible]:
    """All objects of a kind that can be read, by key, oldest first."""
    records = records_of(state, kind)
    if kind != PRIORITY_CLASS.name:
        return records
    return {**{name: SystemClass(name) for name in SYSTEM_CLASSES}, **records}


def counts_of(state: State, kind: str, keys: Iterable[str]) -> dict[str, Counted]:
    """What is counted for those PodDisruptionBudgets whose status nobody has written, by key."""
    if kind != "PodDisruptionBudget":
        return {}
    budgets = [state.budgets[key] for key in keys if key in state.budgets]
    return {each.key: counted(each, state.pods) for each in budgets if each.observed is None}


def records_of(state: State, kind: str) -> Mapping[str, Record]:
    """All objects of a kind that the log holds, by key, oldest first."""
    match kind:
        case "Pod":
            return state.pods
        case "PodGroup" | "CompositePodGroup":
            return state.groups_of(kind)
        case "Node":
            return state.node_records
        case _:
            return state.kept.get(kind, {})


def record_at(state: State, record: Visible, now: int) -> Visible:
    """`record` as it is at `now`, with what time alone has changed of it."""
    return as_of(state, record, now) if isinstance(record, Pod) else record


def as_stored(record: Visible, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The object as admission sees it: with the node and the deletion that came after it."""
    metadata = dict(manifest["metadata"])
    shown = {**manifest, "metadata": metadata}
    deletion = None if isinstance(record, NodeRecord) else record.deletion
    if deletion is not None:
        metadata.update(_deletion(deletion))
    if isinstance(record, Pod):
        metadata["generation"] = record.generation
        spec = {key: value for key, value in manifest["spec"].items() if key != "nodeName"}
        if record.node is not None:
            spec["nodeName"] = record.node
        shown["spec"] = spec
        shown["status"] = {**manifest.get("status", {}), "phase": record.phase}
        if record.started_us is not None:
            shown["status"]["startTime"] = rfc3339(record.started_us)
    return shown


def as_shown(record: Visible, manifest: Mapping[str, Any], count: Counted | None = None) -> dict[str, Any]:
    """The object as a user reads it: conditions, nominated node and resourceVersion included.

    `count` is that of a PodDisruptionBudget which has no status of its own.
    """
    shown = as_stored(record, manifest)
    shown["metadata"]["resourceVersion"] = str(record.revision)
    if isinstance(record, Pod):
        status = shown["status"]
        status.pop("nominatedNodeName", None)
        if record.nominated is not None:
            status["nominatedNodeName"] = record.nominated
        ours = _pod_conditions(record)
        types = {each["type"] for each in ours}
        others = [each for each in status.get("conditions", ()) if each.get("type") not in types]
        if ours:
            status["conditions"] = [*others, *ours]
    elif isinstance(record, Group) and (conditions := _group_conditions(record)):
        shown["status"] = {"conditions": conditions}
    elif count is not None:
        shown["status"] = {
            **manifest.get("status", {}),
            "disruptionsAllowed": count.allowed,
            "currentHealthy": count.healthy,
            "desiredHealthy": count.desired,
            "expectedPods": count.expected,
        }
    return shown


def _pod_conditions(pod: Pod) -> list[dict[str, Any]]:
    conditions = []
    if pod.condition is not None:
        conditions.append(_condition("PodScheduled", pod.condition))
    if pod.disruption is not None:
        conditions.append(_condition("DisruptionTarget", pod.disruption))
    return conditions


def _group_conditions(group: Group) -> list[dict[str, Any]]:
    """The conditions of a group, which say their message even where it is empty (metav1.Condition)."""
    found = {f"{group.kind}InitiallyScheduled": group.condition, "DisruptionTarget": group.disruption}
    return [
        _condition(kind, condition) | {"message": condition.message}
        for kind, condition in found.items()
        if condition is not None
    ]


def _condition(kind: str, condition: Condition) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "type": kind,
        "status": condition.status,
        "lastTransitionTime": rfc3339(condition.since),
    }
    if condition.reason:
        shown["reason"] = condition.reason
    if condition.message:
        shown["message"] = condition.message
    if condition.generation:
        shown["observedGeneration"] = condition.generation
    return shown


def _deletion(deletion: Deletion) -> dict[str, Any]:
    return {
        "deletionTimestamp": rfc3339(deletion.at + deletion.grace * 1_000_000),
        "deletionGracePeriodSeconds": deletion.grace,
    }
