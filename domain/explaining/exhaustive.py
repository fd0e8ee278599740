"""All placements of a small entity, looked through: whether one exists that the scheduler missed.

The scheduler places Pods one by one where each scores best, and takes none back. So it can miss a
placement that exists. Members are put down in every order where rules about other Pods are in play,
since one can let another in.
"""

from collections.abc import Iterator
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np

from domain.explaining.needs import Need, branch_for, members_of, need_of
from domain.queue import Entity
from domain.room import Room
from domain.roster import Rows
from domain.scheduling.evaluate import feasible
from domain.scheduling.placements import UndeterminedDomain
from domain.scheduling.preemption import room_for
from domain.scheduling.rules import rules_in_play
from domain.scheduling.tree import run_tree
from domain.shapes import PodShape
from domain.state import State

_MOST_MEMBERS = 10
_MOST_NODES = 256
_MOST_STEPS = 1_000
"""Placements of some of the members that are looked at, each once, before it is given up."""

_MOST_PLANS = 64


class Searched(NamedTuple):
    """What a search through all placements found: the node of each Pod that is needed, by key, or
    nothing after so many `steps`."""

    steps: int
    found: tuple[tuple[str, str], ...] = ()


def search(state: State, entity: Entity) -> Searched | None:
    """Look through all placements that could start `entity` now; None if they are too many to do so."""
    own = members_of(state, entity)
    need = need_of(state, entity)
    room = room_for(state, entity.priority, own)
    rules = rules_in_play(state, own)
    if len(room) > _MOST_NODES or (rules and any(part.key or not part.is_leaf for part in need.each())):
        return None
    try:
        plans = list(islice(_plans(need, room, np.arange(len(room))), _MOST_PLANS + 1))
    except UndeterminedDomain:
        return None
    steps = 0
    for plan in plans:
        if steps > _MOST_STEPS or len(plans) > _MOST_PLANS or _size(plan) > _MOST_MEMBERS:
            return None
        tried = _Search(room, plan, in_order=not rules, steps=_MOST_STEPS - steps)
        placed = tried.run()
        steps += tried.steps
        if placed is not None:
            return Searched(steps, placed)
        if tried.exhausted:
            return None
    return Searched(steps)


def missed(state: State, entity: Entity, searched: Searched) -> bool:
    """Whether the scheduler, trying `entity` now, would not find what `searched` has found."""
    if entity.is_pod or not searched.found:
        return False
    lean = state.config.siblings == "lean"
    room = room_for(state, entity.priority, members_of(state, entity))
    return not run_tree(branch_for(state, entity), room, lean=lean).succeeded


class _Demand(NamedTuple):
    """So many members of a PodGroup have to be on `rows`."""

    needed: int
    need: Need
    rows: Rows


_Plan = tuple[_Demand, ...]


def _plans(need: Need, room: Room, rows: Rows) -> Iterator[_Plan]:
    """Every choice of groups that is just enough, with every choice of domains for them."""
    for plan in _choices(need, room, rows):
        if _size(plan):
            yield plan
        else:  # what has its minimum already starts with one more Pod
            for number, demand in enumerate(plan):
                yield (*plan[:number], demand._replace(needed=1), *plan[number + 1 :])


def _choices(need: Need, room: Room, rows: Rows) -> Iterator[_Plan]:
    for inner in need.places(room, rows):
        if need.is_leaf:
            if len(need.members) >= need.needed:
                yield (_Demand(need.needed, need, inner),)
            continue
        for children in combinations(need.children, need.needed):
            below = [list(islice(_choices(child, room, inner), _MOST_PLANS + 1)) for child in children]
            for chosen in product(*below):
                yield tuple(demand for plan in chosen for demand in plan)


def _size(plan: _Plan) -> int:
    return sum(demand.needed for demand in plan)


class _Search:
    """A search through the placements of one plan in `room`, which is as before afterwards.

    `in_order`: who is put down first makes no difference, so that one order is enough.
    """

    def __init__(self, room: Room, plan: _Plan, *, in_order: bool, steps: int) -> None:
        self.steps = 0
        self.exhausted = False
        self._room = room
        self._plan = plan
        self._in_order = in_order
        self._most = steps
        self._left = [dict(demand.need.waiting) for demand in plan]
        self._missing = [demand.needed for demand in plan]
        self._placed: list[tuple[int, PodShape, int]] = []
        self._seen: set[tuple[tuple[int, int, int], ...]] = set()
        self._numbers: list[dict[PodShape, int]] = [
            {shape: number for number, shape in enumerate(left)} for left in self._left
        ]

    def run(self) -> tuple[tuple[str, str], ...] | None:
        """The node of each Pod that is needed, by key; None if there is no such placement, or if it is
        `exhausted` before that is known."""
        found = self._extend()
        placement = self._by_pod() if found else None
        for _, shape, row in reversed(self._placed):
            self._room.forget(row, shape)
        return placement

    def _extend(self) -> bool:
        """Put down the rest; with success all stay, else those put down here have been taken back."""
        open_ = [index for index, missing in enumerate(self._missing) if missing]
        if not open_:
            return True
        for index in open_[:1] if self._in_order else open_:
            for shape, left in self._left[index].items():
                if left:
                    allowed = feasible(self._room, shape)
                    for row in self._plan[index].rows[allowed[self._plan[index].rows]].tolist():
                        if self._try(index, shape, row):
                            return True
                        if self.exhausted:
                            return False
        return False

    def _try(self, index: int, shape: PodShape, row: int) -> bool:
        self._placed.append((index, shape, row))
        key = tuple(sorted((at, self._numbers[at][each], on) for at, each, on in self._placed))
        if key in self._seen or self.steps >= self._most:
            self.exhausted = self.exhausted or key not in self._seen
            self._placed.pop()
            return False
        self._seen.add(key)
        self.steps += 1
        self._room.assume(row, shape)
        self._left[index][shape] -= 1
        self._missing[index] -= 1
        if self._extend():
            return True
        self._missing[index] += 1
        self._left[index][shape] += 1
        self._room.forget(row, shape)
        self._placed.pop()
        return False

    def _by_pod(self) -> tuple[tuple[str, str], ...]:
        pods = [_by_shape(demand.need) for demand in self._plan]
        names = self._room.names
        return tuple((pods[index][shape].pop(0), names[row]) for index, shape, row in self._placed)


def _by_shape(need: Need) -> dict[PodShape, list[str]]:
    """The keys of the members of each shape, in their order."""
    found: dict[PodShape, list[str]] = {}
    for pod, shape in need.members:
        found.setdefault(shape, []).append(pod.key)
    return found
