"""Priority admission: who gets which priority and preemption policy, and what may be written.

Source: Kubernetes 1.37, plugin/pkg/admission/priority.
"""

from collections.abc import Mapping
from typing import Protocol

from domain.admission.faults import not_admitted
from domain.admission.kinds import POD, Kind
from domain.objects import PREEMPT_LOWER, PriorityClassFacts

HIGHEST_USER_DEFINABLE = 1_000_000_000

SYSTEM_CLASSES = {
    "system-cluster-critical": PriorityClassFacts(2_000_000_000, False, PREEMPT_LOWER),
    "system-node-critical": PriorityClassFacts(2_000_001_000, False, PREEMPT_LOWER),
}
"""The classes that every cluster has from the start."""

SYSTEM_DESCRIPTIONS = {
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, "
        "but can be moved to another node if necessary."
    ),
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
}

_NO_CLASS = PriorityClassFacts(0, False, PREEMPT_LOWER)

Classes = Mapping[str, PriorityClassFacts]


class Prioritised(Protocol):
    """The spec of a Pod or group, as far as priority goes."""

    priority_class_name: str | None
    priority: int | None
    preemption_policy: str | None


def resolve(kind: Kind, name: str, spec: Prioritised, classes: Classes) -> None:
    """Fill in class, priority and policy of a new object. Raises Forbidden if it says otherwise.

    Unlike Kubernetes 1.37, a group whose class says `Never` need not repeat it.
    """
    if not spec.priority_class_name:
        spec.priority_class_name = default_class(classes)
    facts = _NO_CLASS
    if spec.priority_class_name is not None:
        known = classes.get(spec.priority_class_name) or SYSTEM_CLASSES.get(spec.priority_class_name)
        if known is None:
            text = f"no PriorityClass with name {spec.priority_class_name} was found"
            raise not_admitted(kind, name, text)
        facts = known
    if spec.priority is not None and spec.priority != facts.value:
        raise not_admitted(kind, name, _other_priority(kind, spec.priority, facts.value))
    if spec.preemption_policy and spec.preemption_policy != facts.preemption_policy:
        text = _other_policy(kind, spec.preemption_policy, facts.preemption_policy)
        raise not_admitted(kind, name, text)
    spec.priority, spec.preemption_policy = facts.value, facts.preemption_policy


def keep(spec: Prioritised, old: Prioritised, classes: Classes) -> None:
    """Let an update that leaves out what admission filled in mean what is there.

    Leaving out a class that was named is a change, unless the class is the global default, or no
    longer there to tell.
    """
    before = old.priority_class_name
    spec.priority_class_name = spec.priority_class_name or None
    if spec.priority_class_name is None and before is not None:
        facts = classes.get(before)
        if (facts is None and before not in SYSTEM_CLASSES) or (facts is not None and facts.global_default):
            spec.priority_class_name = before
    if spec.priority is None:
        spec.priority = old.priority
    if not spec.preemption_policy:
        spec.preemption_policy = old.preemption_policy


def default_class(classes: Classes) -> str | None:
    """The name of the global default class, None if there is none; of several, the lowest."""
    defaults = [(facts.value, name) for name, facts in classes.items() if facts.global_default]
    return min(defaults)[1] if defaults else None


def _other_priority(kind: Kind, given: int, computed: int) -> str:
    if kind is POD:
        return (
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {computed} from the given PriorityClass name"
        )
    return (
        f"priority set in the pod group ({given}) must match the priority computed ({computed}) "
        "based on the priority class set in the spec"
    )


def _other_policy(kind: Kind, given: str, computed: str) -> str:
    spec = "pod spec" if kind is POD else "pod group spec"
    return (
        f"the string value of PreemptionPolicy ({given}) must not be provided in {spec}; "
        f"priority admission controller computed {computed} from the given PriorityClass name"
    )
