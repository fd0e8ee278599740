"""Lines of text that stand under each other: labelled facts, aligned columns, long lists cut short."""

from collections.abc import Iterable, Sequence
from textwrap import wrap

from rich.text import Text

LABEL = "bold"
FAINT = "dim"
SHORT = "red"

_LABEL_WIDTH = 13
_FACT_WIDTH = 104
"""How wide the text behind a label may be."""
_GAP = "   "

Cell = str | tuple[str, str]
"""What stands in a column: a text, or a text and its style."""


class Page:
    """Collects lines; `indent` is where they begin."""

    def __init__(self, indent: int = 0) -> None:
        self.lines: list[Text] = []
        self._indent = " " * indent

    def line(self, *parts: Cell) -> None:
        """Add a line made of `parts`."""
        text = Text(self._indent)
        for part in parts:
            text.append(*((part,) if isinstance(part, str) else part))
        text.rstrip()
        self.lines.append(text)

    def gap(self) -> None:
        """Add an empty line, unless there is one already or nothing yet."""
        if self.lines and self.lines[-1].plain:
            self.lines.append(Text())

    def fact(self, label: str, *parts: Cell) -> None:
        """Add `parts` behind a label; nothing if they are empty. A single plain text is wrapped."""
        if len(parts) == 1 and isinstance(parts[0], str):
            first, *more = wrap(parts[0], _FACT_WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
            if first:
                self._fact(label, first)
            for line in more:
                self._fact("", line)
        elif any(part if isinstance(part, str) else part[0] for part in parts):
            self._fact(label, *parts)

    def _fact(self, label: str, *parts: Cell) -> None:
        self.line("  ", (label.ljust(_LABEL_WIDTH), LABEL), *parts)

    def columns(self, rows: Sequence[Sequence[Cell]], *, align: str, indent: int = 2) -> None:
        """Add `rows` with their columns under each other; `align` has `<` or `>` for each column."""
        widths = [max(len(plain(cell)) for cell in column) for column in zip(*rows, strict=True)]
        for row in rows:
            parts: list[Cell] = [" " * indent]
            for cell, width, side in zip(row, widths, align, strict=True):
                padding = " " * (width - len(plain(cell)))
                parts += [padding, cell, _GAP] if side == ">" else [cell, padding, _GAP]
            self.line(*parts)

    def add(self, other: "Page") -> None:
        """Add the lines of another page."""
        self.lines += other.lines

    def text(self) -> Text:
        """All lines as one text."""
        return Text("\n").join(self.lines)


def listed(names: Iterable[str], *, most: int = 4, what: str = "") -> str:
    """`names` one after the other; beyond `most` their number (of `what`) stands for the rest."""
    every = tuple(names)
    if len(every) <= most + 1:
        return ", ".join(every)
    return f"{', '.join(every[:most])} and {len(every) - most} more{f' {what}' if what else ''}"


def plain(cell: Cell) -> str:
    """The text of a cell without its style."""
    return cell if isinstance(cell, str) else cell[0]
