"""Taints of nodes, and what tolerates them."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"


class Taint(msgspec.Struct, frozen=True, gc=False, array_like=True, order=True):
    """A mark that keeps Pods off a node unless they tolerate it."""

    key: str
    value: str
    effect: str


class Toleration(msgspec.Struct, frozen=True, gc=False, array_like=True, order=True):
    """What a Pod puts up with. An empty `effect` stands for every effect, an empty `key` for every key."""

    key: str
    operator: str
    value: str
    effect: str


def written(taint: Taint) -> str:
    """`taint` as kubectl writes it: `key=value:NoSchedule`."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def taint_of(manifest: Mapping[str, Any]) -> Taint:
    """The taint written in a Node."""
    return Taint(manifest["key"], manifest.get("value") or "", manifest["effect"])


def toleration_of(manifest: Mapping[str, Any]) -> Toleration:
    """The toleration written in a Pod; its operator is `Equal` where none is given."""
    return Toleration(
        key=manifest.get("key") or "",
        operator=manifest.get("operator") or "Equal",
        value=manifest.get("value") or "",
        effect=manifest.get("effect") or "",
    )


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether one of `tolerations` covers `taint`. Source: Kubernetes, Toleration.ToleratesTaint."""
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return toleration.key == taint.key and toleration.value == taint.value
