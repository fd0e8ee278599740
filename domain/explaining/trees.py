"""A tree of groups: what each of them needs and has, and which of them decided that it was refused."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from domain.amounts import quantity_of
from domain.events import GroupFinding, ShapeFinding
from domain.explaining.domains import best_domain, domains_line, kind_of_domain, placements_part
from domain.explaining.findings import Recorded, names
from domain.explaining.outlook import missing_below
from domain.explaining.question import Question, ended_below, group_verdict, quorum_part
from domain.explanation import Cause, Explanation, Fate, Placement, TreeNode
from domain.forest import Tree
from domain.objects import POD_GROUP, Group
from domain.resources import shortage
from domain.scheduling import texts
from domain.state import State

_RULED_OUT = ("Unschedulable", "Error")


class Found(NamedTuple):
    """What an attempt found for the groups of a tree, by subject."""

    groups: Mapping[str, GroupFinding]
    shapes: Mapping[str, tuple[ShapeFinding, ...]]
    """Of the members that fitted nowhere."""

    def ancestors(self, found: GroupFinding) -> list[GroupFinding]:
        """The groups above one, the nearest first."""
        above = []
        while found.parent is not None:
            found = self.groups[found.parent]
            above.append(found)
        return above

    def handed_down_by(self, found: GroupFinding) -> GroupFinding | None:
        """The group above that pulled this one down with it; None if its status is its own."""
        for number, above in enumerate(self.ancestors(found)):
            name = above.group.rpartition("/")[2]
            refused = texts.handed_down(name, above.text, parent=number == 0)
            if found.status in _RULED_OUT and found.text == (
                refused if above.status == "Unschedulable" else above.text
            ):
                return above
        return None


def found_in(state: State, recorded: Recorded | None) -> Found | None:
    """What an attempt of a tree found; None if there was none, or none of a tree."""
    if recorded is None or not recorded.findings.groups:
        return None
    shapes: dict[str, tuple[ShapeFinding, ...]] = {}
    for shape in recorded.findings.shapes:
        pod = next((state.pods[key] for key in shape.pods if key in state.pods), None)
        if pod is not None and pod.group is not None:
            subject = f"{POD_GROUP}/{pod.group}"
            shapes[subject] = (*shapes.get(subject, ()), shape)
    return Found({found.group: found for found in recorded.findings.groups}, shapes)


def in_tree(question: Question, told: Explanation, group: Group) -> Explanation:
    """`told` with the tree that `group` is in, the domains that groups could not have, and what decided."""
    if question.brief:
        return told
    told = replace(told, tree=tree_part(question, group))
    if told.hold is not None:
        return replace(told, cause=_cause_of_hold(question, group))
    rejected = told.verdict in (Fate.UNSCHEDULABLE, Fate.WAITING_ON_PREEMPTION, Fate.PARTLY_SCHEDULED)
    found = found_in(question.state, question.attempt) if rejected else None
    if found is None:
        return told
    return replace(
        told, cause=_cause_of_refusal(question, found, group), placements=_placements(found, group)
    )


def _placements(found: Found, group: Group) -> tuple[Placement, ...]:
    """The domains that `group`, and the groups above and below it, could not have."""
    own = found.groups.get(group.subject)
    if own is None:
        return ()
    line = {each.group for each in (own, *found.ancestors(own))}
    return tuple(
        placement
        for each in found.groups.values()
        if each.placements
        and (each.group in line or any(above.group == own.group for above in found.ancestors(each)))
        for placement in placements_part(each)
    )


def tree_part(question: Question, group: Group) -> TreeNode | None:
    """The whole tree that `group` is in; None if it is in none, or in one without a root."""
    root = question.state.forest.chain(group.kind, group.key).root
    if root is None or root.kind == POD_GROUP:
        return None
    found = found_in(question.state, question.attempt)
    if found is not None and root.subject not in found.groups:
        found = None
    tree = question.state.forest.tree(root)
    idle = any(not question.state.members_of(leaf.group.key).created for leaf in tree.leaves())
    return _node(question, tree, found, ended_below(question.state) if idle else Counter())


def _node(question: Question, tree: Tree, found: Found | None, ended: Counter[str | None]) -> TreeNode:
    group = tree.group
    children = tuple(_node(question, child, found, ended) for child in tree.children)
    quorum = quorum_part(question, group)
    entity = question.state.entity_with(group.kind, group.key)
    verdict = group_verdict(question, group, entity, ended)
    own = None if found is None else found.groups.get(group.subject)
    tried = own if entity is not None and entity.hold is None else None
    return TreeNode(
        group=group.subject,
        verdict=verdict,
        reason=_reason(question, group, verdict, found, tried),
        message="" if tried is None else tried.message,
        policy=group.policy,
        min_count=group.min_count,
        created=quorum.created,
        scheduled=quorum.scheduled,
        placeable=None if tried is None else _placeable(tried),
        topology_key=group.topology_key,
        domain=None if own is None else own.domain,
        children=children,
    )


def _placeable(found: GroupFinding) -> int | None:
    """How many of a refused group had a place: Pods of a PodGroup, groups of a composite."""
    if found.status not in _RULED_OUT:
        return None
    return found.placed if found.group.startswith(f"{POD_GROUP}/") else found.scheduled


def _reason(
    question: Question, group: Group, verdict: Fate, found: Found | None, tried: GroupFinding | None
) -> str:
    """Where one group of a tree stands, in a few words."""
    if tried is not None and found is not None and verdict is not Fate.SCHEDULED:
        return _found(found, tried)
    match verdict:
        case Fate.GATED:
            return _held(question, group)
        case Fate.PENDING:
            return "not tried yet"
        case Fate.SCHEDULED:
            return "runs" if quorum_part(question, group).scheduled else "has ended"
        case _:
            return "came after the last attempt"


def _held(question: Question, group: Group) -> str:
    """What a group lacks that the queue does not let in, or nothing if others of its tree do."""
    state = question.state
    gated = state.members_of(group.key).gated if group.kind == POD_GROUP else {}
    if gated:
        return f"{len(gated)} Pod{'s have' if len(gated) > 1 else ' has'} scheduling gates"
    lacking = missing_below(state, group)
    if lacking:
        return f"lacks {', '.join(lacking)}"
    return "complete, waits for the rest of the tree"


def _found(found: Found, tried: GroupFinding) -> str:
    if tried.status not in _RULED_OUT:
        return "could start" if tried.placed else ""
    above = found.handed_down_by(tried)
    if above is not None:
        name = above.group.rpartition("/")[2]
        return f"fits, given up with {name}" if tried.placed else "not tried"
    if tried.placements:
        return domains_line(tried)
    if tried.status == "Error":
        return tried.text
    for shape in found.shapes.get(tried.group, ()):
        return _short_of(shape)
    if tried.group.startswith(f"{POD_GROUP}/"):
        return f"out of reach: {tried.scheduled + tried.remaining} of {tried.minimum} Pods can be tried"
    return f"{tried.scheduled} of {tried.minimum} could start, {tried.remaining} left to try"


def _short_of(shape: ShapeFinding) -> str:
    """What most nodes say of a shape."""
    if not shape.nodes:
        return shape.message
    most = min(shape.nodes, key=lambda reason: (-reason.count, reason.reason))
    return f"{most.reason} on {most.count} of {shape.total} nodes"


# What decided


def _cause_of_hold(question: Question, group: Group) -> Cause | None:
    """What a tree lacks that the queue does not let in: the way to the first group that lacks something
    by itself. None for a group that is in no tree, and in one without a root."""
    root = question.state.forest.chain(group.kind, group.key).root
    if root is None or root.kind == POD_GROUP:
        return None
    path = _lacking(question.state, question.state.forest.tree(root))
    return Cause(path=tuple(each.subject for each in path), text=_held(question, path[-1])) if path else None


def _lacking(state: State, tree: Tree) -> list[Group]:
    """The way from a group down to the first that has scheduling gates or, without any, no quorum; empty
    if all is there."""
    if tree.group.kind == POD_GROUP:
        lacks = bool(state.members_of(tree.group.key).gated) or not state.forest.ready(tree.group)
        return [tree.group] if lacks else []
    below = [way for child in tree.children if (way := _lacking(state, child))]
    gated = [way for way in below if way[-1].kind == POD_GROUP and state.members_of(way[-1].key).gated]
    if gated:
        return [tree.group, *gated[0]]
    if state.forest.ready(tree.group):
        return []
    return [tree.group, *(below[0] if below else ())]


def _cause_of_refusal(question: Question, found: Found, group: Group) -> Cause | None:
    """What decided that the tree of `group`, or `group` alone, was refused; None if it was not."""
    root = question.state.forest.chain(group.kind, group.key).root
    if root is None:
        return None
    last = found.groups.get(root.subject)
    if last is None or last.status != "Unschedulable":
        return None
    path = [last]
    while (below := _decisive_child(found, path[-1])) is not None:
        path.append(below)
    return _cause(question.state, found, path)


def _decisive_child(found: Found, above: GroupFinding) -> GroupFinding | None:
    """The last child of a refused group that was refused by itself: with it the minimum went out of reach."""
    own = [
        each
        for each in found.groups.values()
        if each.parent == above.group
        and each.status == "Unschedulable"
        and found.handed_down_by(each) is None
    ]
    return own[-1] if own else None


def _cause(state: State, found: Found, path: list[GroupFinding]) -> Cause:
    last = path[-1]
    shapes = found.shapes.get(last.group, ())
    held = next((each for each in reversed(path) if each.topology_key is not None), None)
    best = None if held is None else best_domain(held)
    shape = shapes[0] if shapes else None
    resource = None if shape is None else _scarcest(shape)
    domain, text = None if held is None else held.domain, _sentence(last, shape, resource)
    if last.placements and best is not None:
        domain, text = best.domain, domains_line(last) + _where_others_run(state, last)
        resource = best.resource or resource
    elif held is not None and held.domain is not None:
        text += f", in {kind_of_domain(str(held.topology_key))} {held.domain}"
    return Cause(
        path=tuple(each.group for each in path),
        text=text,
        pods=() if shape is None else names(shape.pods),
        resource=resource,
        domain=domain,
        topology_key=None if held is None else held.topology_key,
    )


def _where_others_run(state: State, last: GroupFinding) -> str:
    """That only one domain was tried because members run there already; empty if they do not."""
    kind, _, key = last.group.partition("/")
    nodes = {
        state.pods[pod].node for leaf in state.leaves_of(kind, key) for pod in state.members_of(leaf).bound
    }
    held = {
        state.nodes.facts(node).labels.get(str(last.topology_key))
        for node in nodes
        if node is not None and node in state.node_records
    }
    if len(last.placements) != 1 or held != {last.placements[0].domain}:
        return ""
    domain = last.placements[0].domain
    return f"; members run in {domain}, so that the others have to be there, too"


def _sentence(last: GroupFinding, shape: ShapeFinding | None, resource: str | None) -> str:
    if shape is None:
        return last.text
    pod = names(shape.pods)[0]
    had = f"{last.scheduled} of the {last.minimum} Pods it needs have a place, {pod} has none"
    for figures in shape.resources:
        if figures.name == resource:
            asked = quantity_of(figures.name, figures.asked)
            best = quantity_of(figures.name, figures.free_on_best_node)
            return f"{had}: it asks for {asked} {figures.name}, {best} are free on the best node"
    return f"{had}: {_short_of(shape)}"


def _scarcest(shape: ShapeFinding) -> str | None:
    """The resource that most nodes lack; None if that is not what most nodes say."""
    most = min(shape.nodes, key=lambda reason: (-reason.count, reason.reason), default=None)
    short = {shortage(name): name for name, _ in shape.requests}
    return None if most is None else short.get(most.reason)
