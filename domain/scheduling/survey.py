"""Surveying all domains of a label at once, for Pods of one shape.

How many Pods of one shape a domain takes does not depend on where in it they go, as long as no rules
about other Pods are in play: it is what its nodes take, added up. So numbers tell how a group comes
out in each domain, and nothing has to be placed but in the one that is chosen.
"""

from typing import Final, NamedTuple

import numpy as np

from domain.room import SCORED, Ask, Kept, Room
from domain.roster import NO_DOMAIN, Domains, Whole
from domain.scheduling.branch import Branch
from domain.scheduling.eligibility import eligibility
from domain.scheduling.greedy import Numbers
from domain.scheduling.leaf import Feasible, feasible
from domain.shapes import PodShape

_MANY: Final = 2**31
"""More Pods than any group has: no node is said to have room for more."""


_FEW: Final = 64
"""So many nodes are looked at sooner one by one than with all others."""


class Tally(NamedTuple):
    """How a group would come out: members `placed` for good, numbers of the last feasibility check, and
    whether it was refused for want of a place for a member (`misfit`)."""

    succeeded: bool
    placed: int
    scheduled: int
    remaining: int
    misfit: bool = False


class Vacancies(Kept):
    """How many more Pods of a shape, that wants no host ports and is under no rule about other Pods, each
    node of a room takes, and each domain of a label."""

    def __init__(self, room: Room, about: tuple[PodShape, str]) -> None:
        super().__init__(room)
        self._shape, key = about
        self._domains = room.roster.domains(key)
        self._allowed = eligibility(room, self._shape).allowed
        self._look_at_all(room)

    def by_node(self, limit: int) -> Numbers:
        """How many more Pods each node takes, at most `limit`, shape (N,)."""
        return np.minimum(self._by_node, limit)

    def by_domain(self, limit: int) -> Numbers:
        """How many more Pods each domain takes, at most `limit`, shape (D,)."""
        return np.minimum(self._by_domain, limit)

    def _look_at_all(self, room: Room) -> None:
        self._by_node: Numbers = np.where(self._allowed, room.capacity(self._shape, slice(None), _MANY), 0)
        self._by_domain: Numbers = self._domains.sums(self._by_node).astype(np.int64, copy=False)

    def _look_again(self, room: Room, touched: list[int]) -> None:
        if len(touched) > _FEW:
            self._look_at_all(room)
            return
        for row in dict.fromkeys(touched):
            if self._allowed[row]:
                before = int(self._by_node[row])
                self._by_node[row] = now = room.capacity_at(self._shape, row, _MANY)
                if (domain := self._domains.of[row]) != NO_DOMAIN:
                    self._by_domain[domain] += now - before

    def _part(self) -> None:
        self._by_node, self._by_domain = self._by_node.copy(), self._by_domain.copy()


class Survey(NamedTuple):
    """How a group of `members` Pods, all of `shape`, comes out: `tallies` has an element a domain."""

    shape: PodShape
    members: int
    domains: Domains
    vacancies: Vacancies
    tallies: list[Tally]

    def capacity(self) -> Numbers:
        """How many of its members each node takes, shape (N,)."""
        return self.vacancies.by_node(self.members)


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
    members = sum(1 for _ in branch.all_members())
    vacancies = room.kept(Vacancies, (shape, key))
    places = vacancies.by_domain(members).tolist()
    known = {count: tally(branch, count) for count in set(places)}
    return Survey(shape, members, domains, vacancies, [known[count] for count in places])


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
    for child, enough in branch.turns():
        if feasible(minimum, scheduled, remaining) is Feasible.IMPOSSIBLE:
            break
        if enough is not None and scheduled >= enough:
            continue
        below = tally(child, places - placed)
        remaining -= 1
        scheduled += below.succeeded
        placed += below.placed
        misfit = misfit if below.succeeded else below.misfit
    succeeded = feasible(minimum, scheduled, remaining) is Feasible.MET
    return Tally(succeeded, placed if succeeded else 0, scheduled, remaining, misfit)


def use_with(placed: Numbers, ask: Ask, used: Whole) -> Whole:
    """`used` of domains, as from `use_of_domains`, once so many more Pods with `ask` are in each."""
    with_them: Whole = used + np.multiply.outer(ask.taken[SCORED], placed)
    return with_them
