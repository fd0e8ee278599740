"""PriorityClasses: their defaults, their faults, and what an update may change.

Source: Kubernetes 1.37, pkg/apis/scheduling/validation and plugin/pkg/admission/priority.
"""

from domain.admission import faults, meta
from domain.admission.kinds import PRIORITY_CLASS
from domain.admission.pods import PREEMPTION_POLICIES
from domain.admission.priority import (
    HIGHEST_USER_DEFINABLE,
    SYSTEM_CLASSES,
    Classes,
    default_class,
)
from domain.admission.scheduling import PriorityClass
from domain.errors import Cause
from domain.objects import PREEMPT_LOWER

_SYSTEM_PREFIX = "system-"


def set_defaults(priority_class: PriorityClass) -> None:
    """Fill in what the API server fills in."""
    priority_class.value = priority_class.value or 0
    priority_class.preemption_policy = priority_class.preemption_policy or PREEMPT_LOWER


def check_default(name: str, priority_class: PriorityClass, classes: Classes) -> None:
    """Raises Forbidden if this would be a second global default."""
    default = default_class(classes)
    if priority_class.global_default and default is not None and default != name:
        text = f"PriorityClass {default} is already marked as default. Only one default can exist"
        raise faults.not_admitted(PRIORITY_CLASS, name, text)


def class_faults(priority_class: PriorityClass) -> list[Cause]:
    """Every fault of a new PriorityClass."""
    found = meta.meta_faults(PRIORITY_CLASS, priority_class.meta)
    name, value = priority_class.meta.name or "", priority_class.value or 0
    if name.startswith(_SYSTEM_PREFIX):
        wrong = _unlike_system_class(name, priority_class)
        if wrong:
            reserved = "priority class names with 'system-' prefix are reserved for system use only. error"
            found.append(faults.forbidden("metadata.name", f"{reserved}: {wrong}"))
    elif value > HIGHEST_USER_DEFINABLE:
        text = f"maximum allowed value of a user defined priority is {HIGHEST_USER_DEFINABLE}"
        found.append(faults.forbidden("value", text))
    policy = priority_class.preemption_policy
    if policy not in PREEMPTION_POLICIES:
        found.append(faults.not_supported("preemptionPolicy", policy or "", PREEMPTION_POLICIES))
    return found


def class_update_faults(priority_class: PriorityClass, old: PriorityClass) -> list[Cause]:
    """Every fault of an update: neither the value nor the policy may change."""
    found = meta.meta_update_faults(priority_class.meta, old.meta)
    if priority_class.value != old.value:
        found.append(faults.forbidden("value", "may not be changed in an update."))
    policy = priority_class.preemption_policy
    if policy != old.preemption_policy:
        found.append(faults.invalid("preemptionPolicy", policy, faults.MUST_BE_IMMUTABLE))
    return found


def _unlike_system_class(name: str, priority_class: PriorityClass) -> str | None:
    """What keeps this from being the system class of its name, None if it is that."""
    known = SYSTEM_CLASSES.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if priority_class.value != known.value:
        return f"value of {name} PriorityClass must be {known.value}"
    if priority_class.global_default:
        return f"globalDefault of {name} PriorityClass must be false"
    return None
