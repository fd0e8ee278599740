"""Arguments that no placement exists: sound and cheap ones, each in one sentence.

They are about the cluster as it is, with everything that runs staying where it is. That none is
found proves nothing.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from domain.amounts import quantity_of
from domain.explaining.needs import Need, need_of
from domain.explaining.wording import number_of, so_many
from domain.peers import near
from domain.queue import Entity
from domain.resources import PODS
from domain.room import Room
from domain.roster import Mask, Rows
from domain.scheduling.company import company
from domain.scheduling.eligibility import eligibility
from domain.scheduling.placements import UndeterminedDomain
from domain.shapes import PodShape
from domain.state import State


def infeasible(state: State, entity: Entity) -> str | None:
    """Why no choice of nodes could start `entity` now; None if that is not shown."""
    need = need_of(state, entity)
    if (lacking := _too_few(need)) is not None:
        return lacking
    room = state.nodes.for_cycle(state.profile_for(state.pending_of(entity)))
    if not len(room):
        return "there are no nodes"
    scarce = None
    if room.profile.filters_by("NodeResourcesFit"):
        scarce = _resource_sums(room, need, _who_asks(need, alone=entity.is_pod))
    if scarce is not None:
        return scarce
    try:
        return _node_counts(room, need, np.arange(len(room)))
    except UndeterminedDomain:
        return None


def _too_few(need: Need) -> str | None:
    """Whether there is not even enough that could be tried."""
    if need.is_leaf:
        if len(need.members) >= need.needed:
            return None
        return f"{_count(need.needed, 'more member')} needed, {len(need.members)} can be tried"
    possible = sum(_too_few(child) is None for child in need.children)
    if possible >= need.needed:
        return None
    return f"{_count(need.needed, 'group')} needed, {possible} have enough members that can be tried"


# What is asked for together


def _resource_sums(room: Room, need: Need, who: str) -> str | None:
    """Whether even the most modest Pods that will do ask for more than there is of something."""
    scarce = None
    shapes = {shape for part in need.each() for shape in part.waiting}
    asked_for = {PODS} | {resource for shape in shapes for resource, _ in shape.requests}
    for resource in sorted(asked_for):
        asked = _least(need, resource)
        if asked is None:
            continue
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


def _least(need: Need, resource: str) -> int | None:
    """The least of `resource` that can meet `need`; None if it has too few members."""
    if need.is_leaf:
        return (
            None if len(need.members) < need.needed else _least_together(resource, need.waiting, need.needed)
        )
    amounts = sorted(amount for child in need.children if (amount := _least(child, resource)) is not None)
    return None if len(amounts) < need.needed else sum(amounts[: need.needed])


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


# What fits node by node


def _node_counts(room: Room, need: Need, rows: Rows) -> str | None:
    """Whether the nodes, each filled with Pods of one shape alone, take too few of all shapes."""
    places = need.places(room, rows)
    if not places:
        return f"no node has the label {need.key}"
    if not need.is_leaf:
        return _group_counts(room, need, places)
    most, bound = max(((_possible(room, need, each), each) for each in places), key=lambda found: found[0])
    if most >= need.needed:
        return None
    if need.needed == 1 and need.key is None:
        if len(room) == 1:
            return "the only node was looked at, and cannot take it"
        return f"each of the {len(room)} nodes was looked at, and none can take it"
    shapes = "" if len(need.waiting) == 1 else ", each shape as if it were alone"
    members = f"the {need.needed} members needed" if need.needed > 1 else "the member needed"
    counted = f"counted node by node{shapes}{_apart(room, need, bound)}"
    return f"{counted}, {_room_for(most, members, need.key)}"


def _group_counts(room: Room, need: Need, places: list[Rows]) -> str | None:
    most = max(sum(_node_counts(room, child, each) is None for child in need.children) for each in places)
    if most >= need.needed:
        return None
    counted = "each group as if alone"
    groups = f"the {need.needed} groups needed" if need.needed > 1 else "the group needed"
    return f"{counted}, {_room_for(most, groups, need.key)}"


def _room_for(most: int, needed: str, key: str | None) -> str:
    """That so many of those `needed`, at most, have room somewhere, or in one domain of `key`."""
    if not most:
        return f"there is no room for {needed}" if key is None else f"no {key} has room for {needed}"
    if key is None:
        return f"there is room for {most} of {needed}"
    return f"no {key} has room for more than {most} of {needed}"


def _possible(room: Room, need: Need, rows: Rows) -> int:
    """No more members than these fit on `rows`."""
    return sum(min(count, *_bounds(room, shape, rows, count)) for shape, count in need.waiting.items())


def _apart(room: Room, need: Need, rows: Rows) -> str:
    """Which label keeps the members apart, if that is what there is too little room for."""
    alone = sum(min(count, next(_bounds(room, shape, rows, count))) for shape, count in need.waiting.items())
    keys = {term for shape in need.waiting for term in _own_terms(room, shape)}
    return f" and no two of them in one {min(keys)}" if keys and alone >= need.needed else ""


def _bounds(room: Room, shape: PodShape, rows: Rows, count: int) -> Iterator[int]:
    """Bounds on how many Pods of `shape`, of `count`, fit on `rows`: the first by what is free on each
    node, the others by the labels of which each value takes one alone."""
    able = rows[(eligibility(room, shape).allowed & _not_avoided(room, shape))[rows]]
    fits = room.capacity(shape, able, count)
    yield int(fits.sum())
    for key in _own_terms(room, shape):
        codes = room.roster.labels(key).codes[able]
        in_one = len(set(codes[(codes >= 0) & (fits > 0)].tolist()))
        yield in_one + int(fits[codes < 0].sum())


def _not_avoided(room: Room, shape: PodShape) -> Mask:
    """The nodes on which no anti-affinity rules `shape` out: more Pods only make them fewer."""
    mask = np.ones(len(room), dtype=np.bool_)
    if (around := company(room, shape)) is not None:
        for tally in (*around.avoided, *around.repelled.values()):
            mask &= tally.around <= 0
    return mask


def _own_terms(room: Room, shape: PodShape) -> list[str]:
    """The labels of which each value takes one Pod of `shape`, since it keeps off its own kind."""
    if shape.peer is None or shape.peer.terms is None or not room.profile.filters_by("InterPodAffinity"):
        return []
    namespaces = room.crowd.namespaces
    return [
        term.topology_key for term in shape.peer.terms.anti_affinity if near(term, shape.peer, namespaces)
    ]


def _who_asks(need: Need, *, alone: bool) -> str:
    if alone:
        return "it asks"
    what = "member" if need.is_leaf else "group"
    least = "" if need.is_leaf else " at least"
    if need.needed == 1:
        return f"the {what} that is needed asks{least}"
    return f"the {need.needed} {what}s that are needed ask{least}"


def _count(number: int, what: str) -> str:
    return f"{so_many(number, what)} {number_of(number, 'is', 'are')}"
