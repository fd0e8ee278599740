"""Filling all domains of a label at once, step by step, for a PodGroup whose members differ in shape.

Domains have no node in common, so that one room can hold what is placed in all of them: each step puts
the next member on the best node of every domain. That is what trying one domain after the other comes
to, as long as nothing but the use of nodes tells them apart.
"""

from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from domain.room import Room
from domain.roster import Domains, Mask, Roster, Whole
from domain.scheduling.branch import Branch
from domain.scheduling.eligibility import eligibility
from domain.scheduling.evaluate import feasible
from domain.scheduling.greedy import Numbers
from domain.scheduling.placements import use_of_domains
from domain.scheduling.score import by_resources
from domain.shapes import PodShape


class Filled(NamedTuple):
    """How a PodGroup comes out in each of D domains.

    `succeeded` and `placed`, the number of members, are of shape (D,); `used`, of shape (2, D), is what is
    then in use, as from `use_of_domains`, and means nothing for domains where it fails.
    """

    succeeded: NDArray[np.bool_]
    placed: Numbers
    used: Whole


def can_step(branch: Branch, room: Room) -> bool:
    """Whether `branch` is a PodGroup of which nothing but the use of nodes decides where members go."""
    if not branch.is_leaf or any(pod.nominated is not None for pod, _ in branch.members):
        return False
    return all(_is_plain(room, shape) for shape in {shape for _, shape in branch.members})


def _is_plain(room: Room, shape: PodShape) -> bool:
    if shape.peer is not None or shape.host_ports or not eligibility(room, shape).indifferent:
        return False
    # What an image counts depends on how many of the nodes have it, which differs in a domain.
    return not room.roster.remembered(_has_image, shape)


def _has_image(roster: Roster, shape: PodShape) -> bool:
    return any(image in facts.images for image in shape.images for facts in roster.facts)


def fill_domains(branch: Branch, room: Room, key: str) -> Filled:
    """How `branch` comes out in each domain of `key` in `room`; only for those that `can_step`."""
    domains = room.roster.domains(key)
    inside = room.copy()
    minimum, members = branch.group.min_count, branch.members
    placed = np.zeros(len(domains), dtype=np.int64)
    remaining = np.full(len(domains), len(members), dtype=np.int64)
    possible = branch.bound + placed + remaining >= minimum
    for shape, alike in groupby(members, key=lambda member: member[1]):
        count = sum(1 for _ in alike)
        taken = _place(inside, shape, domains, np.where(possible, count, 0), branch.most, placed)
        placed += taken
        remaining -= count
        possible &= branch.bound + placed + remaining >= minimum
    _, used = use_of_domains(inside, key)
    return Filled(possible, placed, used)


def _place(
    room: Room, shape: PodShape, domains: Domains, wanted: Numbers, most: int | None, placed: Numbers
) -> Numbers:
    """Put up to `wanted` Pods of `shape` into each domain, and say how many found a place; there are
    `placed` before, and not more than `most` may be in any."""
    if most is not None:
        wanted = np.minimum(wanted, np.maximum(most - placed, 0))
    open_: Mask = feasible(room, shape)
    points = by_resources(room, shape)
    last = len(domains.rows) - 1
    taken = np.zeros(len(domains), dtype=np.int64)
    while True:
        heads = np.where(open_, points, -1)[domains.rows]
        best = np.maximum.reduceat(heads * (last + 1) + np.arange(last, -1, -1), domains.starts)
        goes = (taken < wanted) & (best >= 0)
        if not goes.any():
            return taken
        rows = domains.rows[last - best[goes] % (last + 1)]
        room.assume_each(rows, shape)
        taken += goes
        open_[rows] = room.capacity(shape, rows, limit=1) > 0
        points[rows] = by_resources(room, shape, rows)
