"""An explanation as text: the verdict first, then Kubernetes' own words, then the numbers."""

from msgspec import UNSET
from rich.text import Text

from cli.console import STYLES
from cli.text.depths import add_look, add_placements, add_preemption
from cli.text.lines import FAINT, LABEL, SHORT, Cell, Page, listed
from cli.text.tree import add_tree
from cli.text.whathelps import add_help
from domain.explanation import (
    Attempt,
    Brief,
    Cause,
    Eviction,
    Explanation,
    Fate,
    Figures,
    Line,
    Quorum,
    Reason,
    Shape,
    at_level,
    title,
)
from domain.quantities import parse_quantity
from domain.times import without_zeros

_MOST_NODES = 10


def render_why(explanation: Explanation, *, level: int = 1) -> Text:
    """`explanation` as people read it, as much of it as `level` tells."""
    return _page(at_level(explanation, level), level).text()


def _page(told: Brief, level: int, *, past: bool = False, indent: int = 0) -> Page:
    page = Page(indent)
    verdict = told.verdict.value
    at = f" at position {told.at.position}" if past else ""
    page.line(
        (told.object.title, LABEL), " was " if past else " is ", (verdict, STYLES.get(verdict, LABEL)), at
    )
    page.line("  ", told.summary or told.note)
    if not isinstance(told, Explanation):
        return page
    page.gap()
    if told.cause is not None:
        _cause(page, told, told.cause)
    _standing(page, told, past=past)
    _refusal(page, told, level)
    add_help(page, told)
    _places(page, told)
    _capacity(page, told)
    if told.before is not None:
        page.gap()
        page.add(_page(told.before, level, past=True, indent=indent + 2))
    return page


# Where it stands


def _standing(page: Page, told: Explanation, *, past: bool) -> None:
    if told.summary:
        first, *more = told.note.split("; ")
        page.fact("Then" if past else "Now", first)
        for each in more:
            page.fact("", each)
    if told.quorum is not None:
        page.fact("Missing", listed(told.quorum.missing))
        page.fact("Quorum", _quorum(told.quorum))
    if told.entity is not None and told.entity != told.object.subject:
        page.fact("Waits with", title(told.entity))
    if told.line is not None:
        _ahead(page, told.line)
    if told.lane != "unschedulable":  # what rests says itself what it waits for
        page.fact("Woken by", _woken_by(told.woken_by))
    if told.attempt is not None and told.before is None:
        page.fact("Attempt", *_attempt(told.attempt))
    if told.evicted is not None:
        page.fact("Preempted", _evicted(told.evicted))
        page.fact("", (told.evicted.message, FAINT))
        page.fact("", told.evicted.because)
    if told.since is not None and told.verdict is not Fate.DELETED:
        scheduled = told.object.kind in ("Pod", "PodGroup", "CompositePodGroup")
        page.fact("Since" if scheduled else "Created", without_zeros(told.since))


def _evicted(evicted: Eviction) -> str:
    by = title(evicted.by)
    who = f"Pod {evicted.pod.rpartition('/')[2]} " if evicted.pod else ""
    return f"{who}by {by} at {without_zeros(evicted.time)}, attempt at position {evicted.attempt_position}"


def _quorum(quorum: Quorum) -> str:
    counted = "minCount" if quorum.ready is UNSET else "minGroupCount"
    needed = f"gang, {counted} {quorum.min_count}" if quorum.policy == "gang" else "basic, 1 is enough"
    if quorum.ready is not UNSET:
        return f"{needed}: {quorum.created} groups, {quorum.ready} ready, {quorum.scheduled} started"
    told = f"{needed}: {quorum.created} created, {quorum.scheduled} on nodes"
    if quorum.placeable is None:
        return told
    return f"{told}, {quorum.placeable}{' more' if quorum.scheduled else ''} had a place"


def _ahead(page: Page, line: Line) -> None:
    if not line.ahead:
        return
    page.fact("Ahead", f"{line.place - 1} of the {line.length} that are due")
    rows: list[list[Cell]] = [[title(each.entity), (each.because, FAINT)] for each in line.ahead]
    page.columns(rows, align="<<", indent=4)
    if line.place - 1 > len(rows):
        page.line("    ", (f"and {line.place - 1 - len(rows)} more", FAINT))


def _woken_by(events: tuple[str, ...]) -> str:
    """What the types of `events` come down to."""
    if len(events) == 1 and events[0].endswith("GroupAdded"):
        return f"the creation of its {events[0].removesuffix('Added')}"
    if events[:2] == ("PodAdded", "PodGroupUpdated"):
        return (
            "more members, or a lower minCount"
            if len(events) == 2
            else "more members or groups, or a lower minCount"
        )
    if "PodBound" in events:
        return "any change of the nodes or the Pods on them, or of its own"
    if "NodeAdded" in events:
        return "a node that comes or changes, a Pod that leaves one, a change of its own"
    return "a change of its own" if events else ""


def _attempt(attempt: Attempt) -> tuple[Cell, ...]:
    same = attempt.findings_position != attempt.position
    found = f", found the same as at position {attempt.findings_position}" if same else ""
    return (
        f"{attempt.number} at position {attempt.position}, {without_zeros(attempt.time)}",
        (f" (decided on position {attempt.snapshot_position} by {attempt.scheduler}{found})", FAINT),
    )


# Why it was refused


def _refusal(page: Page, told: Explanation, level: int) -> None:
    """Why there was no place; in a tree the tables of shapes are for level 2."""
    if told.preemption is not None and told.preemption.outcome not in told.summary:
        page.fact("Preemption", told.preemption.outcome)
    if told.preemption is not None:
        page.fact("Victims", listed(told.preemption.victims))
    if told.lean and not any(change.kind == "configure" for change in told.would_help):
        page.fact(
            "Would start", "with siblings: lean, where each group gets its minimum before any gets more"
        )
    if told.proof_by is not None:
        waits = told.verdict is Fate.WAITING_ON_PREEMPTION
        page.fact(
            "Proof",
            f"no placement exists{' before its victims have ended' if waits else ''}: {told.proof_by}",
        )
    if told.missed:
        spots = listed(tuple(f"{spot.pod} on {spot.node}" for spot in told.missed))
        page.fact("Missed", "a placement that the scheduler, which takes Pods one by one, does not find:")
        page.fact("", spots)
    if told.tree is not None:
        page.gap()
        asked = _asked(told)
        add_tree(page, told.tree, path=() if told.cause is None else told.cause.path, asked=asked)
    for shape in _decisive(told, level):
        page.gap()
        _shape(page, shape, said=told.summary, brief=told.tree is not None and level < 2)
    if told.fitted or told.untried:
        page.gap()
        page.fact("Had a place", _names(told.fitted))
        page.fact("Not tried", _names(told.untried))
    if level > 1:
        _depths(page, told)


def _depths(page: Page, told: Explanation) -> None:
    """What deciding again has shown."""
    add_placements(page, told.placements)
    for look in told.looks:
        add_look(page, look)
    for preemption in (told.preemption, None if told.evicted is None else told.evicted.preemption):
        if preemption is not None:
            add_preemption(page, preemption)


def _cause(page: Page, told: Explanation, cause: Cause) -> None:
    """What decided, in ganger's words: in a tree also the group, and the way to it."""
    if told.tree is not None or len(cause.path) > 1:
        names = " > ".join(subject.rpartition("/")[2] for subject in cause.path)
        page.fact("Decided by" if told.hold is None else "Held by", names)
        page.fact("", cause.text)
    elif cause.text not in told.summary and told.verdict is not Fate.WAITING_ON_PREEMPTION:
        page.fact("Because", cause.text if told.group is None else f"{_short(told.group)}: {cause.text}")


def _short(subject: str) -> str:
    """A subject without its namespace: `PodGroup trainer`."""
    return f"{subject.partition('/')[0]} {subject.rpartition('/')[2]}"


def _asked(told: Explanation) -> str:
    """The subject of the group that is asked about, of a Pod that of its group."""
    return told.group or told.object.subject


def _decisive(told: Explanation, level: int) -> tuple[Shape, ...]:
    """The shapes to tell of: in a tree those that decided, unless the domains say it better."""
    if told.cause is None or told.tree is None:
        return told.shapes
    if level < 2 and told.cause.domain is not None:
        return ()
    return tuple(shape for shape in told.shapes if shape.pods == told.cause.pods)


def _names(names: tuple[str, ...]) -> str:
    return f"{len(names)}: {listed(names)}" if len(names) > 1 else listed(names)


def _shape(page: Page, shape: Shape, *, said: str, brief: bool) -> None:
    """The Pods of one shape; their message is left out if it was `said` before, tables if that is all."""
    if len(shape.pods) == 1:
        page.line("  ", (f"{shape.pods[0]} fits nowhere", LABEL))
    else:
        page.line("  ", (f"{len(shape.pods)} Pods fit nowhere", LABEL), f": {listed(shape.pods)}")
    if shape.message != said:
        page.line("    ", shape.message)
    for obstacle in shape.obstacles:
        page.line("    ", obstacle)
    if brief:
        return
    if shape.nodes:
        page.gap()
        heads: list[Cell] = [(head, FAINT) for head in ("nodes", "reason", "filter", "such as")]
        page.columns([heads, *map(_reason, shape.nodes)], align="><<<", indent=4)
    if shape.resources:
        page.gap()
        heads = [(head, FAINT) for head in ("asked", "of", "free on best node", "free in cluster")]
        scarce_first = sorted(shape.resources, key=lambda figures: not _is_scarce(figures))
        page.columns([heads, *map(_figures, scarce_first)], align="><>>", indent=4)


def _reason(reason: Reason) -> list[Cell]:
    more = ", …" if reason.count > len(reason.examples) else ""
    return [str(reason.count), reason.reason, reason.filter, (f"{', '.join(reason.examples)}{more}", FAINT)]


def _figures(figures: Figures) -> list[Cell]:
    best: Cell = figures.free_on_best_node
    if _is_scarce(figures):
        best = (figures.free_on_best_node, SHORT)
    return [figures.asked, figures.name, best, figures.free_in_cluster]


def _is_scarce(figures: Figures) -> bool:
    """Whether no node has enough left of it for one Pod."""
    return parse_quantity(figures.free_on_best_node) < parse_quantity(figures.asked)


# Where it is


def _places(page: Page, told: Explanation) -> None:
    if told.object.kind == "Node":
        for place in told.bound:
            page.fact("Pods", _names(place.pods))
    elif told.object.kind in ("PodGroup", "CompositePodGroup") and told.bound:
        page.gap()
        page.line("  ", ("On nodes", LABEL))
        shown = told.bound[:_MOST_NODES]
        rows: list[list[Cell]] = [
            [
                f"{place.node} (has left the cluster)" if place.gone else place.node,
                str(len(place.pods)),
                (listed(place.pods), FAINT),
            ]
            for place in shown
        ]
        page.columns(rows, align="<><", indent=4)
        if len(told.bound) > len(shown):
            page.line("    ", (f"and {len(told.bound) - len(shown)} more nodes", FAINT))


def _capacity(page: Page, told: Explanation) -> None:
    if not told.capacity:
        return
    page.gap()
    rows: list[list[Cell]] = [[(head, FAINT) for head in ("resource", "allocatable", "used", "free")]]
    rows += [[each.name, each.allocatable, each.used, each.free] for each in told.capacity]
    page.columns(rows, align="<>>>")
