"""Logs to measure on: gangs of four that come, start, run and end, one after the other."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from msgspec import Raw

from domain.envelope import Draft, canonical
from domain.events import (
    GroupAttempted,
    GroupFinding,
    NodeAdded,
    PodAdded,
    PodBound,
    PodDeleted,
    PodGroupAdded,
    PodGroupDeleted,
    PodUpdated,
)
from domain.times import SECOND, parse_rfc3339, rfc3339
from domain.upcast import draft
from domain.version import SCHEDULER

GANG = 4
EVENTS_A_GANG = 2 + 3 * GANG
LIVE_GANGS = 1_000
"""How many gangs run at a time; an older one is deleted for each that comes."""
NODES = 500
BORN = "2026-01-01T00:00:00Z"


def book(events: int, others: Callable[[], int] = lambda: 0) -> Iterator[Draft]:
    """The first `events` events of a cluster of 500 nodes on which gangs come and go.

    `others` tells how many events somebody else has appended between them so far.
    """
    return (draft(payload, actor="bench") for payload in islice(_payloads(others), events))


def running(nodes: int, gangs: int) -> Iterator[Draft]:
    """The events of a cluster of so many nodes on which so many gangs have come and run, one a second.

    `EVENTS_A_GANG` are about each.
    """
    for number in range(nodes):
        yield draft(_node_added(number), actor="bench")
    position = nodes
    for gang in range(gangs):
        for payload in _one_gang(gang, position, nodes, born=rfc3339(parse_rfc3339(BORN) + gang * SECOND)):
            position += 1
            yield draft(payload, actor="bench")


def _payloads(others: Callable[[], int]) -> Iterator[Any]:
    position = 0
    for number in range(NODES):
        position += 1
        yield _node_added(number)
    gang = 0
    while True:
        for payload in _one_gang(gang, position + others()):
            position += 1
            yield payload
        if gang >= LIVE_GANGS:
            for payload in _end_of_gang(gang - LIVE_GANGS):
                position += 1
                yield payload
        gang += 1


def _node_added(number: int) -> NodeAdded:
    return NodeAdded(key=_node(number), object=_manifest("Node", _node(number), None, {}, _ALLOCATABLE))


def _one_gang(gang: int, position: int, nodes: int = NODES, born: str = BORN) -> Iterator[Any]:
    name = f"job-{gang:06}"
    group = f"default/{name}"
    policy = {"schedulingPolicy": {"gang": {"minCount": GANG}}, **_PRIORITY, "disruptionMode": {"single": {}}}
    yield PodGroupAdded(key=group, object=_manifest("PodGroup", name, "default", policy, {}, born))
    pods = [f"{name}-{index}" for index in range(GANG)]
    for pod in pods:
        spec = {**_POD, "schedulingGroup": {"podGroupName": name}}
        yield PodAdded(
            key=f"default/{pod}", group=group, object=_manifest("Pod", pod, "default", spec, {}, born)
        )
    found = GroupFinding(
        created=GANG,
        group=f"PodGroup/{group}",
        minimum=GANG,
        placed=GANG,
        policy="gang",
        scheduled=GANG,
        status="Success",
    )
    yield GroupAttempted(
        at=0,
        entity=f"PodGroup/{group}",
        groups=(found,),
        number=1,
        outcome="scheduled",
        scheduler=SCHEDULER,
        snapshot=position + 1 + GANG,
    )
    for index, pod in enumerate(pods):
        yield PodBound(group=group, node=_node_of(gang, index, nodes), pod=f"default/{pod}", uid=_uid(pod))
    for index, pod in enumerate(pods):
        yield _status(group, pod, _node_of(gang, index, nodes), "Running", born)


def _end_of_gang(gang: int) -> Iterator[Any]:
    name = f"job-{gang:06}"
    group = f"default/{name}"
    for index in range(GANG):
        yield _status(group, f"{name}-{index}", _node_of(gang, index), "Succeeded")
    for index in range(GANG):
        pod = f"{name}-{index}"
        yield PodDeleted(group=group, key=f"default/{pod}", node=_node_of(gang, index), uid=_uid(pod))
    yield PodGroupDeleted(key=group, uid=_uid(name))


_ALLOCATABLE = {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}}
_PRIORITY = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
_POD = {
    "containers": [
        {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}},
    ],
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    **_PRIORITY,
}


def _node(number: int) -> str:
    return f"node-{number:04}"


def _node_of(gang: int, index: int, nodes: int = NODES) -> str:
    return _node((gang * GANG + index) % nodes)


def _uid(name: str) -> str:
    return str(uuid5(NAMESPACE_OID, name))


def _status(group: str, pod: str, node: str, phase: str, born: str = BORN) -> PodUpdated:
    status = Raw(canonical({"phase": phase, "startTime": born}))
    return PodUpdated(group=group, key=f"default/{pod}", node=node, status=status)


def _manifest(
    kind: str,
    name: str,
    namespace: str | None,
    spec: dict[str, Any],
    status: dict[str, Any],
    born: str = BORN,
) -> Raw:
    metadata: dict[str, Any] = {"name": name, "uid": _uid(name), "creationTimestamp": born}
    if namespace is not None:
        metadata["namespace"] = namespace
    if kind == "Pod":
        metadata["generation"] = 1
    return Raw(canonical({"kind": kind, "metadata": metadata, "spec": spec, "status": status}))
