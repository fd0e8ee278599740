"""What differs between two States: objects that came, went or changed, and lanes.

The two may be of one log at two positions, or of two logs that part somewhere.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from domain.amounts import quantity_of
from domain.configuration import configuration_of
from domain.explanation import Moment
from domain.objects import COMPOSITE, POD_GROUP, Condition, Group, Kept, NodeRecord, Pod
from domain.state import State
from domain.taints import written
from domain.times import rfc3339_micro

Facets = dict[str, str]
"""What can be told of an object by name; what is not there is not in it."""


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all parts of a difference."""


class FieldChange(Part, frozen=True, kw_only=True):
    """One thing about an object, before and after; None where it has no such thing."""

    field: str
    before: str | None
    after: str | None


class ObjectChange(Part, frozen=True, kw_only=True):
    """What became of the object `Kind/namespace/name`.

    `change` is `created`, `deleted`, `replaced` (another one of the same name) or `changed`. `group`
    is the PodGroup of a Pod, as a key.
    """

    object: str
    change: str
    group: str | None = None
    fields: tuple[FieldChange, ...]


class LaneChange(Part, frozen=True, kw_only=True):
    """An entity that entered or left a lane or was tried; a lane is None where it did not wait."""

    entity: str
    before: str | None
    after: str | None
    attempts_before: int
    attempts_after: int


class Difference(Part, frozen=True, kw_only=True):
    """What is otherwise at `until` than at `since`; objects by kind and key, lanes by entity."""

    since: Moment = msgspec.field(name="from")
    until: Moment = msgspec.field(name="to")
    objects: tuple[ObjectChange, ...]
    lanes: tuple[LaneChange, ...]
    configuration: tuple[FieldChange, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.objects or self.lanes or self.configuration)


def difference(before: State, after: State, *, then: int, now: int) -> Difference:
    """What differs between `before`, looked at at `then`, and `after`, at `now` (microseconds)."""
    return Difference(
        since=Moment(position=before.position, time=rfc3339_micro(then)),
        until=Moment(position=after.position, time=rfc3339_micro(now)),
        objects=tuple(_object_changes(before, after)),
        lanes=tuple(_lane_changes(before, after, then, now)),
        configuration=() if before.config == after.config else _configuration(before, after),
    )


def _configuration(before: State, after: State) -> tuple[FieldChange, ...]:
    old, new = (dict(_leaves(configuration_of(state.config), "")) for state in (before, after))
    return _changes(old, new)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every value in a document that is no list or mapping, by its path."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _leaves(part, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _leaves(part, f"{path}[{index}]")
    else:
        yield path, str(value)


def _object_changes(before: State, after: State) -> Iterator[ObjectChange]:
    for kind, records, told in (*_KINDS, *map(_kept, sorted(before.kept.keys() | after.kept.keys()))):
        old, new = records(before), records(after)
        for key in sorted(old.keys() | new.keys()):
            change = _object_change(f"{kind}/{key}", (before, old.get(key)), (after, new.get(key)), told)
            if change is not None:
                yield change


Records = Mapping[str, Any]
Side = tuple[State, Any]
"""A State and the record of an object in it, None if it is not there."""
Told = Callable[[State, Any], Facets]


def _object_change(subject: str, before: Side, after: Side, told: Told) -> ObjectChange | None:
    """What became of one object; None if nothing did."""
    (then, old), (now, new) = before, after
    if isinstance(old, Pod) and old == new:
        return None
    fields = _changes({} if old is None else told(then, old), {} if new is None else told(now, new))
    if old is None or new is None:
        change = "created" if old is None else "deleted"
    elif old.uid != new.uid:
        change = "replaced"
    elif fields:
        change = "changed"
    else:
        return None
    record = new if old is None else old
    group = record.group if isinstance(record, Pod) else None
    return ObjectChange(object=subject, change=change, group=group, fields=fields)


def _changes(old: Facets, new: Facets) -> tuple[FieldChange, ...]:
    """Those facets that differ, in the order in which they are told."""
    return tuple(
        FieldChange(field=name, before=old.get(name), after=new.get(name))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    )


def _pod_facets(_: State, pod: Pod) -> Facets:
    spec = pod.spec
    return _present(
        {
            "node": pod.node,
            "phase": pod.phase,
            "nominated": pod.nominated,
            "scheduled": _told(pod.condition),
            "evicted": _told(pod.disruption),
            "terminating": None if pod.deletion is None else rfc3339_micro(pod.deletion.at),
            "gates": ", ".join(spec.gates),
            "priority": str(spec.priority),
            "manifest": _place(pod.manifest),
        }
    )


def _group_facets(state: State, group: Group) -> Facets:
    is_leaf = group.kind == POD_GROUP
    least = f"min{'' if is_leaf else 'Group'}Count"
    return _present(
        {
            "policy": group.policy,
            least: str(group.min_count),
            "members": _members(state, group),
            "scheduled": _told(group.condition),
            "evicted": _told(group.disruption),
            "terminating": None if group.deletion is None else rfc3339_micro(group.deletion.at),
            "priority": str(group.priority),
            "parent": group.parent,
            "topologyKey": group.topology_key,
            "manifest": _place(group.manifest),
        }
    )


def _members(state: State, group: Group) -> str:
    if group.kind != POD_GROUP:
        return f"{state.forest.ready_below(group.key)} ready"
    members = state.members_of(group.key)
    return f"{len(members.bound)}/{members.created} bound"


def _node_facets(state: State, record: NodeRecord) -> Facets:
    facts = state.nodes.facts(record.key)
    return _present(
        {
            "cordoned": "yes" if facts.unschedulable else None,
            **{
                f"allocatable {name}": quantity_of(name, amount) for name, amount in facts.allocatable.items()
            },
            "taints": ", ".join(map(written, facts.taints)),
            **{f"label {name}": value for name, value in facts.labels.items()},
            "manifest": _place(record.manifest),
        }
    )


def _kept_facets(_: State, kept: Kept) -> Facets:
    return _present(
        {
            "terminating": None if kept.deletion is None else rfc3339_micro(kept.deletion.at),
            "manifest": _place(kept.manifest),
        }
    )


_KINDS: tuple[tuple[str, Callable[[State], Records], Told], ...] = (
    ("Node", lambda state: state.node_records, _node_facets),
    (COMPOSITE, lambda state: state.composites, _group_facets),
    (POD_GROUP, lambda state: state.groups, _group_facets),
    ("Pod", lambda state: state.pods, _pod_facets),
)


def _kept(kind: str) -> tuple[str, Callable[[State], Records], Told]:
    return kind, lambda state: state.kept.get(kind, {}), _kept_facets


def _present(facets: Mapping[str, str | None]) -> Facets:
    return {name: value for name, value in facets.items() if value}


def _told(condition: Condition | None) -> str | None:
    """A condition in a word, the time of it apart."""
    return None if condition is None else condition.reason or condition.status


def _place(position: int) -> str:
    return f"written at {position}"


def _lane_changes(before: State, after: State, then: int, now: int) -> Iterator[LaneChange]:
    old, new = before.queue, after.queue
    for name in sorted(old.entities.keys() | new.entities.keys()):
        was, is_ = old.entities.get(name), new.entities.get(name)
        change = LaneChange(
            entity=name,
            before=None if was is None else str(old.lane(was, then)),
            after=None if is_ is None else str(new.lane(is_, now)),
            attempts_before=0 if was is None else was.attempts,
            attempts_after=0 if is_ is None else is_.attempts,
        )
        if (change.before, change.attempts_before) != (change.after, change.attempts_after):
            yield change
