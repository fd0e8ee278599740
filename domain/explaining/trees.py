"""A tree of groups: what each of them needs and has, and where it stands."""

from collections import Counter

from msgspec.structs import replace

from domain.events import GroupFinding
from domain.explaining.causes import cause_of_hold, cause_of_refusal, held, short_of
from domain.explaining.disagreements import cause_of_error
from domain.explaining.domains import domains_line, placements_part
from domain.explaining.found import RULED_OUT, Found, found_in
from domain.explaining.question import Question, ended_below, group_verdict, quorum_part
from domain.explanation import Cause, Explanation, Fate, Placement, TreeNode
from domain.forest import Tree
from domain.objects import POD_GROUP, Group
from domain.queue import Verdict

_ENOUGH = "has its minimum, and nothing more of it fits"


def in_tree(question: Question, told: Explanation, group: Group) -> Explanation:
    """`told` with the tree that `group` is in, the domains that groups could not have, and what decided."""
    if question.brief:
        return told
    told = replace(told, tree=tree_part(question, group))
    if told.hold is not None:
        return replace(told, cause=cause_of_hold(question, group))
    rejected = told.verdict in (Fate.UNSCHEDULABLE, Fate.WAITING_ON_PREEMPTION, Fate.PARTLY_SCHEDULED)
    found = found_in(question.state, question.attempt) if rejected else None
    if found is None:
        return replace(told, cause=_cause_of_error(question, told))
    cause = cause_of_refusal(question.state, found, group) or _cause_of_error(question, told)
    return replace(told, cause=cause, placements=_placements(found, group))


def _cause_of_error(question: Question, told: Explanation) -> Cause | None:
    """What made the last attempt an error; None if it was none."""
    entity = None if told.entity is None else question.state.queue.entities[told.entity]
    if entity is None or question.attempt is None or entity.verdict is not Verdict.ERROR:
        return None
    return cause_of_error(question.state, entity, told.summary)


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
    if found.status not in RULED_OUT:
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
            return held(question, group)
        case Fate.PENDING:
            return "not tried yet"
        case Fate.SCHEDULED:
            return "runs" if quorum_part(question, group).scheduled else "has ended"
        case _:
            return "came after the last attempt"


def _found(found: Found, tried: GroupFinding) -> str:
    if tried.status not in RULED_OUT:
        return "could start" if tried.placed else ""
    above = found.handed_down_by(tried)
    if above is not None:
        name = above.group.rpartition("/")[2]
        if tried.placed:
            return f"fits, given up with {name}"
        return "not tried" if tried.remaining or tried.scheduled < tried.minimum else _ENOUGH
    if tried.placements:
        return domains_line(tried)
    if tried.status == "Error":
        return tried.text
    for shape in found.shapes.get(tried.group, ()):
        return short_of(shape)
    if tried.group.startswith(f"{POD_GROUP}/"):
        return f"out of reach: {tried.scheduled + tried.remaining} of {tried.minimum} Pods can be tried"
    if tried.scheduled >= tried.minimum:
        return _ENOUGH
    return f"{tried.scheduled} of {tried.minimum} could start, {tried.remaining} left to try"
