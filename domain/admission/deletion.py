"""Deletion: what goes at once, what stays a while, and who keeps it.

A Pod on a node has its grace period, which the kubelet ends; finalizers keep any object; a
PodGroup stays while Pods that are not finished name it, a CompositePodGroup while it has children.
Source: k8s.io/apiserver, registry/rest; Kubernetes 1.37, podgroupprotection; KEP-6012.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from domain.admission.admit import World
from domain.admission.faults import not_admitted
from domain.admission.groups import PROTECTION
from domain.admission.kinds import (
    COMPOSITE_POD_GROUP,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    Kind,
    not_found,
)
from domain.admission.pods import DEFAULT_GRACE_SECONDS
from domain.admission.priority import SYSTEM_CLASSES
from domain.objects import TERMINAL_PHASES
from domain.times import SECOND, parse_rfc3339, rfc3339


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an object that was to go.

    `object` None: it is gone. Else it stays as `object`, under deletion, and has `grace` seconds;
    `changed` False: it was under deletion already, and nothing is different now.
    """

    kind: Kind
    key: str
    object: dict[str, Any] | None
    grace: int = 0
    changed: bool = True


def delete(world: World, kind: Kind, key: str, *, now: int, grace: int | None = None) -> Removal:
    """Delete an object as a user does, with `grace` seconds or its own.

    Raises NotFound, or Forbidden for a priority class that every cluster has.
    """
    name = key.rpartition("/")[2]
    if kind is PRIORITY_CLASS and name in SYSTEM_CLASSES:
        raise not_admitted(kind, name, "this is a system priority class and cannot be deleted")
    stored = world.get(kind.name, key)
    if stored is None:
        raise not_found(kind, name)
    seconds = _grace(kind, stored, grace)
    metadata = stored["metadata"]
    if metadata.get("deletionTimestamp") is not None:
        return _delete_again(world, kind, key, stored, seconds)
    left = _finalizers_left(world, kind, key, metadata.get("finalizers") or [])
    if seconds == 0 and not left and not _has_children(world, kind, key):
        return Removal(kind=kind, key=key, object=None)
    marked = _with_finalizers(stored, left)
    marked["metadata"]["deletionTimestamp"] = rfc3339(now + seconds * SECOND)
    marked["metadata"]["deletionGracePeriodSeconds"] = seconds
    if "generation" in metadata:
        marked["metadata"]["generation"] += 1
    return Removal(kind=kind, key=key, object=marked, grace=seconds)


def release(world: World, kind: Kind, key: str) -> Removal | None:
    """What becomes of a group now that one of its Pods ended or one of its children went.

    None: nothing; it is not under deletion, or still has what it was kept for.
    """
    stored = world.get(kind.name, key)
    if stored is None or stored["metadata"].get("deletionTimestamp") is None:
        return None
    finalizers = stored["metadata"].get("finalizers") or []
    left = _finalizers_left(world, kind, key, finalizers)
    if not left and not _has_children(world, kind, key):
        return Removal(kind=kind, key=key, object=None)
    if left == finalizers:
        return None
    return Removal(kind=kind, key=key, object=_with_finalizers(stored, left))


def ended(world: World, key: str) -> Removal:
    """What becomes of a Pod under deletion when the kubelet is done with it. Raises NotFound."""
    return delete(world, POD, key, now=0, grace=0)


def _delete_again(world: World, kind: Kind, key: str, stored: Mapping[str, Any], seconds: int) -> Removal:
    """A further request for an object under deletion can only shorten its grace period."""
    metadata = stored["metadata"]
    before = metadata.get("deletionGracePeriodSeconds") or 0
    finalizers = metadata.get("finalizers") or []
    left = _finalizers_left(world, kind, key, finalizers)
    if seconds == 0 and not left and not _has_children(world, kind, key):
        return Removal(kind=kind, key=key, object=None)
    marked = _with_finalizers(stored, left)
    if seconds < before:
        requested = parse_rfc3339(metadata["deletionTimestamp"]) - before * SECOND
        marked["metadata"]["deletionTimestamp"] = rfc3339(requested + seconds * SECOND)
        marked["metadata"]["deletionGracePeriodSeconds"] = seconds
    changed = seconds < before or left != finalizers
    return Removal(kind=kind, key=key, object=marked, grace=min(seconds, before), changed=changed)


def _grace(kind: Kind, stored: Mapping[str, Any], asked: int | None) -> int:
    """The grace period in seconds: only a Pod that a kubelet must stop has one."""
    spec = stored.get("spec") or {}
    ended = (stored.get("status") or {}).get("phase") in TERMINAL_PHASES
    if kind is not POD or not spec.get("nodeName") or ended:
        return 0
    seconds = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS) if asked is None else asked
    return seconds if seconds >= 0 else 1


def _finalizers_left(world: World, kind: Kind, key: str, finalizers: list[str]) -> list[str]:
    """The finalizers that still have somebody to wait for."""
    if kind is not POD_GROUP or PROTECTION not in finalizers or world.active_pods_of(key):
        return finalizers
    return [finalizer for finalizer in finalizers if finalizer != PROTECTION]


def _has_children(world: World, kind: Kind, key: str) -> bool:
    return kind is COMPOSITE_POD_GROUP and world.children_of(key)


def _with_finalizers(stored: Mapping[str, Any], finalizers: list[str]) -> dict[str, Any]:
    """A copy of a stored object with these finalizers, whose metadata may be written to."""
    copied = {**stored, "metadata": dict(stored["metadata"])}
    if finalizers:
        copied["metadata"]["finalizers"] = finalizers
    else:
        copied["metadata"].pop("finalizers", None)
    return copied
