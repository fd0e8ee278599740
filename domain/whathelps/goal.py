"""What a change has to bring about to be said to help."""

from typing import NamedTuple

from domain.explaining.question import is_started
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
            and len(state.bound_below(self.kind, self.key)) > self.bound
            and is_started(state, state.forest.tree(group))
        )


def goal_for(state: State, kind: str, key: str) -> Goal:
    """That the object starts which waits in `state`."""
    return Goal(kind, key, 0 if kind == "Pod" else len(state.bound_below(kind, key)))
