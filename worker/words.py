"""The words that tables have for how an object is: those of kubectl where it has them."""

from collections.abc import Mapping
from typing import Any

from domain.ages import age
from domain.taints import taint_of, written

Shown = Mapping[str, Any]
"""An object as Kubernetes shows it."""


def conditions(shown: Shown) -> dict[str, Mapping[str, Any]]:
    """The conditions of an object by type."""
    found = (shown.get("status") or {}).get("conditions") or ()
    return {condition["type"]: condition for condition in found}


def pod_status(shown: Shown) -> str:
    """The word that kubectl has for how a Pod is."""
    if "deletionTimestamp" in shown["metadata"]:
        return "Terminating"
    phase: str = (shown.get("status") or {}).get("phase") or "Pending"
    reason = conditions(shown).get("PodScheduled", {}).get("reason")
    return "SchedulingGated" if phase == "Pending" and reason == "SchedulingGated" else phase


def node_status(shown: Shown) -> str:
    """`Ready` unless the Node says otherwise, and whether it is cordoned."""
    ready = conditions(shown).get("Ready", {}).get("status", "True") == "True"
    cordoned = bool(_spec(shown).get("unschedulable"))
    return ("Ready" if ready else "NotReady") + (",SchedulingDisabled" if cordoned else "")


def policy_of(shown: Shown) -> tuple[str, str]:
    """The scheduling policy of a group, and how many members or groups it needs."""
    policy = _spec(shown).get("schedulingPolicy") or {}
    if "gang" not in policy:
        return "Basic", ""
    gang = policy["gang"] or {}
    return "Gang", str(gang.get("minCount", gang.get("minGroupCount", "")))


def group_of(shown: Shown) -> str:
    """The name of the PodGroup that a Pod joins; empty if it joins none."""
    name: str = (shown["spec"].get("schedulingGroup") or {}).get("podGroupName") or ""
    return name


def taints_of(shown: Shown) -> list[str]:
    """The taints of a Node as kubectl writes them."""
    return [written(taint_of(taint)) for taint in _spec(shown).get("taints") or ()]


def text_of(value: object, otherwise: str = "") -> str:
    """A field as text; `otherwise` where there is none."""
    if isinstance(value, bool):
        return str(value).lower()
    return otherwise if value is None else str(value)


def regarded(event: Shown) -> str:
    """The object that an Event is about: `pod/a`."""
    target = event.get("involvedObject") or event["regarding"]
    return f"{target['kind'].lower()}/{target['name']}"


def first_seen(event: Shown, now: int) -> str:
    """How long ago an Event happened first."""
    return age(event.get("eventTime"), now)


def last_seen(event: Shown, now: int) -> str:
    """How long ago an Event happened last."""
    return age((event.get("series") or {}).get("lastObservedTime", event.get("eventTime")), now)


def _spec(shown: Shown) -> Mapping[str, Any]:
    return shown.get("spec") or {}
