"""What a change would have come to, as text: who fares otherwise, both courses side by side."""

from collections.abc import Iterator

from rich.text import Text

from cli.console import STYLES
from cli.text.lines import FAINT, LABEL, Cell, Page, listed
from domain.ages import duration
from domain.explaining.wording import number_of
from domain.times import SECOND, in_seconds, parse_rfc3339
from worker.whatif import Course, Divergence, Recorded, WhatIf


def render_whatif(found: WhatIf) -> Text:
    """`found` as people read it."""
    page = Page()
    page.line(("What if  ", LABEL), listed(found.changes, what="changes") or "nothing is changed")
    page.line(("Fork     ", LABEL), _fork(found))
    for line in _log(found.recorded):
        page.line(("Log      ", LABEL), line)
    page.gap()
    if found.differences:
        rows: list[list[Cell]] = [[("WHO", LABEL), ("WITHOUT", LABEL), ("WITH", LABEL)]]
        rows += [_row(each) for each in found.differences]
        page.columns(rows, align="<<<", indent=0)
        page.gap()
    page.line(_verdict(found))
    return page.text()


def _fork(found: WhatIf) -> str:
    span = duration(parse_rfc3339(found.until) - parse_rfc3339(found.fork.time))
    fork = f"at position {found.fork.position} ({in_seconds(found.fork.time)})"
    return f"{fork}, {span} simulated" if found.complete else f"{fork}, cut off after {span} simulated"


def _log(recorded: Recorded | None) -> Iterator[str]:
    """How the fork stands to what the log holds after it."""
    if recorded is None:
        return
    upto = f"up to position {recorded.until.position} ({in_seconds(recorded.until.time)})"
    requests = number_of(recorded.requests, "later request", "later requests")
    yield f"{recorded.requests} {requests} made again, {upto}"
    if recorded.dropped:
        yield f"{recorded.dropped} of them made no sense any more with the change"
    elsewhere = [
        f"{each.pod} on {each.again or 'no node'}, not {each.log or 'no node'}" for each in recorded.elsewhere
    ]
    if elsewhere:
        yield f"without the change not quite as it was: {listed(elsewhere, what='Pods')}"


def _row(divergence: Divergence) -> list[Cell]:
    return [divergence.entity, _course(divergence.without), _course(divergence.changed)]


def _course(course: Course | None) -> Cell:
    if course is None:
        return ("not there", FAINT)
    return ", ".join(_told(course)), STYLES.get(course.verdict, "")


def _told(course: Course) -> Iterator[str]:
    yield f"{course.verdict}{_waited(course.waited_us)}"
    if course.bound < course.pods:
        yield f"{course.bound}/{course.pods} on nodes"
    if course.nodes:
        yield f"on {listed(dict.fromkeys(course.nodes.values()), what='nodes')}"
    if course.evicted:
        preemptors = listed(dict.fromkeys(each.preemptor for each in course.evicted))
        yield f"{len(course.evicted)} evicted by {preemptors}"


def _waited(us: int | None) -> str:
    if us is None:
        return ""
    return f" after {duration(us)}" if us >= SECOND else " at once"


def _verdict(found: WhatIf) -> str:
    differ = len(found.differences)
    told = (
        f"{differ} of {found.compared} groups and single Pods fare otherwise" if differ else "Nothing differs"
    )
    return told if found.complete else f"{told} up to where the deadline cut it off"
