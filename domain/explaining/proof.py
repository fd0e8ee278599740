"""Arguments that no placement exists: sound and cheap ones, each in one sentence.

They are about single Pods and PodGroups without a parent in the cluster as it is, with everything
that runs staying where it is. That none is found proves nothing.
"""

from collections import Counter

import numpy as np

from domain.amounts import quantity_of
from domain.objects import COMPOSITE
from domain.queue import Entity
from domain.resources import PODS
from domain.room import Room
from domain.scheduling.eligibility import eligibility
from domain.shapes import PodShape
from domain.state import State


def infeasible(state: State, entity: Entity) -> str | None:
    """Why no choice of nodes could start `entity` now; None if that is not shown."""
    if entity.kind == COMPOSITE:
        return None
    waiting = Counter(state.spec(pod).shape for pod in state.pending_of(entity) if pod.deletion is None)
    needed = _needed(state, entity)
    if waiting.total() < needed:
        return f"{_count(needed, 'more member')} needed, {waiting.total()} can be tried"
    room = state.nodes.for_cycle(state.profile_for(state.pending_of(entity)))
    if not len(room):
        return "there are no nodes"
    who = "it asks" if entity.is_pod else _who_asks(needed)
    scarce = None
    if room.profile.filters_by("NodeResourcesFit"):
        scarce = _resource_sums(room, waiting, needed, who)
    return scarce or _node_counts(room, waiting, needed)


def _needed(state: State, entity: Entity) -> int:
    """How many of the waiting Pods must find a node for the attempt to succeed."""
    if entity.is_pod:
        return 1
    group = state.groups[entity.key]
    return max(group.min_count - len(state.members_of(entity.key).bound), 1)


def _resource_sums(room: Room, waiting: Counter[PodShape], needed: int, who: str) -> str | None:
    """Whether even the most modest `needed` Pods together ask for more than there is of something."""
    scarce = None
    asked_for = {PODS} | {resource for shape in waiting for resource, _ in shape.requests}
    for resource in sorted(asked_for):
        asked = _least_together(resource, waiting, needed)
        column = room.roster.column.get(resource)
        has, free = (0, 0) if column is None else _sums(room, column)
        want = f"{who} for {quantity_of(resource, asked)} {resource}"
        if asked > has:
            return f"{want}, the whole cluster has {quantity_of(resource, has)}"
        if asked > free and scarce is None:
            scarce = f"{want}, the whole cluster has {quantity_of(resource, free)} free"
    return scarce


def _sums(room: Room, column: int) -> tuple[int, int]:
    """What all nodes have of a resource, and what is free of it."""
    has, free = room.allocatable[column].tolist(), room.free(column).tolist()
    return sum(has), sum(max(amount, 0) for amount in free)


def _least_together(resource: str, waiting: Counter[PodShape], needed: int) -> int:
    """What the `needed` Pods that ask for least of `resource` ask for together."""
    if resource == PODS:
        return needed
    total = 0
    for asked, count in sorted((shape.requested(resource), count) for shape, count in waiting.items()):
        taken = min(count, needed)
        total += asked * taken
        needed -= taken
    return total


def _node_counts(room: Room, waiting: Counter[PodShape], needed: int) -> str | None:
    """Whether the nodes, each filled with Pods of one shape alone, take too few of all shapes."""
    possible = 0
    for shape, count in waiting.items():
        rows = np.flatnonzero(eligibility(room, shape).allowed)
        possible += min(count, sum(room.capacity(shape, rows, count).tolist()))
    if possible >= needed:
        return None
    if needed == 1:
        return f"each of the {len(room)} nodes was looked at, and none can take it"
    shapes = "" if len(waiting) == 1 else ", each shape as if it were alone"
    return f"counted node by node{shapes}, there is room for {possible} of the {needed} members needed"


def _who_asks(needed: int) -> str:
    return "the member that is needed asks" if needed == 1 else f"the {needed} members that are needed ask"


def _count(number: int, what: str) -> str:
    return f"{number} {what} is" if number == 1 else f"{number} {what}s are"
