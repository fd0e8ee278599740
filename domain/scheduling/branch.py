"""What a cycle tries: a group with its pending members or its children, and so down to the leaves."""

from collections.abc import Iterator
from typing import NamedTuple

from domain.objects import POD_GROUP, Group
from domain.scheduling.leaf import Member
from domain.scheduling.placements import Running
from domain.shapes import PodShape


class Branch(NamedTuple):
    """A group, and what is to be tried in it and below it.

    Of a PodGroup, `members` are to be tried, in their order, and `bound` others are on nodes; `running`
    tells where those are if a topology constraint asks for that. Not more than `most` members are placed,
    and of a composite no more groups are started than make it so many with those that run.
    """

    group: Group
    children: "tuple[Branch, ...]" = ()
    members: tuple[Member, ...] = ()
    bound: int = 0
    running: tuple[Running, ...] = ()
    most: int | None = None

    def lean(self) -> "Branch":
        """The same with no more of each group below it than its minimum of members or groups."""
        return self._replace(children=tuple(child._least() for child in self.children))

    def _least(self) -> "Branch":
        return self.lean()._replace(most=max(self.group.min_count - self.bound, 0))

    def turns(self) -> "Iterator[tuple[Branch, int | None]]":
        """The children in order, each with the number of started groups with which it is not tried any
        more; None if it is whatever happens.

        Of the groups that a composite may start, those that run already come first.
        """
        if self.most is None:
            yield from ((child, None) for child in self.children)
            return
        kept = sum(child.runs for child in self.children)
        for child in self.children:
            kept -= child.runs
            yield child, None if child.runs else self.most - kept

    @property
    def runs(self) -> bool:
        """Whether it has its minimum already, of members or of groups that run."""
        running = self.bound if self.is_leaf else sum(child.runs for child in self.children)
        return running >= self.group.min_count

    @property
    def is_leaf(self) -> bool:
        """Whether it is a PodGroup."""
        return self.group.kind == POD_GROUP

    def each(self) -> "Iterator[Branch]":
        """The group and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.each()

    def all_members(self) -> Iterator[Member]:
        """The members to be tried in it and below it."""
        for branch in self.each():
            yield from branch.members

    def all_running(self) -> Iterator[Running]:
        """The members on nodes in it and below it."""
        for branch in self.each():
            yield from branch.running

    def sole_shape(self) -> PodShape | None:
        """The one shape that all members to be tried have; None if there are several, or no members."""
        shapes = {shape for _, shape in self.all_members()}
        return shapes.pop() if len(shapes) == 1 else None
