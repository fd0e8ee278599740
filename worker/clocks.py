"""Clocks: the only place where time comes from; everything else is told."""

import time
from typing import Protocol

from domain.times import SECOND

START = 1_767_225_600 * SECOND
"""2026-01-01T00:00:00Z, when virtual time begins that nobody gave a beginning."""


class Clock(Protocol):
    """Tells the time in microseconds since 1970."""

    def now(self) -> int:
        """The present moment."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> int:
        """The present moment."""
        return time.time_ns() // 1_000


class VirtualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: int) -> None:
        self._now = start

    def now(self) -> int:
        """The moment it was last moved to."""
        return self._now

    def advance_to(self, moment: int) -> None:
        """Move on to `moment`; a moment that has passed changes nothing."""
        self._now = max(self._now, moment)
