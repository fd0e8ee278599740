"""P22: whom a gang of ten evicts on a thousand full nodes."""

from collections.abc import Iterator
from typing import Any

from msgspec import Raw

from benchmarks.harness import Row, median_ratio
from domain.envelope import canonical
from domain.events import Event, NodeAdded, Payload, PodAdded, PodGroupAdded
from domain.reducer import fold
from domain.room import Room
from domain.scheduling.cycle import decide
from domain.scheduling.evaluate import fits
from domain.scheduling.place import place
from domain.scheduling.preemption import room_for
from domain.scheduling.units import Unit, units_below
from domain.shapes import PodShape
from domain.state import State

NODES = 1_000
GANG = 10
NODE_CPU = 4_000
BORN = "2026-01-01T00:00:00Z"
NOW = 1_767_225_600_000_000
TARGET = 20
"""How many times as fast as the plain search it has to be."""


def full_cluster(victims: int) -> State:
    """Nodes with `victims` Pods of priority 0 each, which fill them, and a gang whose members want a
    node each."""
    state = State()
    fold(state, [Event(at + 1, NOW, payload) for at, payload in enumerate(_payloads(victims))])
    return state


def plain_search(state: State) -> set[str]:
    """The Pods to evict by the plain loops of the rules: every unit is taken out on its own, and all
    members are filtered on their nodes after each that is put back."""
    group = state.groups["default/gang"]
    members = [
        (pod, pod.spec.shape) for pod in map(state.pods.__getitem__, state.members_of(group.key).pending)
    ]
    room = room_for(state, group.priority, [pod for pod, _ in members])
    row_of = room.roster.row
    units = sorted(units_below(state, group.priority), key=Unit.importance)
    for pod in (pod for unit in units for pod in unit.pods):
        room.forget(row_of[str(pod.node)], pod.spec.shape)
    placed = [(shape, place(room, shape, 1)[0]) for _, shape in members]
    for shape, row in placed:
        room.forget(row, shape)
    gone: set[str] = set()
    for unit in units:
        back = [(row_of[str(pod.node)], pod.spec.shape) for pod in unit.pods]
        for row, shape in back:
            room.assume(row, shape)
        if not _all_fit(room, placed):
            gone.update(pod.key for pod in unit.pods)
            for row, shape in back:
                room.forget(row, shape)
    return gone


def _all_fit(room: Room, placed: list[tuple[PodShape, int]]) -> bool:
    seated = 0
    while seated < len(placed) and fits(room, *placed[seated]):
        shape, row = placed[seated]
        room.assume(row, shape)
        seated += 1
    for shape, row in placed[:seated]:
        room.forget(row, shape)
    return seated == len(placed)


def measure() -> list[Row]:
    """The rows of this module."""
    return [_row(victims) for victims in (1, 4)]


def _row(victims: int) -> Row:
    state = full_cluster(victims)

    def ours() -> set[str]:
        decision = decide(state, NOW)
        assert decision is not None
        return set(decision.victims)

    def plain() -> set[str]:
        return plain_search(state)

    assert ours() == plain(), "the search finds other victims than the plain loop"
    faster = median_ratio(ours, plain, runs=15)
    return Row(
        id="P22",
        what=f"decide for a gang of {GANG} that preempts on {NODES:,} full nodes, Pods on each: {victims}",
        reference="the search alone, unit by unit, all members filtered after each",
        ratio=faster,
        target=f"≥ {TARGET}×",
        met=faster >= TARGET,
    )


def _payloads(victims: int) -> Iterator[Payload]:
    for number in range(NODES):
        name = f"node-{number:04}"
        status = {"allocatable": {"cpu": f"{NODE_CPU}m", "memory": "32Gi", "pods": "110"}}
        yield NodeAdded(key=name, object=_manifest("Node", name, None, {}, status))
        for which in range(victims):
            yield _pod(f"low-{number:04}-{which}", NODE_CPU // victims, 0, node=name)
    rank = {"priority": 100, "preemptionPolicy": "PreemptLowerPriority", "disruptionMode": {"single": {}}}
    policy = {"schedulingPolicy": {"gang": {"minCount": GANG}}}
    yield PodGroupAdded(
        key="default/gang", object=_manifest("PodGroup", "gang", "default", policy | rank, {})
    )
    for member in range(GANG):
        yield _pod(f"gang-{member}", NODE_CPU, 100, group="gang")


def _pod(
    name: str, cpu: int, priority: int, *, node: str | None = None, group: str | None = None
) -> PodAdded:
    requests = {"requests": {"cpu": f"{cpu}m"}}
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "image": "app", "resources": requests}],
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": priority,
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
    }
    status: dict[str, Any] = {}
    if node is not None:
        spec["nodeName"] = node
        status = {"phase": "Running", "startTime": BORN}
    if group is not None:
        spec["schedulingGroup"] = {"podGroupName": group}
    return PodAdded(
        key=f"default/{name}",
        group=None if group is None else f"default/{group}",
        node=node,
        object=_manifest("Pod", name, "default", spec, status),
    )


def _manifest(
    kind: str, name: str, namespace: str | None, spec: dict[str, Any], status: dict[str, Any]
) -> Raw:
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-of-{name}", "creationTimestamp": BORN}
    if namespace is not None:
        metadata["namespace"] = namespace
    if kind == "Pod":
        metadata["generation"] = 1
    return Raw(canonical({"kind": kind, "metadata": metadata, "spec": spec, "status": status}))
