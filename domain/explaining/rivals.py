"""Preemption in detail: who could have gone, who was chosen, and by which comparisons."""

from collections.abc import Iterator, Sequence

from domain.explaining.again import Again
from domain.explaining.findings import names
from domain.explaining.node_names import compressed
from domain.explanation import Candidate, Preemption, Unit
from domain.objects import Pod
from domain.scheduling import texts
from domain.scheduling.preemption import Candidate as Node
from domain.scheduling.preemption import candidates_for_pod, units_by_node
from domain.scheduling.units import Unit as Evicted
from domain.scheduling.units import allowances, subject_of, units_below, violating

_COMPARED = (
    "more Pods that it costs break a budget",
    "its most important victim has a higher priority",
    "the priorities of its victims add up to more",
    "it has more victims",
    "its most important victim has run for longer",
    "its name comes later",
)
"""What makes a candidate the worse one, in the order in which it is looked at."""


def in_detail(again: Again, preemption: Preemption) -> Preemption:
    """`preemption` of an attempt, with the units that could have gone and the nodes that could be had."""
    if not preemption.tried:
        return preemption
    victims, state = frozenset(preemption.victims), again.state
    awaited = preemption.outcome in (texts.ONGOING, texts.VICTIM_ENDS)
    units = sorted(units_below(state, again.entity.priority), key=Evicted.importance)
    candidates: tuple[Candidate, ...] = ()
    cleared = [] if awaited or not victims else units
    if again.entity.is_pod and not awaited:
        on_node = units_by_node(units, again.diagnosis().resolvable)
        found, _ = candidates_for_pod(state, again.single_pod(), on_node)
        ranked = sorted(found, key=Node.order)
        candidates = tuple(_candidates(ranked))
        cleared = list(on_node[ranked[0].node]) if ranked else []
    broken = violating(allowances(state), cleared)
    told = tuple(
        Unit(
            unit=subject_of(state, unit),
            order=order,
            priority=unit.priority,
            pods=names(pod.key for pod in unit.pods),
            nodes=compressed(sorted({str(pod.node) for pod in unit.pods})),
            fate=_fate(unit, victims, cleared),
            breaks_budget=unit.name in broken,
        )
        for order, unit in enumerate(units, 1)
    )
    return Preemption(
        tried=True, outcome=preemption.outcome, victims=preemption.victims, units=told, candidates=candidates
    )


def _fate(unit: Evicted, victims: frozenset[str], cleared: Sequence[Evicted]) -> str:
    if any(pod.key in victims for pod in unit.pods):
        return "victim"
    return "reprieved" if unit in cleared else "spared"


def _candidates(ranked: Sequence[Node]) -> Iterator[Candidate]:
    """The nodes that a single Pod could have, the best first."""
    before: Node | None = None
    for node in ranked:
        pods: list[Pod] = [pod for unit in node.victims for pod in unit.pods]
        yield Candidate(
            node=node.node,
            victims=tuple(pod.key for pod in pods),
            broken_budgets=node.broken,
            highest_priority=max(unit.priority for unit in node.victims),
            pods=len(pods),
            worse_by=None if before is None else _worse_by(before, node),
        )
        before = node


def _worse_by(better: Node, worse: Node) -> str:
    pairs = zip(_COMPARED, better.order(), worse.order(), strict=True)
    return next(text for text, first, second in pairs if first != second)
