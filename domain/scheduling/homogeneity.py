"""What the groups and Pods of a tree have to agree on. Source: kube-scheduler 1.37, PodGroup cycle.

Nobody compares Pods with their group at admission, or groups with their root; the scheduler does in
every cycle, and one that differs is an error of the whole tree, not unschedulability. Trees that are
too deep are one as well. What concerns composites is of 1.38.
"""

from collections.abc import Iterator, Sequence

from domain.forest import Tree
from domain.objects import Group, Pod, PodSpec
from domain.scheduling import texts
from domain.state import State

LEVELS = 4
"""How many levels a tree may have, that of the PodGroups included."""


def disagreement(state: State, tree: Tree, members: Sequence[Pod]) -> str | None:
    """The first fault among the groups of `tree`, its queued `members` and then the bound ones.

    None if all agree.
    """
    if tree.levels > LEVELS:
        return texts.too_deep(tree.levels, LEVELS)
    return _among_groups(tree.group, tree) or _among_pods(state, tree, members)


def _among_groups(root: Group, tree: Tree) -> str | None:
    for child in tree.children:
        group = child.group
        if group.priority != root.priority:
            return texts.other_group_priority(group.priority, group.key, root.priority, root.key)
        if group.preemption_policy != root.preemption_policy:
            return texts.other_group_policy(
                group.preemption_policy, group.key, root.preemption_policy, root.key
            )
        if (fault := _among_groups(root, child)) is not None:
            return fault
    return None


def _among_pods(state: State, tree: Tree, members: Sequence[Pod]) -> str | None:
    root = tree.group
    first = members[0].spec.scheduler
    agreeing: set[PodSpec] = set()
    for pod in (*members, *_bound(state, tree)):
        if pod.spec in agreeing:
            continue
        spec = pod.spec
        if spec.scheduler != first:
            return texts.other_scheduler(spec.scheduler, first)
        if spec.priority != root.priority:
            return texts.other_priority(spec.priority, root.priority)
        if spec.preemption_policy != root.preemption_policy:
            return texts.other_policy(spec.preemption_policy, root.preemption_policy)
        agreeing.add(pod.spec)
    return None


def _bound(state: State, tree: Tree) -> Iterator[Pod]:
    for leaf in tree.leaves():
        bound = [state.pods[key] for key in state.members_of(leaf.group.key).bound]
        yield from sorted(bound, key=lambda pod: pod.arrival)
