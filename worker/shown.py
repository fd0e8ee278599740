"""Objects as Kubernetes shows them: the manifest from the log, with what the fold knows on top."""

from collections.abc import Mapping
from typing import Any

from domain.events import Deletion
from domain.objects import Condition, Group, Kept, NodeRecord, Pod
from domain.state import State
from domain.times import rfc3339

Record = Pod | Group | NodeRecord | Kept


def record_of(state: State, kind: str, key: str) -> Record | None:
    """What the State remembers of an object; None if there is no such object."""
    match kind:
        case "Pod":
            return state.pods.get(key)
        case "PodGroup":
            return state.groups.get(key)
        case "Node":
            return state.node_records.get(key)
        case _:
            return state.kept.get(kind, {}).get(key)


def records_of(state: State, kind: str) -> Mapping[str, Record]:
    """All objects of a kind, by key, oldest first."""
    match kind:
        case "Pod":
            return state.pods
        case "PodGroup":
            return state.groups
        case "Node":
            return state.node_records
        case _:
            return state.kept.get(kind, {})


def as_stored(record: Record, manifest: Mapping[str, Any]) -> dict[str, Any]:
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


def as_shown(record: Record, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The object as a user reads it: conditions, nominated node and resourceVersion included."""
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
    return shown


def _pod_conditions(pod: Pod) -> list[dict[str, Any]]:
    conditions = []
    if pod.condition is not None:
        conditions.append(_condition("PodScheduled", pod.condition))
    if pod.disruption is not None:
        conditions.append(_condition("DisruptionTarget", pod.disruption))
    return conditions


def _group_conditions(group: Group) -> list[dict[str, Any]]:
    conditions = []
    if group.condition is not None:
        conditions.append(_condition("PodGroupInitiallyScheduled", group.condition))
    if group.disruption is not None:
        conditions.append(_condition("DisruptionTarget", group.disruption))
    return conditions


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
