"""Following a log as it grows: one thread watches a stream, any number of clients wait for it."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from typing import Final

from starlette.concurrency import run_in_threadpool

from api.replies import item
from store.chain import StoredEvent
from store.engine import Store
from store.errors import StoreError
from store.log import EventLog
from store.notify import Watcher

MEDIA_TYPE: Final = "text/event-stream"

PAGE: Final = 500
"""Events that are read at a time."""

HEARTBEAT_S: Final = 15.0
"""Seconds after which a client of a quiet log is told that the connection is alive."""

log = logging.getLogger("ganger.api")

_PATIENCE_S: Final = 60.0
_HEARTBEAT: Final = b": nothing new\n\n"


class Tail:
    """Wakes the followers of `stream`, which wait on the event loop, when it has grown."""

    def __init__(self, store: Store, stream: str) -> None:
        self._store = store
        self._stream = stream
        self._lock = threading.Lock()
        self._watching: tuple[Watcher, threading.Thread] | None = None
        self._closed = False
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._head = 0

    @property
    def closed(self) -> bool:
        """Whether there will be nothing more to follow."""
        return self._closed

    async def wait(self, after: int, timeout_s: float) -> bool:
        """Wait until the log is past `after`, `close` is called, or the time is up; False if it is up."""
        event = asyncio.Event()
        waiter = (asyncio.get_running_loop(), event)
        with self._lock:
            if self._head > after or self._closed:
                return True
            self._waiting.add(waiter)
            if self._watching is None:
                watcher = Watcher(self._store, self._stream)
                thread = threading.Thread(target=self._watch, args=(watcher,), daemon=True)
                self._watching = (watcher, thread)
                thread.start()
        try:
            await asyncio.wait_for(event.wait(), timeout_s)
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._waiting.discard(waiter)
        return True

    def close(self) -> None:
        """Wake everybody for the last time."""
        with self._lock:
            self._closed = True
            self._wake()
            watching = self._watching
        if watching is not None:
            watcher, thread = watching
            watcher.close()
            thread.join()

    def _watch(self, watcher: Watcher) -> None:
        try:
            while not self._closed:
                head = watcher.wait(self._head, _PATIENCE_S)
                with self._lock:
                    if head > self._head:
                        self._head = head
                        self._wake()
        except StoreError as error:
            log.warning("following %r was interrupted: %s", self._stream, error)
            watcher.close()
            with self._lock:
                self._watching = None  # whoever waits next tries again
                self._wake()

    def _wake(self) -> None:
        for loop, event in self._waiting:
            loop.call_soon_threadsafe(event.set)
        self._waiting.clear()


async def follow(events: EventLog, tail: Tail, after: int) -> AsyncIterator[bytes]:
    """The events after `after` as server-sent events, then each new one as it is appended.

    The id of each is its position, so that a client that was cut off resumes where it was.
    """
    while not tail.closed:
        page = await run_in_threadpool(some_of, events, after, PAGE)
        if page:
            yield b"".join(map(_frame, page))
            after = page[-1].position
        elif not await tail.wait(after, HEARTBEAT_S):
            yield _HEARTBEAT


def some_of(events: EventLog, after: int, count: int) -> list[StoredEvent]:
    """The `count` events after `after`, or as many as there are; of a window, 0 is where it begins."""
    first = after or events.begins_after()
    return list(events.read(first, first + count))


def _frame(event: StoredEvent) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.position, event.type.encode(), item(event))
