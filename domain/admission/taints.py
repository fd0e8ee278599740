"""Taints of nodes and tolerations of Pods: their faults.

Source: Kubernetes 1.37, pkg/apis/core/validation.
"""

from collections.abc import Sequence

from domain.admission import faults, names
from domain.admission.core import Taint, Toleration
from domain.errors import Cause

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def taint_faults(path: str, taints: Sequence[Taint]) -> list[Cause]:
    """The faults of `taints` at `path`; two of one key and effect are one too many."""
    found: list[Cause] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        key, effect = taint.key or "", taint.effect or ""
        at = f"{path}[{index}]"
        found += [faults.invalid(f"{at}.key", key, text) for text in names.qualified(key)]
        found += [
            faults.invalid(f"{at}.value", taint.value or "", text)
            for text in names.label_value(taint.value or "")
        ]
        if not effect:
            found.append(faults.required(f"{at}.effect"))
        elif effect not in EFFECTS:
            found.append(faults.not_supported(f"{at}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            found.append(faults.duplicate(at, taint.dump()))
        seen.add((key, effect))
    return found


def toleration_faults(path: str, toleration: Toleration) -> list[Cause]:
    """The faults of one toleration at `path`."""
    found: list[Cause] = []
    key, operator, value = toleration.key or "", toleration.operator or "", toleration.value or ""
    if key:
        found += [faults.invalid(f"{path}.key", key, text) for text in names.qualified(key)]
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        found.append(faults.invalid(f"{path}.operator", operator, text))
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        found.append(faults.invalid(f"{path}.effect", toleration.effect or "", text))
    if operator in ("Equal", ""):
        found += [faults.invalid(f"{path}.operator", value, text) for text in names.label_value(value)]
    elif operator == "Exists":
        if value:
            text = "value must be empty when `operator` is 'Exists'"
            found.append(faults.invalid(f"{path}.operator", toleration.dump(), text))
    else:
        found.append(faults.not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
    if toleration.effect and toleration.effect not in EFFECTS:
        found.append(faults.not_supported(f"{path}.effect", toleration.effect, EFFECTS))
    return found
