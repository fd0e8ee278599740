"""Turning raw numbers of nodes into scores that depend on the least and the most of them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def mapped(raw: Numbers, score: Callable[[Numbers, int, int], Numbers]) -> Numbers:
    """`score(raw, least, most)`, worked out once for each number between where those are fewer."""
    if len(raw) == 0:
        return raw
    least, most = int(raw.min()), int(raw.max())
    if most - least < len(raw):
        return score(np.arange(least, most + 1), least, most).take(raw - least)
    return score(raw, least, most)
