"""What deciding again adds to an explanation: levels 2 and 3, what the lean division would have done, and
what members beyond the minimum of their group lacked."""

from collections.abc import Iterator

from msgspec.structs import replace

from domain.explaining.again import Again, Turn, lean_could_help, nothing_more_fits
from domain.explaining.causes import cause_of_refusal
from domain.explaining.findings import preemption_part, shapes_part
from domain.explaining.found import found_in
from domain.explaining.looks import look
from domain.explaining.rivals import in_detail
from domain.explanation import Explanation, Fate, Look, Preemption, title
from domain.shapes import PodShape


def decided_again(told: Explanation, again: Again, level: int) -> Explanation:
    """`told` with what its attempt, made `again`, shows at `level`; at level 1 that is only whether
    `siblings: lean` would have started its tree, and what was thrown away with groups that have enough."""
    greedy = again.state.config.siblings == "greedy"
    told = replace(told, lean=greedy and lean_could_help(told) and again.starts_lean())
    if nothing_more_fits(told):
        told = _with_misfits(told, again)
    if level == 1:
        return told
    return replace(
        told,
        looks=tuple(_looks(told, again, every_node=level > 2)),
        preemption=None if told.preemption is None else in_detail(again, told.preemption),
    )


def _with_misfits(told: Explanation, again: Again) -> Explanation:
    """`told` of a tree that has all it needs, with what kept the members off that it has beyond that."""
    state, misfits = again.state, again.misfits()
    root = state.group_of(again.attempt.entity)
    recorded = again.recorded._replace(findings=replace(again.recorded.findings, shapes=misfits))
    found = found_in(state, recorded)
    if root is None or found is None:
        return told
    own = [shape for shape in misfits if f"{told.object.namespace}/{told.object.name}" in shape.pods]
    shapes = shapes_part(state, own if told.object.kind == "Pod" and own else misfits)
    return replace(told, cause=cause_of_refusal(state, found, root), shapes=shapes)


def eviction_in_detail(told: Explanation, again: Again) -> Explanation:
    """`told` with who else could have gone in the attempt that preempted it, made `again`."""
    assert told.evicted is not None
    findings = again.recorded.findings
    root = next((found for found in findings.groups if found.group == findings.entity), None)
    preemption = preemption_part(again.recorded, root)
    if preemption is None:
        return told
    preemption = in_detail(again, preemption)
    because = _because(title(told.evicted.by), preemption)
    return replace(told, evicted=replace(told.evicted, because=because, preemption=preemption))


def _because(by: str, preemption: Preemption) -> str:
    """Why the victims went and nobody else, in a sentence."""
    if preemption.candidates:
        best, *others = preemption.candidates
        if not others:
            return f"{best.node} was the only node that could be cleared"
        told = f"{best.node} was the best of the {len(preemption.candidates)} nodes that could be cleared"
        return f"{told}: on {others[0].node} {others[0].worse_by}"
    gone = sum(unit.fate == "victim" for unit in preemption.units)
    return (
        f"of the {len(preemption.units)} that rank below {by}, the more important ones came back first, "
        f"as far as there was room; {gone} could not"
    )


def _looks(told: Explanation, again: Again, *, every_node: bool) -> Iterator[Look]:
    """How the nodes stood for the Pod that is asked about, for the first of each shape that fitted
    nowhere, or for the first of each shape of a group that was placed."""
    wanted = _wanted(told)
    placed = told.verdict is Fate.SCHEDULED and told.object.kind != "Pod"
    seen: set[PodShape] = set()
    for turn in again.turns():
        if placed:
            if not _is_in(told, turn) or turn.shape in seen:
                continue
            seen.add(turn.shape)
        elif turn.pod.key not in wanted:
            continue
        yield look(turn, every_node=every_node)


def _wanted(told: Explanation) -> set[str]:
    """The keys of the Pods at whose turns is looked."""
    first = {shape.pods[0] for shape in told.shapes}
    if told.object.kind == "Pod":
        first.add(told.object.name)
    return {f"{told.object.namespace}/{name}" for name in first}


def _is_in(told: Explanation, turn: Turn) -> bool:
    """Whether the Pod of `turn` is among those that `told` says are on nodes."""
    name = turn.pod.name
    return any(name in place.pods for place in told.bound)
