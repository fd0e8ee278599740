"""Trees of groups, looked up in the manifests each time: who is above whom, and who is ready.

Source: KEP-6012. A group belongs to the composite that it names as its parent, and to nothing else.
Groups are named by their subject, "PodGroup/namespace/name" or "CompositePodGroup/namespace/name".
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from reference.amounts import Manifest

LEAF, COMPOSITE = "PodGroup", "CompositePodGroup"

Groups = dict[str, Manifest]
"""Manifests of groups of both kinds by subject."""


@dataclass
class Tree:
    """A group with all that is below it. Of a PodGroup, `waiting` are the pods to try, in their order,
    and `running` those that have a node, oldest first, with its name."""

    subject: str
    manifest: Manifest
    children: "list[Tree]" = field(default_factory=list)
    waiting: list[Manifest] = field(default_factory=list)
    running: list[tuple[Manifest, str]] = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        return self.subject.startswith(f"{LEAF}/")

    @property
    def key(self) -> str:
        return self.subject.partition("/")[2]

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def levels(self) -> int:
        return 1 + max((child.levels for child in self.children), default=0)

    @property
    def topology_key(self) -> str | None:
        """The label whose value all its pods have to share."""
        topology = (self.manifest["spec"].get("schedulingConstraints") or {}).get("topology") or []
        return str(topology[0]["key"]) if topology else None

    def leaves(self) -> "Iterator[Tree]":
        if self.is_leaf:
            yield self
        for child in self.children:
            yield from child.leaves()


def minimum_of(group: Manifest) -> int:
    """How many members, or groups right below, have to start; with the basic policy it is one."""
    gang = group["spec"]["schedulingPolicy"].get("gang")
    return 1 if gang is None else int(gang.get("minCount") or gang.get("minGroupCount"))


def goes_whole(group: Manifest) -> bool:
    """Are all its pods evicted together or not at all?"""
    return "all" in (group["spec"].get("disruptionMode") or {})


def parent_of(group: Manifest) -> str | None:
    name = group["spec"].get("parentCompositePodGroupName")
    return f"{COMPOSITE}/{group['metadata'].get('namespace', 'default')}/{name}" if name else None


@dataclass(frozen=True)
class Way:
    """The way up from a group: the `groups` that are there. `flaw` says why it does not end at a root;
    `missing` is the group that is not there, if that is why."""

    groups: list[str]
    flaw: str | None = None
    missing: str | None = None


def way_up(groups: Groups, subject: str) -> Way:
    found: list[str] = []
    above: str | None = subject
    while above is not None:
        kind, _, key = above.partition("/")
        if above not in groups:
            called = "pod group" if kind == LEAF else "composite pod group"
            return Way(found, f"{called} {key} not found in workload forest", above)
        if above in found:
            names = [each.rpartition("/")[2] for each in [*found, above]]
            return Way(found, f"cycle detected in hierarchy: {' -> '.join(names)}")
        found.append(above)
        above = parent_of(groups[above])
    return Way(found)


def children_of(groups: Groups, subject: str) -> list[str]:
    """Older ones first, then by name; of one name the composite goes first."""

    def turn(child: str) -> tuple[str, str, str]:
        metadata = groups[child]["metadata"]
        return metadata.get("creationTimestamp", ""), metadata["name"], child.partition("/")[0]

    return sorted((each for each, group in groups.items() if parent_of(group) == subject), key=turn)


def tree_of(groups: Groups, root: str) -> Tree:
    return Tree(root, groups[root], [tree_of(groups, child) for child in children_of(groups, root)])


def is_ready(groups: Groups, subject: str, created: Callable[[str], int]) -> bool:
    """Does the group have its quorum? `created` counts the members of a PodGroup by its key."""
    if subject.startswith(f"{LEAF}/"):
        have = created(subject.partition("/")[2])
    else:
        have = sum(is_ready(groups, child, created) for child in children_of(groups, subject))
    return have >= minimum_of(groups[subject])
