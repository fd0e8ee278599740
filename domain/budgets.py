"""PodDisruptionBudgets: how many Pods of an application may be disrupted at once.

Where a manifest brings no status, the numbers are those that a disruption controller would write,
taken from the State whenever they are asked for. Sources: kube-scheduler 1.37, DefaultPreemption;
kube-controller-manager 1.37, disruption.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from domain.objects import Pod
from domain.selectors import LabelSelector, label_selector_of, selects


class Observed(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a status says: how many more disruptions are allowed, and which Pods (by name) are
    counted as disrupted already."""

    allowed: int
    disrupted: tuple[str, ...]


class Budget(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A PodDisruptionBudget. A selector without requirements protects nobody.

    `min_available` and `max_unavailable` are counts or percentages such as `50%`. `observed` is
    None where nobody has written a status.
    """

    key: str
    selector: LabelSelector
    min_available: int | str | None
    max_unavailable: int | str | None
    observed: Observed | None

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    def protects(self, pod: Pod) -> bool:
        """Whether evicting `pod` counts."""
        if not self.selector or pod.namespace != self.namespace:
            return False
        return selects(self.selector, dict(pod.labels))


class Counted(NamedTuple):
    """The numbers of a budget, as its status names them."""

    allowed: int
    healthy: int
    desired: int
    expected: int


def budget_of(key: str, manifest: Mapping[str, Any]) -> Budget:
    """The PodDisruptionBudget in `manifest`."""
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    observed = None
    if "disruptionsAllowed" in status:
        observed = Observed(status["disruptionsAllowed"], tuple(sorted(status.get("disruptedPods") or ())))
    return Budget(
        key=key,
        selector=label_selector_of(spec.get("selector")),
        min_available=spec.get("minAvailable"),
        max_unavailable=spec.get("maxUnavailable"),
        observed=observed,
    )


def counted(budget: Budget, pods: Mapping[str, Pod]) -> Counted:
    """What a disruption controller counts for `budget` among `pods`.

    Expected are the Pods that have not ended; healthy are those of them that run and are not being
    deleted. Percentages are rounded up.
    """
    expected = [pod for pod in pods.values() if not pod.terminal and budget.protects(pod)]
    healthy = sum(1 for pod in expected if pod.phase == "Running" and pod.deletion is None)
    if budget.max_unavailable is not None:
        desired = max(0, len(expected) - _scaled(budget.max_unavailable, len(expected)))
    else:
        desired = _scaled(0 if budget.min_available is None else budget.min_available, len(expected))
    return Counted(max(0, healthy - desired) if expected else 0, healthy, desired, len(expected))


def allowance(budget: Budget, pods: Mapping[str, Pod]) -> int:
    """How many more Pods may be disrupted: as observed, else as counted."""
    return counted(budget, pods).allowed if budget.observed is None else budget.observed.allowed


def _scaled(amount: int | str, whole: int) -> int:
    if isinstance(amount, int):
        return amount
    return -(-whole * int(amount.removesuffix("%")) // 100)
