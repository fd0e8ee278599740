"""The history of an object as text: a line an event, oldest first."""

from collections.abc import Iterable

from rich.text import Text

from cli.console import STYLES
from cli.text.lines import FAINT, LABEL, Cell, Page
from domain.times import in_seconds
from worker.history import Entry


def render_history(entries: Iterable[Entry], *, wide: bool = False) -> Text:
    """`entries` as people read them; `wide` adds microseconds, who did it and what led to it."""
    heads = ["POSITION", "TIME", "EVENT", *(["ACTOR", "CAUSE"] if wide else []), "WHAT HAPPENED"]
    rows: list[list[Cell]] = [[(head, LABEL) for head in heads]]
    rows += [_row(entry, wide=wide) for entry in entries]
    page = Page()
    page.columns(rows, align="><<<><" if wide else "><<<", indent=0)
    return page.text()


def _row(entry: Entry, *, wide: bool) -> list[Cell]:
    told: list[Cell] = [str(entry.position)]
    told.append((entry.at if wide else in_seconds(entry.at), FAINT))
    told.append(entry.type)
    if wide:
        told += [entry.actor, "" if entry.cause is None else str(entry.cause)]
    return [*told, _summary(entry.summary)]


def _summary(summary: str) -> Cell:
    """A summary in the colour of the verdict that it names."""
    named = (style for word, style in STYLES.items() if f": {word}" in summary)
    return summary, next(named, "")
