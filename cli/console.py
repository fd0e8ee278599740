"""What goes where: results to standard output, notes to standard error, colour only to a person."""

import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

STYLES: Mapping[str, str] = {
    "Bound": "green",
    "Ready": "green",
    "Running": "green",
    "Scheduled": "green",
    "Error": "red",
    "Failed": "red",
    "Invalid": "red",
    "NotReady": "red",
    "SchedulerError": "red",
    "Unschedulable": "red",
    "unschedulable": "red",
    "Gated": "yellow",
    "PartlyScheduled": "yellow",
    "Pending": "yellow",
    "SchedulingDisabled": "yellow",
    "SchedulingGated": "yellow",
    "Terminating": "yellow",
    "WaitingOnPreemption": "yellow",
    "backoff": "yellow",
    "gated": "yellow",
    "incomplete": "yellow",
}
"""How a word in a column of states looks on a terminal."""

GAP = "   "

_PICTURES: Mapping[int, int] = (
    {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
    | {0x7F: 0x2421}
    | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
)
"""What stands for each letter that a terminal would obey."""


def visible(text: str) -> str:
    """`text` as it can be read: what a user wrote into an object gives a terminal no orders.

    Each letter stays one, so that columns and styles stay where they are.
    """
    return text.translate(_PICTURES)


def note(text: str) -> None:
    """Tell something beside the result."""
    print(visible(text), file=sys.stderr)


def warn(text: str) -> None:
    """Print a warning of admission, as kubectl does."""
    print(f"Warning: {visible(text)}", file=sys.stderr)


class _Notes(logging.Handler):
    """Tells what is logged; of a failure its error line does."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is None:
            note(record.getMessage())


@contextmanager
def notes_from(logger: str) -> Iterator[None]:
    """Meanwhile tell what `logger` logs as notes."""
    handler = _Notes()
    logging.getLogger(logger).addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger(logger).removeHandler(handler)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person reads `stream` as it comes."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(stream: TextIO) -> bool:
    """Whether `stream` takes colour (https://no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def _console(stream: TextIO) -> "Console":
    """A rich console that writes to `stream` and breaks no line that is longer than the terminal."""
    from rich.console import Console

    colours: Literal["auto"] | None = "auto" if wants_colour(stream) else None
    return Console(file=stream, highlight=False, soft_wrap=True, markup=False, color_system=colours)


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as kubectl does: upper-case headers, columns three spaces apart, no lines.

    On a terminal the words of `STYLES` are coloured.
    """
    lines = [visible(line) for line in align([headers, *rows])]
    if not wants_colour(sys.stdout):
        print("\n".join(lines))
        return
    from rich.text import Text

    words = sorted({cell for row in rows for cell in row if cell in STYLES}, key=len, reverse=True)
    text = Text(lines[0], style="bold")
    for line in lines[1:]:
        styled = Text(f"\n{line}", style="not bold")
        for word in words:
            styled.highlight_regex(rf"(?<=\s){word}(?=\s|$)", STYLES[word])
        text.append_text(styled)
    print_text(text)


def print_text(text: "Text") -> None:
    """Print a text in its colours, or without where they are not wanted."""
    text.plain = visible(text.plain)
    if wants_colour(sys.stdout):
        _console(sys.stdout).print(text)
    else:
        print(text.plain)


def print_json(value: Any) -> None:
    """Print plain data or structs as indented JSON."""
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def align(rows: Sequence[Sequence[str]], *, empty: str = "<none>", gap: str = GAP) -> list[str]:
    """`rows` as lines whose columns stand under each other; `empty` is what an empty cell has."""
    filled = [[cell or empty for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*filled, strict=True)]
    return [
        gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in filled
    ]


class Bar:
    """Progress of something, shown where there is a `display` to show it on."""

    def __init__(self, title: str, display: "Progress | None") -> None:
        self._display = display
        self._task = None if display is None else display.add_task(title, total=None)

    def __call__(self, done: int, total: int | None = None) -> None:
        """Show that `done` of `total` steps are done."""
        if self._display is not None and self._task is not None:
            self._display.update(self._task, completed=done, total=total)


@contextmanager
def progress(title: str) -> Iterator[Bar]:
    """A progress bar on standard error; nothing if that is not a terminal."""
    if not is_terminal(sys.stderr):
        yield Bar(title, None)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_console(sys.stderr), transient=True) as shown:
        yield Bar(title, shown)
