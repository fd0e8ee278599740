"""What a change has to bring about to be said to help."""

from typing import NamedTuple

from domain.objects import POD_GROUP, Group
from domain.state import State


class Goal(NamedTuple):
    """The object that waits, and how many Pods of it are on nodes already."""

    kind: str
    key: str
    bound: int

    def reached(self, state: State) -> bool:
        """Whether the Pod has a node, or the group its minimum and more Pods on nodes than before."""
        if self.kind == "Pod":
            pod = state.pods.get(self.key)
            return pod is not None and pod.node is not None and not pod.terminal
        group = state.groups_of(self.kind).get(self.key)
        return (
            group is not None
            and bound_below(state, self.kind, self.key) > self.bound
            and _started(state, group)
        )


def goal_for(state: State, kind: str, key: str) -> Goal:
    """That the object starts which waits in `state`."""
    return Goal(kind, key, 0 if kind == "Pod" else bound_below(state, kind, key))


def bound_below(state: State, kind: str, key: str) -> int:
    """How many Pods of a group, of a composite those of all PodGroups below it, are on nodes."""
    return sum(len(state.members_of(leaf).bound) for leaf in state.leaves_of(kind, key))


def _started(state: State, group: Group) -> bool:
    if group.kind == POD_GROUP:
        return len(state.members_of(group.key).bound) >= group.min_count
    children = state.forest.children(group.key)
    return sum(_started(state, child) for child in children) >= group.min_count
