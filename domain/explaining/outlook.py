"""What comes next for an entity: its place in line, its next try, what would wake it, what it lacks."""

from collections.abc import Iterable

from domain.explaining.uncounted import uncounted
from domain.explaining.wording import number_of, pods_named, so_many
from domain.explanation import Ahead, Line
from domain.objects import COMPOSITE, POD_GROUP, Group, Members, Pod
from domain.queue import Entity, Lane, Stir, Verdict
from domain.state import State
from domain.times import SECOND, rfc3339, rfc3339_micro
from domain.waiting import what_helps

_SHOWN_AHEAD = 5

_OWN_OF_GROUP = ("PodAdded", "PodUpdated", "PodDeleted", "PodGroupUpdated")
_CHILDREN_OF = {POD_GROUP: (), COMPOSITE: ("PodGroupAdded", "CompositePodGroupAdded")}
_OWN_OF_POD = ("PodUpdated",)
_ROOM = ("NodeAdded", "NodeUpdated", "PodUpdated", "PodDeleted", "BindingFailed", "SchedulerConfigured")
_MOVE = ("NodeDeleted", "PodAdded", "PodBound")
_RULE = ("PodEvicted", "NamespaceAdded", "NamespaceUpdated", "NamespaceDeleted")


def next_try_us(state: State, entity: Entity, now: int) -> int | None:
    """When `entity` is due at the earliest; None where time alone does not bring that about."""
    match state.queue.lane(entity, now):
        case Lane.ACTIVE:
            return now
        case Lane.BACKOFF:
            return entity.due_us
        case _:
            return None


def woken_by(state: State, entity: Entity) -> tuple[str, ...]:
    """The types of events that could bring the next attempt about; none where it is due anyway."""
    if entity.hold is not None:
        return _freed_by(state, entity)
    if entity.verdict is Verdict.UNTRIED or state.queue.awake(entity):
        return ()
    own = _OWN_OF_POD if entity.is_pod else (*_OWN_OF_GROUP, *_CHILDREN_OF[entity.kind])
    room = _ROOM if entity.wakes_on >= Stir.ROOM else ()
    move = _MOVE if entity.wakes_on >= Stir.MOVE else ()
    rule = _RULE if entity.wakes_on >= Stir.RULE else ()
    return tuple(dict.fromkeys((*room, *move, *rule, *own)))


def _freed_by(state: State, entity: Entity) -> tuple[str, ...]:
    """What could end the hold of `entity`."""
    assert entity.hold is not None
    if entity.hold.lane is Lane.INCOMPLETE:
        known = state.group_of(entity.name) is not None  # then what is above it is a ring, or too much
        return ("CompositePodGroupDeleted",) if known else (f"{entity.kind}Added",)
    if entity.hold.plugin == "GangScheduling":
        return ("PodAdded", "PodGroupUpdated", *_CHILDREN_OF[entity.kind])
    return ("PodUpdated", "PodDeleted")


def line_of(state: State, entity: Entity, now: int) -> Line | None:
    """The place of `entity` among those that are due; None if it is not due itself."""
    queue = state.queue
    if queue.lane(entity, now) is not Lane.ACTIVE:
        return None
    active = sorted(
        (each for each in queue.entities.values() if queue.lane(each, now) is Lane.ACTIVE), key=Entity.order
    )
    first = [each for each in active if each.order() < entity.order()]
    ahead = tuple(Ahead(entity=each.name, because=_because(each, entity)) for each in first[:_SHOWN_AHEAD])
    return Line(place=len(first) + 1, length=len(active), ahead=ahead)


def _because(first: Entity, second: Entity) -> str:
    """The comparison by which `first` is tried before `second`."""
    if first.priority != second.priority:
        return f"priority {first.priority} is above {second.priority}"
    if first.timestamp != second.timestamp:
        return f"waits since {rfc3339_micro(first.timestamp)}, this since {rfc3339_micro(second.timestamp)}"
    if first.arrival != second.arrival:
        return f"came at position {first.arrival}, this at {second.arrival}"
    return "its name comes first"


def where_it_waits(state: State, entity: Entity, now: int) -> str:
    """One sentence on what has to happen before `entity` is tried."""
    if entity.hold is not None:
        return _held(state, entity)
    match state.queue.lane(entity, now):
        case Lane.ACTIVE:
            line = line_of(state, entity, now)
            assert line is not None, "what is due has a place in line"
            again = "again " if entity.attempts else ""
            return f"it is due and will be tried {again}as number {line.place} of {line.length} in line"
        case Lane.BACKOFF if state.queue.awake(entity):
            return f"it backs off and will be tried again at {rfc3339(entity.due_us)}"
        case Lane.BACKOFF:
            return f"it backs off until {rfc3339(entity.due_us)}, then rests until something changes"
        case _:
            return f"it rests and waits for {what_helps(state, entity)}"


def whose_end(state: State, victims: Iterable[str]) -> str:
    """Which of `victims`, Pods by key, have to end before there is room; empty if all are gone."""
    ending = [pod for key in victims if (pod := state.pods.get(key)) is not None and not pod.terminal]
    since = [pod.deletion.at for pod in ending if pod.deletion is not None]
    if not since:
        return ""
    more = f" and {len(ending) - 1} more" if len(ending) > 1 else ""
    return f"it waits for Pod {ending[0].key}{more}, evicted at {rfc3339(min(since))}{_grace_of(ending)}"


def _grace_of(ending: Iterable[Pod]) -> str:
    """How long Pods that are being deleted may take; empty if they may not."""
    asked = [(pod, pod.deletion) for pod in ending if pod.deletion is not None]
    kept = [pod for pod, deletion in asked if pod.held_back and not deletion.grace]
    if kept:
        return (
            f"; {pods_named(kept)} {number_of(len(kept), 'stays', 'stay')} until its finalizers are taken off"
        )
    until = max((each.at + each.grace * SECOND for _, each in asked if each.grace), default=None)
    return "" if until is None else f", which may take until {rfc3339(until)} to end"


def _held(state: State, entity: Entity) -> str:
    assert entity.hold is not None
    if entity.is_pod:
        return f"it is held: {entity.hold.text}"
    root = state.group_of(entity.name)
    if entity.hold.lane is Lane.INCOMPLETE:
        if root is not None:
            return f"it has no root: {entity.hold.text}"
        return f"{entity.kind} {entity.key} does not exist"
    gated = state.waiting_as(entity.name).gated
    if gated:
        of_all = so_many(_members_below(state, entity), "member")
        verbs = ("has", "holds") if len(gated) == 1 else ("have", "hold")
        told = f"{len(gated)} of {of_all} {verbs[0]} scheduling gates and {verbs[1]} all of it back"
        return "; ".join((told, *(f"{each} does not exist" for each in _absent(state, entity))))
    if entity.hold.plugin == "GangScheduling" and root is not None:
        return _quorum_of(state, root)
    return f"it is held: {entity.hold.text}"


def _members_below(state: State, entity: Entity) -> int:
    """How many members the groups of the tree have that waits as `entity`."""
    leaves = state.leaves_of(entity.kind, entity.key)
    return sum(state.members_of(leaf).created for leaf in leaves)


def _quorum_of(state: State, root: Group) -> str:
    if root.kind == POD_GROUP:
        exist = f"{state.members_of(root.key).created} of {root.min_count} members exist"
        return "; ".join((exist, *uncounted(state, root)))
    ready, groups = state.forest.ready_below(root.key), len(state.forest.children(root.key))
    return f"{ready} of the {groups} groups right below it have their quorum, {root.min_count} must"


def missing(state: State, entity: Entity, group: Group) -> tuple[str, ...]:
    """What a held entity waits for in or above `group`, one of its own, by name or count; nothing if it
    is not held or waits for no thing."""
    hold = entity.hold
    if hold is None:
        return ()
    if hold.lane is Lane.INCOMPLETE:
        return _absent(state, entity)
    if hold.plugin == "SchedulingGates":
        gated = (pod for pod in state.pending_of(entity) if pod.spec.gates)
        return (*map(_gates, gated), *_absent(state, entity))
    if hold.plugin == "GangScheduling":
        return missing_below(state, group)
    return ()


def _absent(state: State, entity: Entity) -> tuple[str, ...]:
    """The group that the Pods of `entity` wait for because it does not exist, if there is one."""
    known = entity.is_pod or state.group_of(entity.name) is not None
    return () if known else (f"{entity.kind} {entity.key}",)


def missing_below(state: State, group: Group) -> tuple[str, ...]:
    """The Pods, or groups with a quorum, that `group` lacks for its own, by count."""
    if group.kind == POD_GROUP:
        return missing_members(group.min_count, state.members_of(group.key))
    lacking = group.min_count - state.forest.ready_below(group.key)
    return () if lacking <= 0 else (f"{so_many(lacking, 'group')} with a quorum",)


def missing_members(min_count: int, members: Members) -> tuple[str, ...]:
    """The members that do not exist yet, by count."""
    lacking = min_count - members.created
    return () if lacking <= 0 else (so_many(lacking, "Pod"),)


def _gates(pod: Pod) -> str:
    gates = pod.spec.gates
    which = number_of(len(gates), "gate", "gates")
    return f"scheduling {which} of Pod {pod.name}: {', '.join(gates)}"
