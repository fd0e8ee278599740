"""Telling the threads of one process that a stream has grown."""

from collections import defaultdict
from threading import Condition


class Announcements:
    """The newest position this process has appended, by stream."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._positions: defaultdict[str, int] = defaultdict(int)

    def announce(self, stream: str, position: int) -> None:
        """Wake whoever waits for `stream` to reach `position`."""
        with self._changed:
            self._positions[stream] = max(self._positions[stream], position)
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake everybody, for a reason of their own."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, stream: str, after: int, timeout_s: float) -> bool:
        """Wait until `stream` is past `after`, somebody calls `wake`, or the time is up; True if past."""
        with self._changed:
            if self._positions[stream] <= after:
                self._changed.wait(timeout_s)
            return self._positions[stream] > after
