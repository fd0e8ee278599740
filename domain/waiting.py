"""The queue as people read it: what waits, in which lane and place, since when and for what."""

import msgspec

from domain.queue import Entity, Lane, Stir, Verdict
from domain.state import State
from domain.times import rfc3339_micro


class Waiter(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An entity that waits; times are RFC 3339.

    `place` is its place in its lane, 1 for the first; `pods` counts its pending Pods; `due` is when
    its backoff ends, None in other lanes.
    """

    entity: str
    lane: str
    place: int
    priority: int
    pods: int
    attempts: int
    since: str
    due: str | None
    waits_for: str


class WaitingLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All that waits as of `position` and `time`, lane by lane, in the order in which it is tried."""

    position: int
    time: str
    waiters: tuple[Waiter, ...]


def waiting_line(state: State, now: int) -> WaitingLine:
    """What waits in `state` at `now` (microseconds)."""
    places: dict[Lane, int] = {}
    waiters = []
    for lane, entity in state.queue.in_order(now):
        places[lane] = places.get(lane, 0) + 1
        waiters.append(
            Waiter(
                entity=entity.name,
                lane=lane,
                place=places[lane],
                priority=entity.priority,
                pods=sum(1 for _ in state.pending_of(entity)),
                attempts=entity.attempts,
                since=rfc3339_micro(entity.timestamp),
                due=rfc3339_micro(entity.due_us) if lane is Lane.BACKOFF else None,
                waits_for=waits_for(state, entity, lane),
            )
        )
    return WaitingLine(position=state.position, time=rfc3339_micro(now), waiters=tuple(waiters))


def waits_for(state: State, entity: Entity, lane: Lane) -> str:
    """What has to happen before `entity`, in `lane`, is tried."""
    if entity.hold is not None:
        return entity.hold.text
    match lane:
        case Lane.ACTIVE:
            return "its turn"
        case Lane.BACKOFF:
            return "the end of its backoff"
        case _:
            return what_helps(state, entity)


def what_helps(state: State, entity: Entity) -> str:
    """The changes that wake a refused `entity`, as precisely as the hints tell them apart."""
    promised = "a change on its nominated node, " if entity.verdict is Verdict.WAITING else ""
    whom = "it" if entity.is_pod else "its Pods"
    match entity.wakes_on:
        case Stir.OWN:
            return "a change of its own Pods or groups"
        case Stir.ROOM:
            return f"{promised}a node that could have {whom}, or {_room(state, entity)} set free on one"
        case Stir.MOVE:
            return f"{promised}a node that comes or goes, or any change on one that could have {whom}"
        case Stir.RULE if state.asks_of(entity).keys:
            return f"{promised}any change of the nodes or of what is on them"
        case Stir.RULE if all(shape.peer is None for shape in state.asks_of(entity).shapes):
            return f"{promised}a node that comes or changes, or any change on one that could have {whom}"
        case Stir.RULE:
            return (
                f"{promised}a node that comes, goes or changes, {_room(state, entity)} set free on one that "
                f"could have {whom}, or a Pod or namespace that its rules are about"
            )


def _room(state: State, entity: Entity) -> str:
    """What `entity` takes of a node, in words."""
    shapes = state.asks_of(entity).shapes
    wanted = sorted({resource for shape in shapes for resource, _ in shape.requests})
    ports = ["a host port"] if any(shape.host_ports for shape in shapes) else []
    return " or ".join(filter(None, (", ".join([*wanted, *ports]), "a place for a Pod")))
