"""Tables: lists and objects as rows of cells, which is what kubectl asks for to print them.

Source: KEP-594, server-side printing; metav1.Table.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from fastapi import Request
from fastapi.responses import Response

from api.replies import json_reply
from api.resource import Resource
from domain.ages import age
from worker.cluster import Cluster
from worker.words import (
    Shown,
    conditions,
    group_of,
    last_seen,
    node_status,
    pod_status,
    policy_of,
    regarded,
    taints_of,
    text_of,
)

_META: Final = "meta.k8s.io/v1"
_ASKED: Final = {"as": "table", "g": "meta.k8s.io", "v": "v1"}


class Column(NamedTuple):
    """A column: what an object has in it at a time (µs); `wide`: kubectl shows it with `-o wide` only."""

    name: str
    cell: Callable[[Shown, int], Any]
    wide: bool = False


class Tables:
    """Whether a request asks for tables, and what `includeObject` says of the objects beside the rows."""

    def __init__(self, request: Request) -> None:
        first = request.headers.get("accept", "").partition(",")[0]
        parameters = dict(part.strip().lower().partition("=")[::2] for part in first.split(";")[1:])
        self.wanted = _ASKED.items() <= parameters.items()
        self._include = request.query_params.get("includeObject", "Metadata")

    def reply(self, cluster: Cluster, resource: Resource, shown: dict[str, Any]) -> Response:
        """The answer that is an object."""
        return json_reply(self.of_one(resource, shown, cluster.clock.now()) if self.wanted else shown)

    def list_reply(self, cluster: Cluster, resource: Resource, listed: dict[str, Any]) -> Response:
        """The answer that is a list of objects."""
        if not self.wanted:
            return json_reply(listed)
        return json_reply(self.table(resource, listed["items"], cluster.clock.now(), listed["metadata"]))

    def table(
        self, resource: Resource, items: Iterable[Shown], now: int, metadata: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A table with a row for each of `items`; `metadata` is that of the list."""
        columns = _COLUMNS[resource.kind.name]
        return {
            "kind": "Table",
            "apiVersion": _META,
            "metadata": metadata,
            "columnDefinitions": [_definition(column) for column in columns],
            "rows": [
                {"cells": [column.cell(shown, now) for column in columns], **self._beside(shown)}
                for shown in items
            ],
        }

    def of_one(self, resource: Resource, shown: Shown, now: int) -> dict[str, Any]:
        """A table with one row, which has the version of its object."""
        version = shown["metadata"].get("resourceVersion", "")
        return self.table(resource, (shown,), now, {"resourceVersion": version})

    def _beside(self, shown: Shown) -> dict[str, Any]:
        match self._include:
            case "None":
                return {}
            case "Object":
                return {"object": shown}
            case _:
                kind = "PartialObjectMetadata"
                return {"object": {"kind": kind, "apiVersion": _META, "metadata": shown["metadata"]}}


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": "string",
        "format": "name" if column.name == "Name" else "",
        "description": "",
        "priority": int(column.wide),
    }


def _of(part: str, field: str, otherwise: str = "") -> Callable[[Shown, int], Any]:
    return lambda shown, _: text_of((shown.get(part) or {}).get(field), otherwise)


def _group_status(shown: Shown) -> str:
    """The word for how a group is, by its condition."""
    condition = conditions(shown).get(f"{shown['kind']}InitiallyScheduled")
    if "deletionTimestamp" in shown["metadata"]:
        return "Terminating"
    return "Pending" if condition is None else condition.get("reason") or "Scheduled"


_NAME: Final = Column("Name", _of("metadata", "name"))
_AGE: Final = Column("Age", lambda shown, now: age(shown["metadata"].get("creationTimestamp"), now))
_GROUP: Final = (
    _NAME,
    Column("Policy", lambda shown, _: policy_of(shown)[0]),
    Column("Min", lambda shown, _: policy_of(shown)[1]),
    Column("Status", lambda shown, _: _group_status(shown)),
    _AGE,
    Column("Priority", _of("spec", "priority"), wide=True),
    Column("Parent", _of("spec", "parentCompositePodGroupName", "<none>"), wide=True),
)
_COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "Pod": (
        _NAME,
        Column("Status", lambda shown, _: pod_status(shown)),
        Column("Group", lambda shown, _: group_of(shown) or "<none>"),
        Column("Node", _of("spec", "nodeName", "<none>")),
        _AGE,
        Column("Nominated Node", _of("status", "nominatedNodeName", "<none>"), wide=True),
        Column("Priority", _of("spec", "priority"), wide=True),
    ),
    "Node": (
        _NAME,
        Column("Status", lambda shown, _: node_status(shown)),
        _AGE,
        Column(
            "Taints",
            lambda shown, _: ",".join(taints_of(shown)),
            wide=True,
        ),
    ),
    "Namespace": (_NAME, Column("Status", _of("status", "phase", "Active")), _AGE),
    "PodGroup": _GROUP,
    "CompositePodGroup": _GROUP,
    "Workload": (
        _NAME,
        Column("Templates", lambda shown, _: str(len(shown["spec"].get("podGroupTemplates") or ()))),
        _AGE,
    ),
    "PriorityClass": (
        _NAME,
        Column("Value", lambda shown, _: text_of(shown.get("value"))),
        Column("Global-Default", lambda shown, _: text_of(bool(shown.get("globalDefault")))),
        _AGE,
        Column("PreemptionPolicy", lambda shown, _: text_of(shown.get("preemptionPolicy"))),
    ),
    "PodDisruptionBudget": (
        _NAME,
        Column("Min Available", _of("spec", "minAvailable", "N/A")),
        Column("Max Unavailable", _of("spec", "maxUnavailable", "N/A")),
        Column("Allowed Disruptions", _of("status", "disruptionsAllowed", "0")),
        _AGE,
    ),
    "Event": (
        Column("Last Seen", last_seen),
        Column("Type", lambda shown, _: shown["type"]),
        Column("Reason", lambda shown, _: shown["reason"]),
        Column("Object", lambda shown, _: regarded(shown)),
        Column("Message", lambda shown, _: text_of(shown.get("message", shown.get("note")))),
    ),
}
