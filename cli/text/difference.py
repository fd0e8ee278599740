"""What differs between two moments, as text: objects first, then lanes and configuration."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.text import Text

from cli.console import STYLES
from cli.text.lines import LABEL, Cell, Page, listed
from domain.ages import duration
from domain.difference import Difference, FieldChange, LaneChange, ObjectChange
from domain.explanation import Moment
from domain.times import in_seconds, parse_rfc3339

_SIGNS: dict[str, Cell] = {
    "created": ("+", "green"),
    "deleted": ("-", "red"),
    "replaced": ("!", "yellow"),
    "changed": ("~", "yellow"),
}
_MANIFEST = "manifest"
_USUAL = {("phase", "Pending"), ("priority", "0")}
"""What is not worth saying of an object that is new or gone."""


def render_difference(found: Difference, *, wide: bool = False) -> Text:
    """`found` as people read it; `wide` has a line for every object."""
    page = Page()
    page.line(_title(found))
    if found.objects:
        _head(page, "Objects")
        rows = [_object_row(each) for each in _gathered(found.objects, wide=wide)]
        page.columns(rows, align="<<<")
    if found.lanes:
        _head(page, "Lanes")
        page.columns([_lane_row(each) for each in found.lanes], align="<<<<<")
    if found.configuration:
        _head(page, "Configuration")
        page.columns([[each.field, _turn(each)] for each in found.configuration], align="<<")
    return page.text()


def _head(page: Page, title: str) -> None:
    page.gap()
    page.line((title, LABEL))


def _title(found: Difference) -> str:
    between = parse_rfc3339(found.until.time) - parse_rfc3339(found.since.time)
    way = "later" if between >= 0 else "earlier"
    apart = "" if 0 in (found.since.position, found.until.position) else f", {duration(abs(between))} {way}"
    return f"From {_moment(found.since)} to {_moment(found.until)}{apart}: {_summary(found)}"


def _moment(moment: Moment) -> str:
    if moment.position == 0:
        return "the beginning"
    return f"position {moment.position} ({in_seconds(moment.time)})"


def _summary(found: Difference) -> str:
    counts = Counter(each.change for each in found.objects)
    told = [f"{counts[change]} {change}" for change in _SIGNS if counts[change]]
    if found.lanes:
        told.append(f"{len(found.lanes)} in the queue")
    if found.configuration:
        told.append("another configuration")
    return ", ".join(told) or "nothing differs"


def _gathered(changes: Iterable[ObjectChange], *, wide: bool) -> list[list[ObjectChange]]:
    """Pods of one group to which the same happened, if on different nodes, side by side."""
    gathered: dict[object, list[ObjectChange]] = {}
    for each in changes:
        alike = tuple(field for field in each.fields if field.field not in ("node", _MANIFEST))
        alone = wide or each.group is None
        gathered.setdefault(each.object if alone else (each.group, each.change, alike), []).append(each)
    return list(gathered.values())


def _object_row(changes: Sequence[ObjectChange]) -> list[Cell]:
    first = changes[0]
    name = first.object if len(changes) == 1 else f"{first.object} and {len(changes) - 1} more"
    return [_SIGNS[first.change], name, "; ".join(_told(changes))]


def _told(changes: Sequence[ObjectChange]) -> Iterable[str]:
    first = changes[0]
    moves = [field for each in changes for field in each.fields if field.field == "node"]
    if moves:
        yield _moves(moves, first.change)
    others = [field for field in first.fields if field.field not in ("node", _MANIFEST)]
    for field in others:
        told = _field(field, first.change)
        if told is not None:
            yield told
    if first.change == "changed" and not moves and not others:
        yield "its manifest"


def _moves(moves: Sequence[FieldChange], change: str) -> str:
    sides = [
        listed(dict.fromkeys(node for node in nodes if node is not None), what="nodes") or "no node"
        for nodes in ((each.before for each in moves), (each.after for each in moves))
    ]
    if change in ("created", "deleted"):
        return f"{'on' if change == 'created' else 'was on'} {sides[change == 'created']}"
    return f"{sides[0]} → {sides[1]}"


def _field(field: FieldChange, change: str) -> str | None:
    """One field; None if it goes without saying."""
    if change not in ("created", "deleted"):
        return f"{field.field} {_turn(field)}"
    value = field.after if field.before is None else field.before
    return (
        None
        if (field.field, value) in _USUAL or field.field.startswith("label ")
        else f"{field.field} {value}"
    )


def _turn(field: FieldChange) -> str:
    return f"{field.before or 'none'} → {field.after or 'none'}"


def _lane_row(change: LaneChange) -> list[Cell]:
    attempts = str(change.attempts_after)
    if change.after is None:
        attempts = str(change.attempts_before)
    elif change.before is not None and change.attempts_before != change.attempts_after:
        attempts = f"{change.attempts_before} → {change.attempts_after}"
    return [change.entity, _lane(change.before), "→", _lane(change.after), f"attempts {attempts}"]


def _lane(lane: str | None) -> Cell:
    return ("out", "dim") if lane is None else (lane, STYLES.get(lane, ""))
