"""How things are measured: as ratios of medians of interleaved runs in one process, never as times."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: `ratio` of what was measured to its reference, and whether that is enough.

    Where the reference was measured elsewhere, what was measured stands for itself, in `unit`.
    """

    id: str
    what: str
    reference: str
    ratio: float
    target: str
    met: bool
    unit: str = "×"


def median_ratio(ours: Callable[[], object], reference: Callable[[], object], runs: int = 5) -> float:
    """How many times as fast as `reference` `ours` is, by the medians of `runs` runs of each in turn.

    Both have run once before, so that nothing is measured cold.
    """
    ours()
    reference()
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for work, times in zip((ours, reference), taken, strict=True):
            times.append(_seconds(work))
    return statistics.median(taken[1]) / statistics.median(taken[0])


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    finally:
        gc.enable()
