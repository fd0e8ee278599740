"""What decided that a tree, or a group by itself, is held back or was refused."""

from collections.abc import Sequence

from domain.amounts import quantity_of
from domain.events import GroupFinding, NodeReason, ShapeFinding
from domain.explaining.domains import best_domain, domains_line, kind_of_domain
from domain.explaining.findings import names
from domain.explaining.found import Found, lacks_places_for_more
from domain.explaining.obstacles import of_filter
from domain.explaining.outlook import missing_below
from domain.explaining.question import Question
from domain.explaining.uncounted import uncounted
from domain.explaining.wording import number_of
from domain.explanation import Cause
from domain.forest import Chain, Tree
from domain.objects import POD_GROUP, Group
from domain.resources import shortage
from domain.scheduling import texts
from domain.state import State

_SAID = 2
"""So many reasons are told of Pods that fitted nowhere."""


def cause_of_hold(question: Question, group: Group) -> Cause | None:
    """What a tree lacks that the queue does not let in: the way to the first group that lacks something
    by itself. Without a root, the way to the parent that does not exist, if that is further up than the
    group's own; None for a group that is in no tree."""
    chain = question.state.forest.chain(group.kind, group.key)
    root = chain.root
    if root is None:
        return _gap_above(chain)
    if root.kind == POD_GROUP:
        return None
    path = _lacking(question.state, question.state.forest.tree(root))
    if not path:
        return None
    last = path[-1]
    why = uncounted(question.state, last) if last.kind == POD_GROUP else ()
    return Cause(path=tuple(each.subject for each in path), text="; ".join((held(question, last), *why)))


def _gap_above(chain: Chain) -> Cause | None:
    if chain.missing is None or len(chain.groups) < 2:
        return None
    last = chain.groups[-1]
    return Cause(
        path=(chain.missing, *(each.subject for each in reversed(chain.groups))),
        text=f"{last.kind} {last.name} names {last.parent} as its parent, which does not exist",
    )


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


def cause_of_refusal(state: State, found: Found, group: Group) -> Cause | None:
    """What decided that the tree of `group`, or `group` alone, was refused; None if it was not."""
    root = state.forest.chain(group.kind, group.key).root
    if root is None:
        return None
    last = found.groups.get(root.subject)
    if last is None or last.status != "Unschedulable":
        return None
    has_enough = last.scheduled >= last.minimum and root.kind != POD_GROUP
    return _cause(state, found, _beyond(found, last) if has_enough else _way_down(found, [last]))


def _way_down(found: Found, path: list[GroupFinding]) -> list[GroupFinding]:
    """`path` to a refused group, and on to what decided that."""
    while (below := _decisive_child(found, path[-1])) is not None:
        path = [*path, below]
    return path


def _beyond(found: Found, root: GroupFinding) -> list[GroupFinding]:
    """The way from a root that has what it needs to what waits below it.

    It is the last group that was refused although its Pods were tried, else the first PodGroup with
    members beyond its minimum, else a group that lacks Pods.
    """
    refused = [
        _way_down(found, [*reversed(found.ancestors(each)), each])
        for each in found.groups.values()
        if each is not root and found.handed_down_by(each) is None and _has_enough(found, each.parent)
    ]
    tried = [path for path in refused if path[-1].group in found.shapes]
    late = next(filter(lacks_places_for_more, found.groups.values()), None)
    if not tried and late is not None:
        return [*reversed(found.ancestors(late)), late]
    return (tried or refused or [[root]])[-1]


def _has_enough(found: Found, group: str | None) -> bool:
    above = found.groups[str(group)]
    return above.scheduled >= above.minimum


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
    late = last.untried if lacks_places_for_more(last) else ()
    pods = late if shape is None else shape.pods
    domain, text = None if held is None else held.domain, _sentence(state, last, shape)
    if last.placements and best is not None:
        domain = best.domain
        text = domains_line(last, where=_inside(path[:-1])) + _where_others_run(state, last)
        resource = best.resource or resource
    elif where := _inside(path):
        text += f",{where}"
    return Cause(
        path=tuple(each.group for each in path),
        text=text,
        pods=names(pods),
        resource=resource,
        domain=domain,
        topology_key=None if held is None else held.topology_key,
    )


def _inside(path: Sequence[GroupFinding]) -> str:
    """In which domain the groups of `path` were tried last; empty if none has to be in one."""
    held = next((each for each in reversed(path) if each.topology_key is not None), None)
    if held is None or held.domain is None:
        return ""
    return f" in {kind_of_domain(str(held.topology_key))} {held.domain}"


def _where_others_run(state: State, last: GroupFinding) -> str:
    """That only one domain was tried because members run there already; empty if they do not."""
    kind, _, key = last.group.partition("/")
    nodes = {pod.node for pod in state.bound_below(kind, key)}
    held = {
        state.nodes.facts(node).labels.get(str(last.topology_key))
        for node in nodes
        if node is not None and node in state.node_records
    }
    if len(last.placements) != 1 or held != {last.placements[0].domain}:
        return ""
    domain = last.placements[0].domain
    return f"; members run in {domain}, so that the others have to be there, too"


def _sentence(state: State, last: GroupFinding, shape: ShapeFinding | None) -> str:
    if shape is None:
        return _untried(state, last)
    had = _had(last, names(shape.pods)[0])
    return f"{had}: {_reasons(state, shape) if shape.nodes else shape.message}"


def cause_of_misfit(state: State, shape: ShapeFinding) -> Cause | None:
    """What kept a single Pod off the nodes; None if there are none that say."""
    if not shape.nodes:
        return None
    return Cause(
        path=tuple(f"Pod/{key}" for key in shape.pods),
        text=_reasons(state, shape),
        pods=names(shape.pods),
        resource=_scarcest(shape),
    )


def _reasons(state: State, shape: ShapeFinding) -> str:
    """What most nodes say, the most frequent first."""
    ranked = sorted(shape.nodes, key=_most_first)
    return "; ".join(dict.fromkeys(_obstacle(state, shape, reason) for reason in ranked[:_SAID]))


def _obstacle(state: State, shape: ShapeFinding, reason: NodeReason) -> str:
    """What ruled out the nodes of one reason, with the names and amounts that make it one."""
    scarce = next((each for each in shape.resources if shortage(each.name) == reason.reason), None)
    where, one = _where(shape, reason), reason.count == 1
    if scarce is not None:
        asked, best = (
            quantity_of(scarce.name, scarce.asked),
            quantity_of(scarce.name, scarce.free_on_best_node),
        )
        if int(scarce.free_on_best_node) >= int(scarce.asked):
            return f"{where} {'has' if one else 'have'} less than {asked} {scarce.name} free"
        verb = "is" if best == "1" else "are"
        return f"it asks for {asked} {scarce.name}, {best} {verb} free on the best node"
    if reason.filter == "NodeUnschedulable":
        return f"{where} {'is' if one else 'are'} cordoned"
    rule = of_filter(state, shape, reason.filter)
    return rule[0] if rule else f"{reason.reason} on {where}"


def _where(shape: ShapeFinding, reason: NodeReason) -> str:
    if reason.count == shape.total:
        return number_of(shape.total, "the only node", f"all {shape.total} nodes")
    return reason.examples[0] if reason.count == 1 else f"{reason.count} of {shape.total} nodes"


def _most_first(reason: NodeReason) -> tuple[int, str]:
    return (-reason.count, reason.reason)


def _had(last: GroupFinding, pod: str) -> str:
    """How far a PodGroup got before `pod`, of which no node would have any."""
    if last.scheduled >= last.minimum:
        return f"it has the {last.minimum} it needs, {pod} beyond them has no place"
    if not last.scheduled:
        places = number_of(last.minimum, "a place for 1 Pod", f"places for {last.minimum} Pods")
        return f"it needs {places}, {pod} has none"
    verb = number_of(last.scheduled, "has", "have")
    return f"{last.scheduled} of the {last.minimum} Pods it needs {verb} a place, {pod} has none"


def _untried(state: State, last: GroupFinding) -> str:
    """Why a group was refused without one of its Pods being at fault."""
    if last.text == texts.NO_PLACEMENTS:
        return f"no node has the label {last.topology_key}"
    if lacks_places_for_more(last):
        return _had(last, names(last.untried)[0])
    kind, _, key = last.group.partition("/")
    within_reach = last.scheduled + last.remaining
    if kind != POD_GROUP or within_reach >= last.minimum:
        return last.text
    told = f"only {within_reach} of the {last.minimum} Pods it needs can be tried"
    group = state.groups.get(key)
    return "; ".join((told, *(() if group is None else uncounted(state, group))))


def _scarcest(shape: ShapeFinding) -> str | None:
    """The resource that most nodes lack; None if that is not what most nodes say."""
    most = min(shape.nodes, key=_most_first, default=None)
    short = {shortage(name): name for name, _ in shape.requests}
    return None if most is None else short.get(most.reason)


def held(question: Question, group: Group) -> str:
    """What a group lacks that the queue does not let in, or nothing if others of its tree do."""
    state = question.state
    gated = state.members_of(group.key).gated if group.kind == POD_GROUP else {}
    if gated:
        return f"{len(gated)} Pod{'s have' if len(gated) > 1 else ' has'} scheduling gates"
    lacking = missing_below(state, group)
    if lacking:
        return f"lacks {', '.join(lacking)}"
    return "complete, waits for the rest of the tree"


def short_of(shape: ShapeFinding) -> str:
    """What most nodes say of a shape."""
    if not shape.nodes:
        return shape.message
    most = min(shape.nodes, key=_most_first)
    return f"{most.reason} on {_where(shape, most)}"
