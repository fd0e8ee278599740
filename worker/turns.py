"""A lock that is given to those who wait for it in the order in which they came."""

import threading
from collections import deque
from types import TracebackType


class Turns:
    """A re-entrant lock with a queue.

    Python's own lock goes to whoever is fastest, which is the thread that has just let go of it: a
    busy worker would keep everybody else out for as long as it has work.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._owner: int | None = None
        self._depth = 0
        self._queue: deque[tuple[int, threading.Lock]] = deque()

    @property
    def taken(self) -> bool:
        """Whether some thread has it."""
        return self._owner is not None

    def acquire(self) -> None:
        """Wait for one's turn; at once for the thread that has it."""
        me = threading.get_ident()
        if self._owner == me:
            self._depth += 1
            return
        with self._guard:
            if self._owner is None:
                self._owner, self._depth = me, 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._queue.append((me, turn))
        turn.acquire()

    def release(self) -> None:
        """Let the next one have it, once for every `acquire`."""
        if self._owner != threading.get_ident():
            raise RuntimeError("only the thread that has the lock can release it")
        self._depth -= 1
        if self._depth:
            return
        with self._guard:
            if not self._queue:
                self._owner = None
                return
            self._owner, turn = self._queue.popleft()
            self._depth = 1
            turn.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
