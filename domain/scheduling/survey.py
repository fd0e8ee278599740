"""Surveying all domains of a label at once, for Pods of one shape.

How many Pods of one shape a domain takes does not depend on where in it they go, as long as no rules
about other Pods are in play: it is what its nodes take, added up. So numbers tell how a group comes
out in each domain, and nothing has to be placed but in the one that is chosen.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from domain.room import Ask, Room
from domain.roster import Domains, Whole
from domain.scheduling.branch import Branch
from domain.scheduling.eligibility import eligibility
from domain.scheduling.greedy import Numbers
from domain.scheduling.leaf import Feasible, feasible
from domain.shapes import PodShape


class Tally(NamedTuple):
    """How a group would come out: members `placed` for good, numbers of the last feasibility check, and
    whether it was refused for want of a place for a member (`misfit`)."""

    succeeded: bool
    placed: int
    scheduled: int
    remaining: int
    misfit: bool = False


class Survey(NamedTuple):
    """How a group comes out in each domain.

    `capacity`, of shape (N,), is how many more Pods of `shape` each node takes, as far as that can
    matter; `tallies` has an element a domain.
    """

    shape: PodShape
    domains: Domains
    capacity: Numbers
    tallies: list[Tally]


def can_survey(branch: Branch) -> bool:
    """Whether numbers are enough to tell how `branch` comes out in a domain."""
    shape = branch.sole_shape()
    if shape is None or shape.peer is not None or shape.host_ports:
        return False
    return all(below.group.topology_key is None for child in branch.children for below in child.each())


def survey(branch: Branch, room: Room, key: str) -> Survey:
    """How `branch` comes out in each domain of `key` in `room`; only for those that `can_survey`."""
    shape = branch.sole_shape()
    assert shape is not None
    domains = room.roster.domains(key)
    limit = sum(1 for _ in branch.all_members())
    capacity = room.capacity(shape, slice(None), limit)
    capacity[~eligibility(room, shape).allowed] = 0
    known: dict[int, Tally] = {}
    tallies = []
    for places in np.minimum(domains.sums(capacity), limit).tolist():
        if places not in known:
            known[places] = tally(branch, places)
        tallies.append(known[places])
    return Survey(shape, domains, capacity, tallies)


def tally(branch: Branch, places: int) -> Tally:
    """How `branch` comes out where there are so many places for its members, who are all alike."""
    return _tally_leaf(branch, places) if branch.is_leaf else _tally_children(branch, places)


def _tally_leaf(branch: Branch, places: int) -> Tally:
    minimum, count = branch.group.min_count, len(branch.members)
    if feasible(minimum, branch.bound, count) is Feasible.IMPOSSIBLE:
        return Tally(False, 0, branch.bound, count)
    placed = min(count, places if branch.most is None else min(places, branch.most))
    scheduled = branch.bound + placed
    if scheduled < minimum:
        return Tally(False, 0, scheduled, minimum - scheduled - 1, misfit=True)
    return Tally(True, placed, scheduled, 0)


def _tally_children(branch: Branch, places: int) -> Tally:
    minimum = branch.group.min_count
    placed = scheduled = 0
    remaining = len(branch.children)
    misfit = False
    for child in branch.children:
        if feasible(minimum, scheduled, remaining) is Feasible.IMPOSSIBLE:
            break
        below = tally(child, places - placed)
        remaining -= 1
        scheduled += below.succeeded
        placed += below.placed
        misfit = misfit if below.succeeded else below.misfit
    succeeded = feasible(minimum, scheduled, remaining) is Feasible.MET
    return Tally(succeeded, placed if succeeded else 0, scheduled, remaining, misfit)


def use_with(placed: Sequence[int], ask: Ask, used: Whole) -> Whole:
    """`used` of domains, as from `use_of_domains`, once so many more Pods with `ask` are in each."""
    counts = np.array(placed, dtype=np.int64)
    with_them: Whole = used + np.multiply.outer(ask.taken[-2:], counts)
    return with_them
