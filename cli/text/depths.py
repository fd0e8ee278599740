"""What levels 2 and 3 of an explanation add: nodes, scores, domains and preemption in full."""

from collections.abc import Sequence

from cli.text.lines import FAINT, LABEL, Cell, Page, listed
from domain.explanation import (
    AlikeNodes,
    Candidate,
    Free,
    Look,
    NodeVerdict,
    Placement,
    Preemption,
    Ruling,
    Unit,
    title,
)


def add_placements(page: Page, placements: Sequence[Placement]) -> None:
    """Add every domain that a group could not have."""
    by_group: dict[str, list[Placement]] = {}
    for each in placements:
        by_group.setdefault(each.group, []).append(each)
    for group, domains in by_group.items():
        page.gap()
        told = f": {len(domains)} domains of {domains[0].key}, none will do"
        page.line("  ", (title(group), LABEL), told)
        page.columns(
            [_heads("domain", "nodes", "had a place", "free", "needed", "why"), *map(_placement, domains)],
            align="<>>>><",
            indent=4,
        )


def _placement(each: Placement) -> list[Cell]:
    return [each.domain, str(each.nodes), str(each.scheduled), each.free or "", each.asked or "", each.reason]


def add_look(page: Page, look: Look) -> None:
    """Add how the nodes stood for a Pod."""
    page.gap()
    asked = ", ".join(f"{amount} {name}" for name, amount in look.requests.items()) or "nothing"
    where = "" if look.where is None else f" of {look.where}"
    nodes = "the only node" if look.total_nodes == 1 else f"the {look.total_nodes} nodes"
    page.line("  ", (look.pod, LABEL), f" asks for {asked}; {nodes}{where} at its turn:")
    heads = _heads("nodes", "which", *(f"{name} free" for name in look.requests), "verdict")
    sides = ">" * len(look.requests)
    page.columns([heads, *map(_alike, look.alike)], align=f"><{sides}<", indent=4)
    if look.chosen is not None:
        page.line("    ", _choice(look))
    if look.nodes:
        _every_node(page, look)


def _choice(look: Look) -> str:
    assert look.chosen is not None
    told = f"best: {look.chosen.node} with {look.chosen.total} points"
    if look.by == "nomination":
        told = f"nominated to {look.chosen.node}, which has {look.chosen.total} points"
    if look.second_best is None:
        return f"{told}, and no other can take it"
    return f"{told}; second best: {look.second_best.node} with {look.second_best.total}"


def _alike(group: AlikeNodes) -> list[Cell]:
    return [
        str(group.count),
        listed(group.nodes, most=3),
        *map(_range, group.free),
        _verdict(group.verdict),
    ]


def _range(free: Free) -> str:
    return free.least if free.least == free.most else f"{free.least} to {free.most}"


def _verdict(rulings: Sequence[Ruling]) -> str:
    if not rulings:
        return "can take it"
    hopeless = "" if rulings[0].preemption_may_help else " (preemption cannot help)"
    return f"{rulings[0].filter}: {', '.join(each.reason for each in rulings)}{hopeless}"


def _every_node(page: Page, look: Look) -> None:
    """Add every node with what it has left, its scores if it has any, and the verdict of the filters."""
    page.gap()
    plugins = list(look.weights) if any(each.scores is not None for each in look.nodes) else []
    totals = ["total", *(f"{plugin} x{look.weights[plugin]}" for plugin in plugins)] if plugins else []
    heads = _heads("node", *(f"{name} free" for name in look.requests), *totals, "verdict")
    sides = ">" * (len(look.requests) + len(totals))
    rows = [_node(each, plugins) for each in look.nodes]
    page.columns([heads, *rows], align=f"<{sides}<", indent=4)


def _node(each: NodeVerdict, plugins: Sequence[str]) -> list[Cell]:
    points: list[Cell] = []
    if plugins:
        points.append("" if each.total is None else str(each.total))
        points += ["" if each.scores is None else str(each.scores[plugin]) for plugin in plugins]
    return [each.node, *each.free.values(), *points, _verdict(each.verdict)]


def add_preemption(page: Page, preemption: Preemption) -> None:
    """Add who could have gone, the most important first, and the nodes that a single Pod could have had."""
    if preemption.units:
        page.gap()
        page.line("  ", ("Who could have gone", LABEL), ", the most important first")
        heads = _heads("", "unit", "priority", "Pods", "nodes", "came out as")
        page.columns([heads, *map(_unit, preemption.units)], align="><>><<", indent=4)
    if preemption.candidates:
        page.gap()
        page.line("  ", ("Nodes that evictions could have cleared", LABEL), ", the best first")
        heads = _heads("node", "victims", "highest priority", "budgets broken", "against the one before")
        page.columns([heads, *map(_candidate, preemption.candidates)], align="<<>><", indent=4)


def _unit(unit: Unit) -> list[Cell]:
    budget = ", would break a budget" if unit.breaks_budget else ""
    return [
        str(unit.order),
        title(unit.unit),
        str(unit.priority),
        str(len(unit.pods)),
        listed(unit.nodes, most=3),
        f"{unit.fate}{budget}",
    ]


def _candidate(each: Candidate) -> list[Cell]:
    return [
        each.node,
        listed(each.victims, most=3),
        str(each.highest_priority),
        str(each.broken_budgets),
        each.worse_by or "",
    ]


def _heads(*heads: str) -> list[Cell]:
    return [(head, FAINT) for head in heads]
