"""Noticing appends to an SQLite file: it has to be asked, but asking is cheap.

`PRAGMA data_version` costs a few microseconds and changes when another connection has committed. What
this process appends wakes at once.
"""

import sqlite3
import threading
import time
from typing import Final

from store.engine import Store

POLL_S: Final = 0.005
"""How often the file is asked."""


class FilePoll:
    """The signal of a `Watcher`."""

    def __init__(self, store: Store, stream: str) -> None:
        self._announcements = store.announcements
        self._stream = stream
        self._woken = threading.Event()
        with store.explaining():
            pooled = store.engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()  # it is this signal's own from here on
        assert isinstance(connection, sqlite3.Connection)
        self._connection = connection
        self._version = 0

    def arm(self) -> None:
        self._version = self._data_version()

    def wait(self, after: int, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self._woken.is_set() and (left := deadline - time.monotonic()) > 0:
            if self._announcements.wait(self._stream, after, min(POLL_S, left)):
                return
            if self._data_version() != self._version:
                return

    def wake(self) -> None:
        self._woken.set()
        self._announcements.wake()

    def close(self) -> None:
        self._connection.close()

    def _data_version(self) -> int:
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)
