"""Everything about an object, in sections as `kubectl describe` has them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cli.columns import allocatable_of
from cli.console import align
from cli.dumping import dump
from cli.objects import Facts, Shown, key_of, labels_of
from domain.admission.kinds import Kind
from domain.ages import age
from domain.amounts import quantity_of
from domain.resources import effective_requests
from worker.history import Entry
from worker.words import first_seen, group_of, last_seen, node_status, pod_status, policy_of, taints_of

Fact = tuple[str, str]
"""A label and what stands behind it, which may have several lines."""

_INDENT = "  "


class Told(NamedTuple):
    """What is told of an object beside itself: the Pods of the group or on the node that it is, the
    Kubernetes Events about it, and the end of its history."""

    pods: Sequence[Shown]
    events: Sequence[Shown]
    entries: Sequence[Entry]


def describe_lines(kind: Kind, shown: Shown, facts: Facts, beside: Told) -> list[str]:
    """`shown` as lines, with what stands `beside` it."""
    told = _FACTS.get(kind.name, _no_facts)(shown, facts)
    lines = _facts([*_identity(shown, facts), *told])
    if kind.name not in _FACTS:
        lines += _manifest(shown)
    if kind.name == "Node":
        lines += _section("Resources", _resources(shown, facts))
    if kind.name in ("Node", "PodGroup"):
        lines += _section("Pods", _pods(beside.pods, namespaces=kind.name == "Node"))
    lines += _section("Conditions", _conditions(shown, facts))
    lines += _events(beside.events, facts.now)
    return lines + _section("History", _history(beside.entries))


def _identity(shown: Shown, facts: Facts) -> list[Fact]:
    metadata = shown["metadata"]
    told = [("Name", metadata["name"])]
    if metadata.get("namespace"):
        told.append(("Namespace", metadata["namespace"]))
    told.append(("Labels", _pairs(labels_of(shown))))
    told.append(("Annotations", _pairs(metadata.get("annotations") or {}, sign=": ")))
    created = metadata.get("creationTimestamp")
    told.append(("Created", f"{created} ({age(created, facts.now)} ago)" if created else "<unknown>"))
    if metadata.get("deletionTimestamp"):
        grace = metadata.get("deletionGracePeriodSeconds")
        told.append(("Terminating", f"until {metadata['deletionTimestamp']} (grace period {grace}s)"))
    return told


def _pod_facts(pod: Shown, facts: Facts) -> list[Fact]:
    spec = pod["spec"]
    asked = effective_requests(spec)
    gates = [gate["name"] for gate in spec.get("schedulingGates") or ()]
    told = [
        ("Priority", str(spec.get("priority", 0))),
        ("Group", group_of(pod)),
        ("Status", pod_status(pod)),
        ("Node", spec.get("nodeName") or ""),
        ("Scheduler", spec.get("schedulerName") or ""),
        ("Requests", _pairs({name: quantity_of(name, value) for name, value in asked.items()}, sign=" ")),
        ("Node-Selectors", _pairs(spec.get("nodeSelector") or {})),
        ("Tolerations", "\n".join(map(_toleration, spec.get("tolerations") or ()))),
    ]
    if gates:
        told.append(("Scheduling Gates", "\n".join(gates)))
    nominated = (pod.get("status") or {}).get("nominatedNodeName")
    return [*told, ("Nominated Node", nominated)] if nominated else told


def _group_facts(group: Shown, facts: Facts) -> list[Fact]:
    spec = group["spec"]
    standing = facts.group(group["kind"], key_of(group))
    policy, least = policy_of(group)
    if group["kind"] == "PodGroup":
        least_of, members = "Min Count", f"{standing.created} created, {standing.bound} bound"
    else:
        least_of = "Min Group Count"
        members = f"{standing.created} groups, {standing.ready} ready, {standing.bound} started"
    told = [
        ("Policy", policy),
        (least_of, least),
        ("Members", members),
        ("Status", standing.status),
        ("Lane", standing.lane),
        ("Priority", str(spec.get("priority", 0))),
    ]
    parent = spec.get("parentCompositePodGroupName")
    return [*told, ("Parent", parent)] if parent else told


def _node_facts(node: Shown, facts: Facts) -> list[Fact]:
    taints = taints_of(node)
    return [("Status", node_status(node)), ("Taints", "\n".join(taints))]


def _no_facts(shown: Shown, facts: Facts) -> list[Fact]:
    return []


_FACTS: Mapping[str, Callable[[Shown, Facts], list[Fact]]] = {
    "Pod": _pod_facts,
    "PodGroup": _group_facts,
    "CompositePodGroup": _group_facts,
    "Node": _node_facts,
}


def _manifest(shown: Shown) -> list[str]:
    """The fields of an object beside its identity and conditions, as YAML."""
    status = {name: value for name, value in (shown.get("status") or {}).items() if name != "conditions"}
    body = {
        **{
            name: value
            for name, value in shown.items()
            if name not in ("apiVersion", "kind", "metadata", "status")
        },
        **({"status": status} if status else {}),
    }
    return dump(body, "yaml").splitlines() if body else []


def _resources(node: Shown, facts: Facts) -> list[tuple[str, ...]]:
    used = facts.used(node["metadata"]["name"])
    rows = [
        (
            name,
            quantity_of(name, there),
            quantity_of(name, used.get(name, 0)),
            quantity_of(name, there - used.get(name, 0)),
        )
        for name, there in allocatable_of(node).items()
    ]
    return [("Resource", "Allocatable", "Used", "Free"), *rows]


def _pods(pods: Sequence[Shown], *, namespaces: bool) -> list[tuple[str, ...]]:
    if namespaces:
        header: tuple[str, ...] = ("Namespace", "Name", "Status", "Group")
        rows = [
            (pod["metadata"]["namespace"], pod["metadata"]["name"], pod_status(pod), group_of(pod))
            for pod in pods
        ]
        return [header, *rows]
    header = ("Name", "Status", "Node")
    return [
        header,
        *((pod["metadata"]["name"], pod_status(pod), pod["spec"].get("nodeName") or "") for pod in pods),
    ]


def _conditions(shown: Shown, facts: Facts) -> list[tuple[str, ...]]:
    found = (shown.get("status") or {}).get("conditions") or ()
    rows = [
        (
            each["type"],
            each["status"],
            age(each.get("lastTransitionTime"), facts.now),
            each.get("reason") or "",
            each.get("message") or "",
        )
        for each in found
    ]
    return [("Type", "Status", "Age", "Reason", "Message"), *rows]


def _events(events: Sequence[Shown], now: int) -> list[str]:
    """The section of Events as `kubectl describe` prints it."""
    if not events:
        return [f"Events:{_INDENT}<none>"]
    rows = [
        (each["type"], each["reason"], _when(each, now), each["reportingComponent"], each["message"])
        for each in events
    ]
    table = [
        ("Type", "Reason", "Age", "From", "Message"),
        ("----", "------", "----", "----", "-------"),
        *rows,
    ]
    return ["Events:", *(_INDENT + line for line in align(table, gap=_INDENT))]


def _when(event: Shown, now: int) -> str:
    """How long ago an Event happened last and, if it did more than once, how often since when."""
    if "series" not in event:
        return first_seen(event, now)
    return f"{last_seen(event, now)} (x{event['series']['count']} over {first_seen(event, now)})"


def _history(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    rows = [(str(entry.position), entry.at, entry.type, entry.summary) for entry in entries]
    return [("Position", "Time", "Type", "Summary"), *rows]


def _facts(facts: Sequence[Fact]) -> list[str]:
    """Labels with a colon and, behind them, aligned, what they say."""
    width = max(len(label) for label, _ in facts) + 3
    lines = []
    for label, told in facts:
        first, *rest = told.splitlines() or ["<none>"]
        lines.append(f"{f'{label}:'.ljust(width)}{first}")
        lines += [" " * width + line for line in rest]
    return lines


def _section(title: str, rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A titled table whose first row is its header."""
    if len(rows) == 1:
        return [f"{title}:{_INDENT}<none>"]
    header, *rest = rows
    rule = tuple("-" * len(name) for name in header)
    return [f"{title}:", *(_INDENT + line for line in align([header, rule, *rest]))]


def _pairs(pairs: Mapping[str, Any], *, sign: str = "=") -> str:
    return "\n".join(f"{key}{sign}{value}" for key, value in pairs.items())


def _toleration(toleration: Mapping[str, Any]) -> str:
    """A toleration as kubectl writes it: `key=value:NoSchedule`, `key:NoExecute op=Exists for 30s`."""
    text = toleration.get("key") or ""
    if toleration.get("value"):
        text += f"={toleration['value']}"
    if toleration.get("effect"):
        text += f":{toleration['effect']}"
    if toleration.get("operator") == "Exists":
        text = f"{text} op=Exists".strip()
    seconds = toleration.get("tolerationSeconds")
    return text if seconds is None else f"{text} for {seconds}s"
