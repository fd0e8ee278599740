"""What has to find a place for an entity to start: the weakest demand that arguments can be about."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from domain.objects import Pod
from domain.queue import Entity
from domain.room import Room
from domain.roster import Rows
from domain.scheduling.branch import Branch
from domain.scheduling.cycle import branch_of, pending_in
from domain.scheduling.leaf import Member
from domain.scheduling.placements import Running, candidates
from domain.scheduling.rules import shaped
from domain.shapes import PodShape
from domain.state import State


class Need(NamedTuple):
    """At least `needed` of `members`, or of a composite so many of `children`, have to find a place.

    With `key`, all on nodes with one value of that label, where `running` are the members on nodes.
    """

    needed: int
    members: tuple[Member, ...] = ()
    children: "tuple[Need, ...]" = ()
    key: str | None = None
    running: tuple[Running, ...] = ()
    is_leaf: bool = True

    @property
    def waiting(self) -> Counter[PodShape]:
        """How many of the members have each shape."""
        return Counter(shape for _, shape in self.members)

    def each(self) -> "Iterator[Need]":
        """The need and all below it."""
        yield self
        for child in self.children:
            yield from child.each()

    def places(self, room: Room, within: Rows) -> list[Rows]:
        """The sets of nodes, each of those `within`, among which it has to choose.

        Raises UndeterminedDomain if the members that run leave none.
        """
        if self.key is None:
            return [within]
        domains = room.roster.domains(self.key)
        numbers = candidates(room.roster, self.key, self.running)
        return [np.intersect1d(domains.rows_of(number), within) for number in numbers]


def need_of(state: State, entity: Entity) -> Need:
    """What `entity` needs, whose tree has a root."""
    if entity.is_pod:
        return Need(1, tuple(shaped(state, members_of(state, entity))))
    root = branch_for(state, entity)
    need = _need(root)
    return need._replace(needed=max(need.needed, 1)) if root.is_leaf else need


def branch_for(state: State, entity: Entity) -> Branch:
    """What a cycle would try of the tree that waits as `entity`."""
    return branch_of(state, state.tree_of(entity), shaped(state, members_of(state, entity)))


def members_of(state: State, entity: Entity) -> list[Pod]:
    """The Pods of `entity` that a cycle would try, in order."""
    if entity.is_pod:
        return [pod for pod in state.pending_of(entity) if pod.deletion is None]
    leaves = state.tree_of(entity).leaves()
    return [pod for leaf in leaves for pod in pending_in(state, leaf) if pod.deletion is None]


def _need(branch: Branch) -> Need:
    group = branch.group
    return Need(
        needed=max(group.min_count - branch.bound, 0),
        members=branch.members,
        children=tuple(map(_need, branch.children)),
        key=group.topology_key,
        running=tuple(branch.all_running()) if group.topology_key is not None else (),
        is_leaf=branch.is_leaf,
    )
