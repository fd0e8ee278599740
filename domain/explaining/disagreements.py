"""Who makes an attempt of a tree end in an error: the Pods and groups that differ from the rest of it.

Kubernetes' texts give two values and no names.
"""

from collections.abc import Sequence

from domain.explaining.domains import kind_of_domain
from domain.explaining.wording import number_of, pods_named
from domain.explanation import Cause
from domain.forest import Tree
from domain.objects import Group, Pod
from domain.queue import Entity
from domain.scheduling import texts
from domain.scheduling.cycle import pending_in
from domain.scheduling.homogeneity import LEVELS, disagreement
from domain.state import State


def cause_of_error(state: State, entity: Entity, text: str) -> Cause | None:
    """Who has to change for the error `text` of `entity`, which has groups, to go away.

    None if that does not follow from the State: another error, or what made it is there no longer.
    """
    tree = state.tree_of(entity)
    members = [pod for leaf in tree.leaves() for pod in pending_in(state, leaf)]
    if not members:
        return None
    if disagreement(state, tree, members) == text:
        odd = _too_deep(tree) or _odd_groups(state, tree.group)
        return odd or _odd_pods(state, tree.group, members)
    causes = (_scattered(state, group, text) for group in tree.groups())
    return next((cause for cause in causes if cause is not None), None)


def odd_groups(state: State, root: Group) -> list[Group]:
    """The groups below `root` whose priority or preemption policy is not that of it."""
    return [
        group
        for group in state.forest.tree(root).groups()
        if (group.priority, group.preemption_policy) != (root.priority, root.preemption_policy)
    ]


def odd_pods(state: State, root: Group, members: Sequence[Pod]) -> list[Pod]:
    """Those of `members` of a tree, and of its Pods on nodes, that do not agree with `root` or, about the
    scheduler, with the first of `members`."""
    first = members[0].spec.scheduler
    wanted = (first, root.priority, root.preemption_policy)
    return [pod for pod in (*members, *state.bound_below(root.kind, root.key)) if _rank(pod) != wanted]


def _rank(pod: Pod) -> tuple[str, int, str]:
    spec = pod.spec
    return (spec.scheduler, spec.priority, spec.preemption_policy)


def _too_deep(tree: Tree) -> Cause | None:
    """The way down to the first of the groups that are deepest, if those are too deep."""
    if tree.levels <= LEVELS:
        return None
    path = [tree]
    while path[-1].children:
        path.append(max(path[-1].children, key=lambda child: child.levels))
    last = path[-1].group
    where = f"is {len(path)} levels deep, of which there may be {LEVELS}"
    return Cause(path=tuple(each.group.subject for each in path), text=f"{last.kind} {last.name} {where}")


def _odd_groups(state: State, root: Group) -> Cause | None:
    odd = odd_groups(state, root)
    if not odd:
        return None
    first = odd[0]
    if first.priority != root.priority:
        whose = f"has priority {_priority(state, first.priority)}, the root {root.name} has "
        text = f"{first.kind} {first.name} {whose}{_priority(state, root.priority)}"
    else:
        whose = f"has the preemption policy {first.preemption_policy}, the root {root.name} has "
        text = f"{first.kind} {first.name} {whose}{root.preemption_policy}"
    if len(odd) > 1:
        more = len(odd) - 1
        text += f"; {more} more {number_of(more, 'group differs', 'groups differ')} from it"
    return Cause(path=_path(state, first), text=text)


def _odd_pods(state: State, root: Group, members: Sequence[Pod]) -> Cause:
    odd = odd_pods(state, root, members)
    first, *_ = odd
    alike = [pod for pod in odd if _rank(pod) == _rank(first)]
    this, main = first.spec, members[0].spec
    if this.scheduler != main.scheduler:
        what = f"scheduler {this.scheduler}, {members[0].name} has {main.scheduler}"
    elif this.priority != root.priority:
        has = _priority(state, root.priority)
        what = f"priority {_priority(state, this.priority)}, {root.kind} {root.name} has {has}"
    else:
        what = f"preemption policy {this.preemption_policy}, {root.kind} {root.name} has "
        what += root.preemption_policy
    runs = "" if first.node is None else f" on {first.node}" if len(alike) == 1 else " on nodes"
    who = f"{pods_named(alike)}{runs} {'has' if len(alike) == 1 else 'have'}"
    leaf = state.groups[str(first.group)]
    return Cause(path=_path(state, leaf), text=f"{who} {what}", pods=tuple(pod.name for pod in alike))


def _scattered(state: State, group: Group, error: str) -> Cause | None:
    """That members of `group` run in more than one domain, or on a node that is in none, and so make
    the `error`."""
    if group.topology_key is None:
        return None
    places = places_of(state, group)
    lost = [pod for pod in places.pop(None, []) if texts.no_domain(pod.name) in error]
    if lost:
        where = f"{lost[0].node}, which has no label {group.topology_key}"
        told = f"{pods_named(lost)} {number_of(len(lost), 'runs', 'run')} on {where}"
    elif len(places) > 1 and texts.several_domains(*sorted(map(str, places))[:2]) in error:
        apart = ", ".join(f"{pods_named(pods)} in {domain}" for domain, pods in places.items())
        told = f"all members have to be in one {kind_of_domain(group.topology_key)}, and there are {apart}"
    else:
        return None
    return Cause(path=_path(state, group), text=told, topology_key=group.topology_key)


def places_of(state: State, group: Group) -> dict[str | None, list[Pod]]:
    """The Pods of `group` on nodes by domain, that with the most first; None is that of nodes without
    the label, and of those that have left."""
    found: dict[str | None, list[Pod]] = {}
    for pod in state.bound_below(group.kind, group.key):
        known = pod.node is not None and pod.node in state.node_records
        labels = state.nodes.facts(str(pod.node)).labels if known else {}
        found.setdefault(labels.get(str(group.topology_key)), []).append(pod)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0] or "")))


def _path(state: State, group: Group) -> tuple[str, ...]:
    """The subjects of the groups from the root down to `group`."""
    path = [group.subject]
    while group.above is not None:
        group = state.composites[group.above]
        path.append(group.subject)
    return tuple(reversed(path))


def _priority(state: State, value: int) -> str:
    """A priority, and the PriorityClass that gives it if there is exactly one."""
    classes = [name for name, facts in state.priority_classes.items() if facts.value == value]
    return f"{value} (PriorityClass {classes[0]})" if len(classes) == 1 else str(value)
