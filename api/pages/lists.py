"""Objects of a kind as rows, by namespace and name."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from domain.admission.kinds import COMPOSITE_POD_GROUP, NODE, POD, POD_GROUP, Kind
from domain.amounts import quantity_of
from domain.objects import Group, Pod
from domain.state import State

LISTED = (POD_GROUP, COMPOSITE_POD_GROUP, POD, NODE)
"""What has a list of its own."""


class Row(NamedTuple):
    """An object in a list; `state` is the word for how it stands, `cells` are the other columns."""

    subject: str
    name: str
    state: str
    cells: tuple[str, ...]


class Listing(NamedTuple):
    """A page of a list; `heads` are those of the cells, `next` is the key to go on after."""

    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    next: str | None


class Members(NamedTuple):
    """What belongs to a group, or is on a node: how many (`total`) of `what`, and the first of them."""

    what: str
    total: int
    subjects: tuple[str, ...]


def members_of(state: State, kind: Kind, key: str, *, limit: int) -> Members:
    """The Pods of a PodGroup or on a node, and the groups right below a composite; at most `limit` named."""
    what = "Pod"
    match kind.name:
        case POD_GROUP.name:
            pods = state.members_of(key)
            found = [f"{POD.name}/{pod}" for pod in (*pods.bound, *pods.pending, *pods.foreign)]
        case COMPOSITE_POD_GROUP.name:
            what, found = "group", [child.subject for child in state.forest.children(key)]
        case NODE.name:
            on_it = (pod for pod in state.pods.values() if pod.node == key and not pod.terminal)
            found = [f"{POD.name}/{pod.key}" for pod in on_it]
        case _:
            found = []
    return Members(what, len(found), tuple(found[:limit]))


def listing(state: State, kind: Kind, now: int, *, after: str, limit: int) -> Listing:
    """The objects of `kind` after the key `after`, at most `limit`; lanes are those at `now` (in µs)."""
    heads, keys, row = _LISTS[kind.name]
    found = sorted(key for key in keys(state) if key > after)
    rows = tuple(Row(f"{kind.name}/{key}", key, *row(state, key, now)) for key in found[:limit])
    return Listing(heads, rows, found[limit - 1] if len(found) > limit else None)


_Cells = tuple[str, tuple[str, ...]]


def _pod_group(state: State, key: str, now: int) -> _Cells:
    group, members = state.groups[key], state.members_of(key)
    started = f"{len(members.bound)} of {members.created}"
    return _lane(state, state.forest.waits_as(key), now, started=bool(members.bound)), (
        _policy(group, "minCount"),
        started,
        str(group.priority),
        group.parent or "",
    )


def _composite(state: State, key: str, now: int) -> _Cells:
    group = state.composites[key]
    leaves = [state.members_of(leaf.key) for leaf in state.forest.leaves(key)]
    bound, created = sum(len(each.bound) for each in leaves), sum(each.created for each in leaves)
    return _lane(state, state.forest.waits_as(key, COMPOSITE_POD_GROUP.name), now, started=bool(bound)), (
        _policy(group, "minGroupCount"),
        f"{bound} of {created}",
        str(group.priority),
        group.parent or "",
    )


def _pod(state: State, key: str, now: int) -> _Cells:
    pod = state.pods[key]
    return _pod_state(state, pod, now), (
        pod.node or "",
        (pod.group or "").rpartition("/")[2],
        str(pod.spec.priority),
    )


def _pod_state(state: State, pod: Pod, now: int) -> str:
    if pod.deletion is not None:
        return "Terminating"
    lane = state.lane_of(pod, now)
    return pod.phase if lane is None else lane.value


def _node(state: State, key: str, _: int) -> _Cells:
    facts, used = state.nodes.facts(key), state.nodes.used(key)
    free = ", ".join(
        f"{quantity_of(resource, int(amount) - used.get(resource, 0))} {resource}"
        for resource, amount in facts.allocatable.items()
        if resource != "pods"
    )
    return "cordoned" if facts.unschedulable else "open", (str(used["pods"]), free)


def _lane(state: State, entity: str, now: int, *, started: bool) -> str:
    """The lane in which `entity` waits; of one that does not, whether anything of it has started."""
    waiting = state.queue.entities.get(entity)
    if waiting is not None:
        return state.queue.lane(waiting, now).value
    return "started" if started else ""


def _policy(group: Group, counted: str) -> str:
    return f"{counted} {group.min_count}" if group.policy == "gang" else group.policy


_LISTS: Mapping[
    str,
    tuple[tuple[str, ...], Callable[[State], Mapping[str, object]], Callable[[State, str, int], _Cells]],
] = {
    POD_GROUP.name: (
        ("policy", "Pods on nodes", "priority", "parent"),
        lambda state: state.groups,
        _pod_group,
    ),
    COMPOSITE_POD_GROUP.name: (
        ("policy", "Pods on nodes", "priority", "parent"),
        lambda state: state.composites,
        _composite,
    ),
    POD.name: (("node", "group", "priority"), lambda state: state.pods, _pod),
    NODE.name: (("Pods", "free"), lambda state: state.node_records, _node),
}
