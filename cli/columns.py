"""The columns of `ganger get`, by kind: those that kubectl prints, and those that gangs need."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cli.objects import Facts, Shown, key_of
from domain.ages import age
from domain.amounts import quantity_of
from domain.resources import CPU, MEMORY, PODS, amounts_of
from worker.words import (
    conditions,
    first_seen,
    group_of,
    last_seen,
    node_status,
    pod_status,
    policy_of,
    regarded,
    taints_of,
    text_of,
)


class Column(NamedTuple):
    """A column: what an object has in it, empty where it has nothing; `wide`: with `-o wide` only."""

    header: str
    cell: Callable[[Shown, Facts], str]
    wide: bool = False


def columns_for(kind: str, objects: Sequence[Shown], *, wide: bool, namespaces: bool) -> list[Column]:
    """The columns of a table of `objects`; with `namespaces` it begins with that of each."""
    columns = [Column("NAMESPACE", _of_metadata("namespace"))] if namespaces else []
    columns += _node_columns(objects) if kind == "Node" else _COLUMNS[kind]
    return [column for column in columns if wide or not column.wide]


def table(columns: Sequence[Column], objects: Sequence[Shown], facts: Facts) -> list[list[str]]:
    """The cells of `objects`, a row each."""
    return [[column.cell(shown, facts) for column in columns] for shown in objects]


def allocatable_of(shown: Shown) -> dict[str, int]:
    """What a Node can give away, by resource in base units."""
    return amounts_of((shown.get("status") or {}).get("allocatable") or {})


def devices_of(nodes: Sequence[Shown]) -> list[str]:
    """The extended resources that some of `nodes` have, such as `nvidia.com/gpu`, sorted."""
    return sorted({resource for node in nodes for resource in allocatable_of(node) if "/" in resource})


def _spec(shown: Shown) -> Mapping[str, Any]:
    return shown.get("spec") or {}


def _of_metadata(field: str) -> Callable[[Shown, Facts], str]:
    return lambda shown, _: shown["metadata"].get(field) or ""


def _of_spec(field: str) -> Callable[[Shown, Facts], str]:
    return lambda shown, _: text_of(_spec(shown).get(field))


def _of_status(field: str) -> Callable[[Shown, Facts], str]:
    return lambda shown, _: text_of((shown.get("status") or {}).get(field))


def _of_object(field: str) -> Callable[[Shown, Facts], str]:
    return lambda shown, _: text_of(shown.get(field))


def _use_of(resource: str) -> Callable[[Shown, Facts], str]:
    def cell(node: Shown, facts: Facts) -> str:
        allocatable = allocatable_of(node)
        if resource not in allocatable:
            return ""
        used = facts.used(node["metadata"]["name"]).get(resource, 0)
        return f"{quantity_of(resource, used)}/{quantity_of(resource, allocatable[resource])}"

    return cell


def _node_columns(nodes: Sequence[Shown]) -> list[Column]:
    devices = devices_of(nodes)
    short = [device.rpartition("/")[2] for device in devices]
    headers = [
        name if short.count(name) == 1 else device for name, device in zip(short, devices, strict=True)
    ]
    return [
        _NAME,
        Column("STATUS", lambda shown, _: node_status(shown)),
        Column("PODS", _use_of(PODS)),
        Column("CPU", _use_of(CPU)),
        Column("MEMORY", _use_of(MEMORY)),
        *(Column(header.upper(), _use_of(device)) for header, device in zip(headers, devices, strict=True)),
        _AGE,
        Column("TAINTS", lambda shown, _: ",".join(taints_of(shown)), True),
    ]


def _group_column(header: str, field: str) -> Column:
    def cell(shown: Shown, facts: Facts) -> str:
        return str(getattr(facts.group(shown["kind"], key_of(shown)), field))

    return Column(header, cell)


_NAME = Column("NAME", _of_metadata("name"))
_AGE = Column("AGE", lambda shown, facts: age(shown["metadata"].get("creationTimestamp"), facts.now))
_POLICY = Column("POLICY", lambda shown, _: policy_of(shown)[0])
_MIN = Column("MIN", lambda shown, _: policy_of(shown)[1])
_PARENT = Column("PARENT", _of_spec("parentCompositePodGroupName"), True)


def _times_of(event: Shown) -> str:
    return str((event.get("series") or {}).get("count", 1))


_COLUMNS: Mapping[str, Sequence[Column]] = {
    "Event": (
        Column("LAST SEEN", lambda shown, facts: last_seen(shown, facts.now)),
        Column("TYPE", _of_object("type")),
        Column("REASON", _of_object("reason")),
        Column("OBJECT", lambda shown, _: regarded(shown)),
        Column("SUBOBJECT", lambda shown, _: shown["involvedObject"].get("fieldPath") or "", True),
        Column(
            "SOURCE", lambda shown, _: f"{shown['reportingComponent']}, {shown['reportingInstance']}", True
        ),
        Column("MESSAGE", _of_object("message")),
        Column("FIRST SEEN", lambda shown, facts: first_seen(shown, facts.now), True),
        Column("COUNT", lambda shown, _: _times_of(shown), True),
        Column("NAME", _of_metadata("name"), True),
    ),
    "Pod": (
        _NAME,
        Column("STATUS", lambda shown, _: pod_status(shown)),
        Column("GROUP", lambda shown, _: group_of(shown)),
        Column("NODE", _of_spec("nodeName")),
        _AGE,
        Column("REASON", lambda shown, _: conditions(shown).get("PodScheduled", {}).get("reason", ""), True),
        Column("NOMINATED NODE", _of_status("nominatedNodeName"), True),
        Column("PRIORITY", _of_spec("priority"), True),
    ),
    "PodGroup": (
        _NAME,
        _POLICY,
        _MIN,
        _group_column("CREATED", "created"),
        _group_column("BOUND", "bound"),
        _group_column("STATUS", "status"),
        _group_column("LANE", "lane"),
        _AGE,
        Column("PRIORITY", _of_spec("priority"), True),
        _PARENT,
    ),
    "CompositePodGroup": (
        _NAME,
        _POLICY,
        _MIN,
        _group_column("CHILDREN", "created"),
        _group_column("READY", "ready"),
        _group_column("STARTED", "bound"),
        _group_column("STATUS", "status"),
        _group_column("LANE", "lane"),
        _AGE,
        Column("PRIORITY", _of_spec("priority"), True),
        _PARENT,
    ),
    "Workload": (
        _NAME,
        Column("TEMPLATES", lambda shown, _: str(len(shown["spec"].get("podGroupTemplates") or ()))),
        _AGE,
    ),
    "PriorityClass": (
        _NAME,
        Column("VALUE", _of_object("value")),
        Column("GLOBAL-DEFAULT", lambda shown, _: text_of(bool(shown.get("globalDefault")))),
        _AGE,
        Column("PREEMPTIONPOLICY", lambda shown, _: shown.get("preemptionPolicy") or "PreemptLowerPriority"),
    ),
    "PodDisruptionBudget": (
        _NAME,
        Column("MIN AVAILABLE", lambda shown, _: text_of(shown["spec"].get("minAvailable")) or "N/A"),
        Column("MAX UNAVAILABLE", lambda shown, _: text_of(shown["spec"].get("maxUnavailable")) or "N/A"),
        Column(
            "ALLOWED DISRUPTIONS",
            lambda shown, _: text_of(shown.get("status", {}).get("disruptionsAllowed")) or "0",
        ),
        _AGE,
    ),
    "Namespace": (
        _NAME,
        Column("STATUS", lambda shown, _: (shown.get("status") or {}).get("phase") or "Active"),
        _AGE,
    ),
}
