"""PodGroups and CompositePodGroups: their defaults, their faults, and what an update may change.

The order of the faults is that of the fields in the API's structs.
Source: Kubernetes 1.37, declarative validation of scheduling.k8s.io (KEP-4671, KEP-6012).
"""

from collections.abc import Sequence
from typing import Any

from domain.admission import faults, meta, names
from domain.admission.kinds import COMPOSITE_POD_GROUP, POD_GROUP
from domain.admission.priority import HIGHEST_USER_DEFINABLE
from domain.admission.scheduling import (
    CompositePodGroup,
    CompositePodGroupSchedulingConstraints,
    CompositePodGroupSchedulingPolicy,
    CompositePodGroupSpec,
    CompositePodGroupTemplate,
    DisruptionMode,
    PodGroup,
    PodGroupResourceClaim,
    PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    PodGroupTemplate,
    SingleDisruptionMode,
    WorkloadReference,
)
from domain.errors import Cause
from domain.objects import PREEMPT_LOWER

PROTECTION = "scheduling.k8s.io/podgroup-protection"
"""The finalizer that keeps a PodGroup while Pods that are not finished name it."""

Policy = PodGroupSchedulingPolicy | CompositePodGroupSchedulingPolicy
Constraints = PodGroupSchedulingConstraints | CompositePodGroupSchedulingConstraints
Named = PodGroupTemplate | CompositePodGroupTemplate | PodGroupResourceClaim

_PREEMPTION_POLICIES = ("Never", PREEMPT_LOWER)
_MAX_CONSTRAINTS = 1
_MAX_CLAIMS = 4

_IMMUTABLE_AFTER_POLICY = (
    "scheduling_constraints",
    "resource_claims",
    "disruption_mode",
    "priority_class_name",
    "priority",
    "preemption_policy",
)


def set_defaults(group: PodGroup | CompositePodGroup) -> None:
    """Fill in what the API server fills in before it looks at priorities."""
    spec = group.asked
    if spec.disruption_mode is None:
        spec.disruption_mode = DisruptionMode.model_validate({"single": SingleDisruptionMode()})


def protect(group: PodGroup) -> None:
    """Give a new PodGroup the finalizer that every PodGroup gets."""
    finalizers = group.meta.finalizers or []
    if PROTECTION not in finalizers:
        group.meta.finalizers = [*finalizers, PROTECTION]


def group_faults(group: PodGroup) -> list[Cause]:
    """Every fault of a new PodGroup."""
    spec = group.asked
    found = meta.meta_faults(POD_GROUP, group.meta)
    if spec.parent_composite_pod_group_name is not None and spec.workload_ref is None:
        text = "must be set when parentCompositePodGroupName is set"
        found.append(faults.required("spec.workloadRef", text))
    found += _parent_faults(spec.parent_composite_pod_group_name)
    if spec.workload_ref is not None:
        found += _reference_faults("spec.workloadRef", spec.workload_ref)
    found += policy_faults("spec.schedulingPolicy", spec.scheduling_policy)
    found += constraints_faults("spec.schedulingConstraints", spec.scheduling_constraints)
    found += claims_faults("spec.resourceClaims", spec.resource_claims)
    return found + _rest_faults(spec)


def composite_faults(group: CompositePodGroup) -> list[Cause]:
    """Every fault of a new CompositePodGroup."""
    spec = group.asked
    found = meta.meta_faults(COMPOSITE_POD_GROUP, group.meta)
    found += _parent_faults(spec.parent_composite_pod_group_name)
    if spec.workload_ref is None:
        found.append(faults.required("spec.workloadRef"))
    else:
        found += _reference_faults("spec.workloadRef", spec.workload_ref)
    found += policy_faults("spec.schedulingPolicy", spec.scheduling_policy)
    found += constraints_faults("spec.schedulingConstraints", spec.scheduling_constraints)
    return found + _rest_faults(spec)


def group_update_faults(group: PodGroup, old: PodGroup) -> list[Cause]:
    """Every fault of an update of the PodGroup `old` to `group`: only `minCount` may change."""
    new, before = group.asked, old.asked
    found = meta.meta_update_faults(group.meta, old.meta)
    found += changed("spec", new, before, ("parent_composite_pod_group_name", "workload_ref"))
    found += policy_update_faults("spec.schedulingPolicy", new.scheduling_policy, before.scheduling_policy)
    return found + changed("spec", new, before, _IMMUTABLE_AFTER_POLICY)


def composite_update_faults(group: CompositePodGroup, old: CompositePodGroup) -> list[Cause]:
    """Every fault of an update of the CompositePodGroup `old` to `group`: nothing may change."""
    new, before = group.asked, old.asked
    found = meta.meta_update_faults(group.meta, old.meta)
    fields = ("parent_composite_pod_group_name", "workload_ref", "scheduling_policy")
    return found + changed("spec", new, before, (*fields, *_IMMUTABLE_AFTER_POLICY))


def changed(path: str, new: Any, old: Any, fields: Sequence[str]) -> list[Cause]:
    """The faults of those of `fields`, which may not change, that differ between two structs."""
    known = type(new).model_fields
    return [
        faults.immutable(f"{path}.{known[name].alias}")
        for name in fields
        if name in known and getattr(new, name) != getattr(old, name)
    ]


def policy_faults(path: str, policy: Policy | None) -> list[Cause]:
    """The faults of a scheduling policy: exactly one, and a gang with its minimum."""
    gang = None if policy is None else policy.gang
    found = _union_faults(path, policy)
    if gang is not None:
        found += _minimum_faults(f"{path}.gang", gang)
    return found


def policy_update_faults(path: str, policy: Policy | None, old: Policy | None) -> list[Cause]:
    """The faults of a changed policy: of a gang, its minimum may change, and nothing else."""
    if policy == old:
        return []
    basic, gang = (None, None) if policy is None else (policy.basic, policy.gang)
    old_basic, old_gang = (None, None) if old is None else (old.basic, old.gang)
    found = _union_faults(path, policy)
    if (basic is None) != (old_basic is None):
        found.append(faults.immutable(f"{path}.basic"))
    if gang is None and old_gang is not None:
        found.append(faults.invalid(f"{path}.gang", None, "field cannot be cleared once set"))
    elif gang is not None and old_gang is None:
        found.append(faults.invalid(f"{path}.gang", None, "field cannot be set once created"))
    elif gang is not None:
        found += _minimum_faults(f"{path}.gang", gang)
    return found


def constraints_faults(path: str, constraints: Constraints | None) -> list[Cause]:
    """The faults of topology constraints: at most one, and its key is a label key."""
    topology = (None if constraints is None else constraints.topology) or []
    if len(topology) > _MAX_CONSTRAINTS:
        return [faults.too_many(f"{path}.topology", len(topology), _MAX_CONSTRAINTS)]
    found: list[Cause] = []
    for index, constraint in enumerate(topology):
        at = f"{path}.topology[{index}].key"
        if not constraint.key:
            found.append(faults.required(at))
        else:
            found += [faults.invalid(at, constraint.key, text) for text in names.qualified(constraint.key)]
    return found


def claims_faults(path: str, claims: Sequence[PodGroupResourceClaim] | None) -> list[Cause]:
    """The faults of resource claims, which ganger keeps but does not look at."""
    if len(claims or ()) > _MAX_CLAIMS:
        return [faults.too_many(path, len(claims or ()), _MAX_CLAIMS)]
    found = repeated_items(path, claims or ())
    for index, claim in enumerate(claims or ()):
        at = f"{path}[{index}]"
        sources = {
            "resourceClaimName": claim.resource_claim_name,
            "resourceClaimTemplateName": claim.resource_claim_template_name,
        }
        given = [name for name, value in sources.items() if value is not None]
        found += faults.exactly_one(at, given, tuple(sources))
        found += name_faults(f"{at}.name", claim.name)
        for name, value in sources.items():
            if value is not None:
                found += [faults.invalid(f"{at}.{name}", value, text) for text in names.subdomain(value)]
    return found


def repeated_items(path: str, items: Sequence[Named]) -> list[Cause]:
    """The faults of those items of the list at `path` whose name is also that of one before."""
    found: list[Cause] = []
    seen: set[str | None] = set()
    for index, item in enumerate(items):
        if item.name in seen:
            found.append(faults.duplicate(f"{path}[{index}]", item.dump()))
        seen.add(item.name)
    return found


def disruption_faults(path: str, mode: DisruptionMode | None) -> list[Cause]:
    """The faults of a disruption mode: if there is one, it is exactly one."""
    if mode is None:
        return []
    modes = {"single": mode.single, "all": mode.all_}
    given = [name for name, value in modes.items() if value is not None]
    return faults.exactly_one(path, given, tuple(modes))


def priority_faults(
    path: str, class_name: str | None, priority: int | None, policy: str | None
) -> list[Cause]:
    """The faults of priority fields beneath `path`."""
    found: list[Cause] = []
    if class_name:
        at = f"{path}.priorityClassName"
        found += [faults.invalid(at, class_name, text) for text in names.subdomain(class_name)]
    if priority is not None and priority > HIGHEST_USER_DEFINABLE:
        text = f"must be less than or equal to {HIGHEST_USER_DEFINABLE}"
        found.append(faults.invalid(f"{path}.priority", priority, text))
    if policy is not None and policy not in _PREEMPTION_POLICIES:
        found.append(faults.not_supported(f"{path}.preemptionPolicy", policy, _PREEMPTION_POLICIES))
    return found


def name_faults(path: str, name: str | None) -> list[Cause]:
    """The faults of a name that is a required DNS label."""
    if not name:
        return [faults.required(path)]
    return [faults.invalid(path, name, text) for text in names.label(name)]


def _rest_faults(spec: PodGroupSpec | CompositePodGroupSpec) -> list[Cause]:
    found = disruption_faults("spec.disruptionMode", spec.disruption_mode)
    return found + priority_faults("spec", spec.priority_class_name, spec.priority, spec.preemption_policy)


def _parent_faults(parent: str | None) -> list[Cause]:
    if parent is None:
        return []
    path = "spec.parentCompositePodGroupName"
    return [faults.invalid(path, parent, text) for text in names.subdomain(parent)]


def _reference_faults(path: str, reference: WorkloadReference) -> list[Cause]:
    found: list[Cause] = []
    workload = reference.workload_name
    if not workload:
        found.append(faults.required(f"{path}.workloadName"))
    else:
        found += [
            faults.invalid(f"{path}.workloadName", workload, text) for text in names.subdomain(workload)
        ]
    return found + name_faults(f"{path}.templateName", reference.template_name)


def _union_faults(path: str, policy: Policy | None) -> list[Cause]:
    basic, gang = (None, None) if policy is None else (policy.basic, policy.gang)
    given = [name for name, value in (("basic", basic), ("gang", gang)) if value is not None]
    return faults.exactly_one(path, given, ("basic", "gang"))


def _minimum_faults(path: str, gang: Any) -> list[Cause]:
    """The faults of a gang's minimum; zero is as missing, since the field is a plain integer."""
    field = "min_count" if "min_count" in type(gang).model_fields else "min_group_count"
    minimum, at = getattr(gang, field), f"{path}.{type(gang).model_fields[field].alias}"
    if not minimum:
        return [faults.required(at)]
    return [] if minimum >= 1 else [faults.not_at_least(at, minimum, 1)]
