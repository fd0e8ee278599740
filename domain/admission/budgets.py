"""PodDisruptionBudgets: their faults. Source: Kubernetes 1.37, pkg/apis/policy/validation."""

import re

from domain.admission import faults, meta
from domain.admission.kinds import POD_DISRUPTION_BUDGET
from domain.admission.policy import PodDisruptionBudget, PodDisruptionBudgetSpec
from domain.errors import Cause

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_PERCENT = "[0-9]+%"


def budget_faults(budget: PodDisruptionBudget) -> list[Cause]:
    """Every fault of a new PodDisruptionBudget."""
    return meta.meta_faults(POD_DISRUPTION_BUDGET, budget.meta) + _content_faults(budget)


def budget_update_faults(budget: PodDisruptionBudget, old: PodDisruptionBudget) -> list[Cause]:
    """Every fault of an update of the PodDisruptionBudget `old` to `budget`."""
    return meta.meta_update_faults(budget.meta, old.meta) + _content_faults(budget)


def _content_faults(budget: PodDisruptionBudget) -> list[Cause]:
    spec = budget.spec or PodDisruptionBudgetSpec()
    found: list[Cause] = []
    if spec.min_available is not None and spec.max_unavailable is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        found.append(faults.invalid("spec", spec.dump(), text))
    for field, amount in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)):
        if amount is not None:
            found += _amount_faults(f"spec.{field}", amount)
    found += meta.selector_faults("spec.selector", spec.selector)
    policy = spec.unhealthy_pod_eviction_policy
    if policy is not None and policy not in _EVICTION_POLICIES:
        found.append(faults.not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
    status = budget.status
    if status is not None:
        for field, count in (
            ("disruptionsAllowed", status.disruptions_allowed),
            ("currentHealthy", status.current_healthy),
            ("desiredHealthy", status.desired_healthy),
            ("expectedPods", status.expected_pods),
        ):
            if count is not None and count < 0:
                found.append(faults.not_at_least(f"status.{field}", count, 0))
    return found


def _amount_faults(path: str, amount: int | str) -> list[Cause]:
    if isinstance(amount, int):
        return [] if amount >= 0 else [faults.not_at_least(path, amount, 0)]
    if re.fullmatch(_PERCENT, amount, re.ASCII) is None:
        text = (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
            f"'93%', regex used for validation is '{_PERCENT}')"
        )
        return [faults.invalid(path, amount, text)]
    if len(amount.lstrip("0")) > len("100%") or int(amount[:-1]) > 100:
        return [faults.invalid(path, amount, "must not be greater than 100%")]
    return []
