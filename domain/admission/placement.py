"""Affinity and spreading: their faults. Source: Kubernetes 1.37, pkg/apis/core/validation."""

from collections.abc import Sequence

from domain.admission import faults, names
from domain.admission.core import (
    Affinity,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    TopologySpreadConstraint,
)
from domain.admission.meta import LabelSelector, selector_faults
from domain.errors import Cause
from domain.peers import PREFERRED, REQUIRED

_WHEN_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_NODE_POLICIES = ("Honor", "Ignore")
_MAX_WEIGHT = 100


def affinity_faults(path: str, affinity: Affinity) -> list[Cause]:
    found: list[Cause] = []
    if affinity.node_affinity is not None:
        found += _node_affinity_faults(f"{path}.nodeAffinity", affinity.node_affinity)
    if affinity.pod_affinity is not None:
        found += _pod_affinity_faults(f"{path}.podAffinity", affinity.pod_affinity)
    if affinity.pod_anti_affinity is not None:
        found += _pod_affinity_faults(f"{path}.podAntiAffinity", affinity.pod_anti_affinity)
    return found


def spread_faults(path: str, constraints: Sequence[TopologySpreadConstraint] | None) -> list[Cause]:
    """The faults of topology spread constraints at `path`."""
    found: list[Cause] = []
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints or ()):
        at = f"{path}[{index}]"
        if (constraint.max_skew or 0) <= 0:
            found.append(
                faults.invalid(f"{at}.maxSkew", constraint.max_skew or 0, "must be greater than zero")
            )
        found += _topology_key_faults(at, constraint.topology_key)
        when = constraint.when_unsatisfiable or ""
        if when not in _WHEN_UNSATISFIABLE:
            found.append(faults.not_supported(f"{at}.whenUnsatisfiable", when, _WHEN_UNSATISFIABLE))
        pair = (constraint.topology_key or "", when)
        if pair in seen:
            found.append(
                faults.duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}")
            )
        seen.add(pair)
        found += _min_domains_faults(at, constraint)
        policies = {
            "nodeAffinityPolicy": constraint.node_affinity_policy,
            "nodeTaintsPolicy": constraint.node_taints_policy,
        }
        for field, policy in policies.items():
            if policy is not None and policy not in _NODE_POLICIES:
                found.append(faults.not_supported(f"{at}.{field}", policy, _NODE_POLICIES))
        found += _label_keys_faults(
            f"{at}.matchLabelKeys", constraint.match_label_keys, constraint.label_selector
        )
        found += selector_faults(f"{at}.labelSelector", constraint.label_selector)
    return found


def _min_domains_faults(path: str, constraint: TopologySpreadConstraint) -> list[Cause]:
    least = constraint.min_domains
    if least is None:
        return []
    found: list[Cause] = []
    if least <= 0:
        found.append(faults.invalid(f"{path}.minDomains", least, "must be greater than zero"))
    if constraint.when_unsatisfiable != "DoNotSchedule":
        text = "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
        found.append(faults.invalid(f"{path}.minDomains", least, text))
    return found


def _node_affinity_faults(path: str, affinity: NodeAffinity) -> list[Cause]:
    found: list[Cause] = []
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        terms = required.node_selector_terms or []
        at = f"{path}.{REQUIRED}.nodeSelectorTerms"
        if not terms:
            found.append(faults.required(at, "must have at least one node selector term"))
        for index, term in enumerate(terms):
            found += _term_faults(f"{at}[{index}]", term, required=True)
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for index, item in enumerate(preferred or ()):
        at = f"{path}.{PREFERRED}[{index}]"
        found += _weight_faults(at, item.weight)
        if item.preference is not None:
            found += _term_faults(f"{at}.preference", item.preference, required=False)
    return found


def _term_faults(path: str, term: NodeSelectorTerm, *, required: bool) -> list[Cause]:
    """The faults of a term at `path`; only in one that is required, values must be those of labels."""
    found: list[Cause] = []
    for index, requirement in enumerate(term.match_expressions or ()):
        at = f"{path}.matchExpressions[{index}]"
        found += _expression_faults(at, requirement)
        for place, value in enumerate(requirement.values or () if required else ()):
            found += [
                faults.invalid(f"{at}.values[{place}]", value, text) for text in names.label_value(value)
            ]
    for index, requirement in enumerate(term.match_fields or ()):
        found += _match_field_faults(f"{path}.matchFields[{index}]", requirement)
    return found


def _expression_faults(path: str, requirement: NodeSelectorRequirement) -> list[Cause]:
    operator, values = requirement.operator or "", requirement.values or []
    found: list[Cause] = []
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            found.append(faults.required(f"{path}.values", text))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(faults.forbidden(f"{path}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            found.append(faults.required(f"{path}.values", text))
    else:
        found.append(faults.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = requirement.key or ""
    return found + [faults.invalid(f"{path}.key", key, text) for text in names.qualified(key)]


def _match_field_faults(path: str, requirement: NodeSelectorRequirement) -> list[Cause]:
    operator, values = requirement.operator or "", requirement.values or []
    found: list[Cause] = []
    if operator not in ("In", "NotIn"):
        found.append(faults.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(faults.required(f"{path}.values", text))
    if requirement.key != "metadata.name":
        found.append(faults.invalid(f"{path}.key", requirement.key or "", "not a valid field selector key"))
        return found
    for index, value in enumerate(values):
        found += [faults.invalid(f"{path}.values[{index}]", value, text) for text in names.subdomain(value)]
    return found


def _pod_affinity_faults(path: str, affinity: PodAffinity | PodAntiAffinity) -> list[Cause]:
    found: list[Cause] = []
    required = affinity.required_during_scheduling_ignored_during_execution
    for index, term in enumerate(required or ()):
        found += _pod_term_faults(f"{path}.{REQUIRED}[{index}]", term)
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for index, item in enumerate(preferred or ()):
        at = f"{path}.{PREFERRED}[{index}]"
        found += _weight_faults(at, item.weight)
        found += _pod_term_faults(f"{at}.podAffinityTerm", item.pod_affinity_term or PodAffinityTerm())
    return found


def _pod_term_faults(path: str, term: PodAffinityTerm) -> list[Cause]:
    found = selector_faults(f"{path}.labelSelector", term.label_selector)
    found += selector_faults(f"{path}.namespaceSelector", term.namespace_selector)
    for name in term.namespaces or ():
        found += [faults.invalid(f"{path}.namespace", name, text) for text in names.label(name)]
    found += _topology_key_faults(path, term.topology_key)
    alike, unlike = term.match_label_keys or [], term.mismatch_label_keys or []
    found += _label_keys_faults(f"{path}.matchLabelKeys", alike, term.label_selector)
    found += _label_keys_faults(f"{path}.mismatchLabelKeys", unlike, term.label_selector)
    for index, key in enumerate(alike):
        if key in unlike:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.append(faults.invalid(f"{path}.matchLabelKeys[{index}]", key, text))
    return found


def _label_keys_faults(path: str, keys: Sequence[str] | None, selector: LabelSelector | None) -> list[Cause]:
    """The faults of `keys`, whose values a rule takes from the labels of its Pod, beside its `selector`."""
    if not keys:
        return []
    if selector is None:
        return [faults.forbidden(path, "must not be specified when labelSelector is not set")]
    return [
        faults.invalid(f"{path}[{index}]", key, text)
        for index, key in enumerate(keys)
        for text in names.qualified(key)
    ]


def _topology_key_faults(path: str, key: str | None) -> list[Cause]:
    if not key:
        return [faults.required(f"{path}.topologyKey", "can not be empty")]
    return [faults.invalid(f"{path}.topologyKey", key, text) for text in names.qualified(key)]


def _weight_faults(path: str, weight: int | None) -> list[Cause]:
    if 1 <= (weight or 0) <= _MAX_WEIGHT:
        return []
    return [faults.invalid(f"{path}.weight", weight or 0, "must be in the range 1-100")]
