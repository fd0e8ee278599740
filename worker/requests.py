"""Requests of many callers to one cluster: admitted one after the other, made durable together."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from domain.errors import GangerError
from store.errors import StoreUnavailable
from worker.batch import Batch, Outcome, Request
from worker.cluster import Cluster
from worker.shown import as_shown, counts_of, visible_of

MOST: Final = 256
"""A transaction takes no more requests, so that the first caller need not wait for all."""


@dataclass(frozen=True)
class Answer:
    """What became of a request; `shown` is the object as Kubernetes shows it, None if it is gone."""

    outcome: Outcome
    shown: dict[str, Any] | None


@dataclass(frozen=True)
class _Asked:
    request: Request[Outcome]
    about: str | None
    answer: Future[Answer]


class Requests:
    """Takes requests to `cluster` from any thread; `close` answers those that wait, and ends.

    While one transaction is made durable the next requests gather. An answer is given once what it
    says is on disk.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._waiting: deque[_Asked] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"requests-{cluster.log.stream}", daemon=True)
        self._thread.start()

    def submit(
        self, admit: Callable[[Batch], Outcome], *, about: str | None = None, dry_run: bool = False
    ) -> Future[Answer]:
        """Ask `admit` of the cluster. `about` names the object, so that requests about one object
        are never committed together: the second is to see the version that the first made."""
        asked = _Asked(Request(admit, dry_run), about, Future())
        with self._changed:
            if self._closed:
                raise StoreUnavailable("the server is shutting down: try again")
            self._waiting.append(asked)
            self._changed.notify()
        return asked.answer

    def close(self) -> None:
        """Take no more, and return once all that was taken is answered."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while group := self._next_group():
            self._answer(group)

    def _next_group(self) -> list[_Asked]:
        """Wait for requests, and take the oldest; none once it is closed and all are answered."""
        group: list[_Asked] = []
        named: set[str] = set()
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            while self._waiting and len(group) < MOST and self._waiting[0].about not in named:
                asked = self._waiting.popleft()
                group.append(asked)
                if asked.about is not None:
                    named.add(asked.about)
        return group

    def _answer(self, group: list[_Asked]) -> None:
        try:
            with self._cluster.lock:
                results = self._cluster.answer([asked.request for asked in group])
                answers = [self._present(*pair) for pair in zip(group, results, strict=True)]
        except Exception as error:  # noqa: BLE001 — every caller raises it
            for asked in group:
                if asked.answer.set_running_or_notify_cancel():
                    asked.answer.set_exception(error)
            return
        for asked, answer in zip(group, answers, strict=True):
            if not asked.answer.set_running_or_notify_cancel():
                continue  # the caller has gone; what it asked for is done all the same
            if isinstance(answer, GangerError):
                asked.answer.set_exception(answer)
            else:
                asked.answer.set_result(answer)

    def _present(self, asked: _Asked, outcome: Outcome | GangerError) -> Answer | GangerError:
        if isinstance(outcome, GangerError):
            return outcome
        if outcome.object is None or asked.request.dry_run:
            return Answer(outcome, outcome.object)
        if outcome.change == "terminating":
            return Answer(outcome, self._cluster.shown(outcome.kind, outcome.key))
        cluster, kind, key = self._cluster, outcome.kind.name, outcome.key
        record = visible_of(cluster.state, kind, key)
        if record is None:
            return Answer(outcome, None)
        count = counts_of(cluster.state, kind, [key]).get(key)
        return Answer(outcome, as_shown(cluster.seen(record), outcome.object, count))
