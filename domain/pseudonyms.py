"""Pseudonyms for names: stable, in the same order, and with the same structure.

A text is cut at every character below `0` in code points, which are `-`, `.`, `/` and their like, and
each piece has its pseudonym. So names that begin alike still do, and any two texts, or keys made of
several, compare as they did before: the pieces' pseudonyms compare as the pieces, and a piece's end
still comes before any longer one.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping

_PIECE = re.compile(r"[^\x00-/]+")
_PREFIX = "x"
"""Begins every pseudonym, so that it is a name wherever a name has to begin with a letter."""


class Pseudonyms:
    """Replaces texts. `codes` has the pseudonym of every piece."""

    def __init__(self, codes: Mapping[str, str]) -> None:
        self._codes = codes

    def text(self, text: str) -> str:
        """The pseudonym of `text`, of which all pieces are known."""
        return _PIECE.sub(lambda piece: self._codes[piece[0]], text)


class Collector(Pseudonyms):
    """Changes nothing, and notes the pieces of all that it is asked for."""

    def __init__(self) -> None:
        super().__init__({})
        self.pieces: dict[str, None] = {}

    def text(self, text: str) -> str:
        """`text`, noted."""
        self.pieces.update(dict.fromkeys(_PIECE.findall(text)))
        return text


def with_codes(codes: Mapping[str, str], pieces: Iterable[str]) -> dict[str, str]:
    """`codes`, and pseudonyms for those of `pieces` that have none yet, in the order of all.

    A pseudonym is `x` and decimals, read as those of a fraction between 0 and 1: between two there
    is always room for more, and what was given once stays.
    """
    known = sorted(codes)
    gaps: dict[int, list[str]] = {}
    for piece in sorted(set(pieces) - codes.keys()):
        gaps.setdefault(bisect_left(known, piece), []).append(piece)
    found = dict(codes)
    for gap, new in gaps.items():
        low = codes[known[gap - 1]].removeprefix(_PREFIX) if gap else ""
        high = codes[known[gap]].removeprefix(_PREFIX) if gap < len(known) else None
        found.update(zip(new, _between(low, high, len(new)), strict=True))
    return found


def _between(low: str, high: str | None, count: int) -> list[str]:
    """`count` codes between two, evenly, as short as they can be."""
    width = max(1, len(low), len(high or ""))
    while True:
        bottom = int(low.ljust(width, "0")) if low else 0
        top = 10**width if high is None else int(high.ljust(width, "0"))
        if top - bottom > count:
            places = (bottom + (top - bottom) * number // (count + 1) for number in range(1, count + 1))
            return [f"{_PREFIX}{place:0{width}}" for place in places]
        width += 1
