"""Waiting for a stream to grow, whichever process makes it grow."""

import threading
import time
from types import TracebackType
from typing import Protocol, Self

from store.engine import Store
from store.log import EventLog
from store.poll import FilePoll


class Watcher:
    """Waits for `stream` to grow; for one thread. `close` it, from any thread, or use it in a `with`."""

    def __init__(self, store: Store, stream: str) -> None:
        self._log = EventLog(store, stream)
        self._closed = threading.Event()
        self._waiting = threading.Lock()
        self._signal = _signal(store, stream)

    def wait(self, after: int, timeout_s: float) -> int:
        """Return the head's position once it is past `after`, the time is up or `close` is called.

        Raises StoreError.
        """
        deadline = time.monotonic() + timeout_s
        with self._waiting:
            while not self._closed.is_set():
                self._signal.arm()
                head = self._log.head().position
                left = deadline - time.monotonic()
                if head > after or left <= 0:
                    return head
                self._signal.wait(after, left)
        return self._log.head().position

    def close(self) -> None:
        """Wake the waiting thread and let go of the connection."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._signal.wake()
        with self._waiting:
            self._signal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Signal(Protocol):
    """What says that there may be something new since `arm` was called; it may be wrong."""

    def arm(self) -> None: ...

    def wait(self, after: int, timeout_s: float) -> None: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


def _signal(store: Store, stream: str) -> _Signal:
    if store.url.get_backend_name() == "sqlite":
        return FilePoll(store, stream)
    from store.listen import Listener  # as in store.engine

    return Listener(store, stream)
