"""Group commit: what many callers append at once shares one transaction and one sync of the disk."""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Final, Self

from domain.envelope import Draft
from domain.errors import GangerError
from store.append import Appended, Batch, Guard
from store.errors import StoreError
from store.log import EventLog

MOST_EVENTS: Final = 4096
"""A transaction takes no further batch once it has so many events, so that the first caller need not wait."""

_Item = tuple[Batch, Future[Appended]]


class GroupCommit:
    """Appends to `log` for any number of threads; `close` it, or use it in a `with`.

    While one transaction is being committed the next callers gather; one thread then commits all that
    wait. Each caller gets the place, or the error, of its own batch.
    """

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self._waiting: deque[_Item] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._writer = threading.Thread(target=self._run, name=f"group-commit-{log.stream}", daemon=True)
        self._writer.start()

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        at: int,
        expected: int | None = None,
        idempotency_key: str | None = None,
        epoch: int | None = None,
        guard: Guard | None = None,
        snapshot_position: int | None = None,
    ) -> Appended:
        """As `EventLog.append`. Raises StoreError too if the group's transaction fails, or after `close`."""
        batch = Batch(
            drafts=drafts,
            at=at,
            expected=expected,
            idempotency_key=idempotency_key,
            epoch=epoch,
            guard=guard,
            snapshot_position=snapshot_position,
        )
        done: Future[Appended] = Future()
        with self._changed:
            if self._closed:
                raise StoreError(f"stream {self.log.stream!r} takes no more events: its writer is closed")
            self._waiting.append((batch, done))
            self._changed.notify()
        return done.result()

    @property
    def waiting(self) -> int:
        """How many callers wait for the next transaction."""
        return len(self._waiting)

    def close(self) -> None:
        """Append what waits and stop; later calls of `append` are refused."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._writer.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        while group := self._next_group():
            self._commit(group)

    def _next_group(self) -> list[_Item]:
        """Wait for callers and take those that wait, oldest first; empty once closed with nothing left."""
        group: list[_Item] = []
        events = 0
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            while self._waiting and events < MOST_EVENTS:
                batch, done = self._waiting.popleft()
                group.append((batch, done))
                events += len(batch.drafts)
        return group

    def _commit(self, group: list[_Item]) -> None:
        try:
            outcomes = self.log.append_all([batch for batch, _ in group])
        except Exception as error:  # noqa: BLE001 — every caller raises it
            for _, done in group:
                done.set_exception(error)
            return
        for (_, done), outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, GangerError):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)
