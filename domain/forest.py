"""The forest of groups: who is above whom, which trees are whole, and which have met their quorum.

A group belongs to the composite that it names as its parent; nothing else makes a tree, and objects
come and go in any order (KEP-6012). Whether a group is ready is kept as its Pods and children come
and go, at the cost of the levels above what changed. Source: kube-scheduler 1.37, hierarchy tracker.
"""

import enum
from collections.abc import Iterator, Mapping

import msgspec

from domain.objects import COMPOSITE, POD_GROUP, Group, Members

MOST_LEVELS = 32
"""How far up a root is looked for, PodGroups included. Fewer levels are allowed, but the cycle says so."""


class Tree(msgspec.Struct, frozen=True):
    """A group with all that is below it, in the order in which children are tried.

    What is more than one level below the deepest that may be tried is left out.
    """

    group: Group
    children: "tuple[Tree, ...]" = ()

    @property
    def levels(self) -> int:
        """How many levels it has, its own included."""
        return 1 + max((child.levels for child in self.children), default=0)

    def groups(self) -> Iterator[Group]:
        """The groups in it, parents first."""
        yield self.group
        for child in self.children:
            yield from child.groups()

    def leaves(self) -> "Iterator[Tree]":
        """The PodGroups in it, in order."""
        if self.group.kind == POD_GROUP:
            yield self
        for child in self.children:
            yield from child.leaves()


class Flaw(enum.Enum):
    """Why a way upward leads to no root."""

    MISSING = enum.auto()
    """A group is named that does not exist."""
    RING = enum.auto()
    DEPTH = enum.auto()


class Chain(msgspec.Struct, frozen=True):
    """The way from a group upward: `groups` that exist, from the group itself to the last one found.

    `missing` is the subject of the group that is named there and does not exist. In a ring the
    parent of the last one is among them.
    """

    groups: tuple[Group, ...]
    flaw: Flaw | None = None
    missing: str | None = None

    @property
    def root(self) -> Group | None:
        """The group without a parent; None if the way does not lead to one."""
        return self.groups[-1] if self.flaw is None else None


class Forest:
    """Keeps what follows from `groups`, `composites` and `members`, which belong to the State."""

    def __init__(
        self, groups: Mapping[str, Group], composites: Mapping[str, Group], members: Mapping[str, Members]
    ) -> None:
        self._groups = groups
        self._composites = composites
        self._members = members
        self._below: dict[str, dict[str, Group]] = {}
        self._ready_below: dict[str, int] = {}
        self._ready: set[str] = set()

    # Looking up

    def chain(self, kind: str, key: str) -> Chain:
        """The way upward from the group of `kind` and `key`, whether it exists or not."""
        groups: dict[str, Group] = {}
        above: str | None = key
        while above is not None:
            group = (self._groups if kind == POD_GROUP else self._composites).get(above)
            if group is None:
                return Chain(tuple(groups.values()), Flaw.MISSING, f"{kind}/{above}")
            if group.subject in groups:
                return Chain(tuple(groups.values()), Flaw.RING)
            groups[group.subject] = group
            kind, above = COMPOSITE, group.above
        return Chain(tuple(groups.values()), Flaw.DEPTH if len(groups) > MOST_LEVELS else None)

    def is_alone(self, key: str) -> bool:
        """Whether the PodGroup `key` names no parent, be it because it does not exist."""
        group = self._groups.get(key)
        return group is None or group.parent is None

    def waits_as(self, key: str, kind: str = POD_GROUP) -> str:
        """The name of the entity as which the Pods wait that name the PodGroup `key`, or one below the
        composite `key`.

        It is the subject of the root. Where the way upward ends early it is that of the group which
        is missing, so that all who wait for it wait together; without an end, the PodGroup's own.
        """
        if kind == POD_GROUP and self.is_alone(key):
            return f"{POD_GROUP}/{key}"
        chain = self.chain(kind, key)
        if chain.missing is not None:
            return chain.missing
        return chain.groups[0 if chain.root is None else -1].subject

    def children(self, key: str) -> list[Group]:
        """The groups that name the composite `key` as their parent, in the order they are tried."""
        return sorted(self._below.get(key, {}).values(), key=_turn)

    def leaves(self, key: str) -> Iterator[Group]:
        """The PodGroups below the composite `key`, which need not exist."""
        seen, left = {key}, [key]
        while left:
            for child in self.children(left.pop()):
                if child.kind == POD_GROUP:
                    yield child
                elif child.key not in seen:
                    seen.add(child.key)
                    left.append(child.key)

    def tree(self, group: Group) -> Tree:
        """`group` with all that is below it."""
        return self._tree(group, 1)

    def _tree(self, group: Group, level: int) -> Tree:
        if group.kind == POD_GROUP or level > MOST_LEVELS:
            return Tree(group)
        return Tree(group, tuple(self._tree(child, level + 1) for child in self.children(group.key)))

    def ready(self, group: Group) -> bool:
        """Whether `group` has its quorum; groups in a ring may be said to have theirs or not."""
        if group.kind == POD_GROUP:
            members = self._members.get(group.key)
            return members is not None and members.created >= group.min_count
        return self.ready_below(group.key) >= group.min_count

    def ready_below(self, key: str) -> int:
        """How many of the groups right below the composite `key` are ready."""
        return self._ready_below.get(key, 0)

    # Keeping up

    def put(self, group: Group) -> None:
        """`group` has come."""
        if group.above is not None:
            self._below.setdefault(group.above, {})[group.subject] = group
        self._rise(group)

    def drop(self, group: Group) -> None:
        """`group` has gone."""
        if group.above is not None:
            siblings = self._below[group.above]
            del siblings[group.subject]
            if not siblings:
                del self._below[group.above]
        if group.subject in self._ready:
            self._ready.remove(group.subject)
            self._rise(self._count(group, -1))

    def count(self, key: str) -> None:
        """Pods that name the PodGroup `key` have come or gone."""
        group = self._groups.get(key)
        if group is not None and group.parent is not None:
            self._rise(group)

    def _rise(self, group: Group | None) -> None:
        """Bring the readiness of `group` up to date, and that of those above as far as it changes."""
        while group is not None and (ready := self.ready(group)) != (group.subject in self._ready):
            if ready:
                self._ready.add(group.subject)
            else:
                self._ready.remove(group.subject)
            group = self._count(group, 1 if ready else -1)

    def _count(self, group: Group, step: int) -> Group | None:
        """One child more or less of the parent of `group` is ready; the parent, if it exists."""
        above = group.above
        if above is None:
            return None
        count = self._ready_below.pop(above, 0) + step
        if count:
            self._ready_below[above] = count
        return self._composites.get(above)


def _turn(group: Group) -> tuple[int, str, str]:
    return (group.created_us, group.name, group.kind)
