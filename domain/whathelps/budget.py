"""How much a search for what helps may cost."""

from collections.abc import Callable
from typing import Final

DECISIONS: Final = 4_000
"""Attempts on forks that one search makes at most, a fork itself counted as one."""

DEADLINE_S: Final = 2.0
"""How many seconds a search may take if nobody says otherwise; whoever has a clock sees to it."""


class CutOff(Exception):
    """The search has used up what it may cost."""


class Budget:
    """So many `decisions`, unless whoever asks wants to `stop` before: that is looked at before each."""

    def __init__(self, decisions: int = DECISIONS, stop: Callable[[], bool] = lambda: False) -> None:
        self._left = decisions
        self._stop = stop

    def spend(self) -> None:
        """Take one decision. Raises CutOff if there is none left."""
        if self._left <= 0 or self._stop():
            raise CutOff
        self._left -= 1
