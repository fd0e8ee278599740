"""What an update of a Pod may change: images, a deadline, further tolerations, fewer gates.

Source: Kubernetes 1.37, pkg/apis/core/validation, ValidatePodUpdate.
"""

from collections.abc import Sequence
from typing import Any

from domain.admission import faults, meta, names
from domain.admission.core import Pod, PodSpec, Toleration
from domain.admission.pods import MAX_INT32, containers_with_paths
from domain.admission.taints import toleration_faults
from domain.errors import Cause

FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)


def pod_update_faults(pod: Pod, old: Pod) -> list[Cause]:
    """Every fault of an update of the Pod `old` to `pod`, which is complete."""
    new, before = pod.asked, old.asked
    found = meta.meta_update_faults(pod.meta, old.meta)
    found += _added_gates(new, before)
    for field in ("containers", "init_containers"):
        if len(getattr(new, field) or ()) != len(getattr(before, field) or ()):
            path = "spec.containers" if field == "containers" else "spec.initContainers"
            found.append(faults.forbidden(path, "pod updates may not add or remove containers"))
            return found
    for path, container in containers_with_paths(new):
        if not container.image:
            found.append(faults.required(f"{path}.image"))
    found += _deadline_update_faults(new.active_deadline_seconds, before.active_deadline_seconds)
    found += _toleration_update_faults(new.tolerations or [], before.tolerations or [])
    found += _node_selector_update_faults(new, before)
    if _fixed(new, before) != _fixed(before, before):
        found.append(faults.forbidden("spec", FIXED))
    return found


def _added_gates(new: PodSpec, old: PodSpec) -> list[Cause]:
    known = {gate.name for gate in old.scheduling_gates or ()}
    return [
        faults.forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.name or ''}'",
        )
        for index, gate in enumerate(new.scheduling_gates or ())
        if gate.name not in known
    ]


def _deadline_update_faults(new: int | None, old: int | None) -> list[Cause]:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is None:
            return []
        return [faults.invalid(path, None, "must not update from a positive integer to nil value")]
    if not 0 <= new <= MAX_INT32:
        return [faults.not_between(path, new, 0, MAX_INT32)]
    if old is not None and new > old:
        return [faults.invalid(path, new, "must be less than or equal to previous value")]
    return []


def _toleration_update_faults(new: Sequence[Toleration], old: Sequence[Toleration]) -> list[Cause]:
    """Tolerations may be added, and the seconds of those that are there may change."""
    found: list[Cause] = []
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        found.append(
            faults.forbidden(
                "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
            )
        )
    for index, toleration in enumerate(new):
        found += toleration_faults(f"spec.tolerations[{index}]", toleration)
    return found


def _without_seconds(toleration: Toleration) -> tuple[str, str, str, str]:
    return (
        toleration.key or "",
        toleration.operator or "Equal",
        toleration.value or "",
        toleration.effect or "",
    )


def _node_selector_update_faults(new: PodSpec, old: PodSpec) -> list[Cause]:
    """A Pod that is still gated may be narrowed to fewer nodes."""
    if not old.scheduling_gates or new.node_selector == old.node_selector:
        return []
    added = new.node_selector or {}
    if all(added.get(key) == value for key, value in (old.node_selector or {}).items()):
        return names.labels("spec.nodeSelector", added)
    text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    return [faults.invalid("spec.nodeSelector", added, text)]


def _fixed(spec: PodSpec, old: PodSpec) -> dict[str, Any]:
    """The part of `spec` that no update of `old` may change, as plain data."""
    fixed = spec.model_dump(by_alias=True, exclude_none=True, exclude=set(spec.model_extra or ()))
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        fixed.pop(name, None)
    for container in (*fixed.get("containers", ()), *fixed.get("initContainers", ())):
        container.pop("image", None)
    if (old.termination_grace_period_seconds or 0) < 0 and spec.termination_grace_period_seconds == 1:
        fixed["terminationGracePeriodSeconds"] = old.termination_grace_period_seconds
    if old.scheduling_gates:
        fixed.pop("nodeSelector", None)
        if old.affinity is None or old.affinity.node_affinity is None:
            _drop_node_affinity(fixed)
    return fixed


def _drop_node_affinity(fixed: dict[str, Any]) -> None:
    affinity = fixed.get("affinity", {})
    affinity.pop("nodeAffinity", None)
    if not affinity:
        fixed.pop("affinity", None)
