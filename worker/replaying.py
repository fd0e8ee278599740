"""Replay: fold a log from nothing, check its chain, and decide again at every attempt.

Deciding is deterministic, so the batch of each attempt must come out byte for byte from the State
of its snapshot and the time it records, and no event between the two may have been one that it does
not survive. The first difference is reported, both sides of it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from domain.conflict import stands
from domain.envelope import Envelope
from domain.events import Event, Fact, GroupAttempted, PodBound, PodEvicted, PodNominated
from domain.reducer import fold
from domain.scheduling.cycle import Decision, decide
from domain.state import State
from domain.upcast import CURRENT
from domain.version import SCHEDULER
from store.archive import open_archive, read_archive
from store.chain import ChainChecker, StoredEvent
from store.log import EventLog

Progress = Callable[[int], None]
"""Told the position that has been reached, now and then."""

_PROGRESS_EVERY = 1000
_DECIDED = frozenset(payload.__name__ for payload in (PodBound, PodNominated, PodEvicted))
"""Types of events that come after an attempt, in its batch, and never without one."""
_encode = msgspec.json.Encoder().encode


class Source(Protocol):
    """A log that can be read from its beginning more than once."""

    def events(self) -> Iterator[StoredEvent]:
        """All events, oldest first."""
        ...

    def attempts(self) -> Iterator[StoredEvent]:
        """The GroupAttempted events, oldest first."""
        ...


class StoredLog:
    """The log of a stream in a store."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def events(self) -> Iterator[StoredEvent]:
        """All events, oldest first."""
        return self._log.read()

    def attempts(self) -> Iterator[StoredEvent]:
        """The GroupAttempted events, oldest first."""
        return self._log.of_type(GroupAttempted.__name__)


class ArchivedLog:
    """A `ganger-log` file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def events(self) -> Iterator[StoredEvent]:
        """All events, oldest first. Raises BadArchive where the file is damaged."""
        with open_archive(self._path, "r") as source:
            _, events = read_archive(source)
            yield from events

    def attempts(self) -> Iterator[StoredEvent]:
        """The GroupAttempted events, oldest first."""
        return (event for event in self.events() if event.type == GroupAttempted.__name__)


@dataclass(frozen=True)
class Divergence:
    """Where the log and the decision made again part, and both as JSON (None: nothing there).

    `attempt` is the position of the attempt whose batch it is. `overtaken` is that of an event after
    which the decision should not have been committed, where that is the fault.
    """

    position: int
    attempt: int
    recorded: bytes | None
    decided: bytes | None
    overtaken: int | None = None


@dataclass(frozen=True)
class ReplayResult:
    """What a replay saw. `elsewhere` counts attempts of another scheduler version, which are
    folded but not decided again; `divergence` is None if all others came out the same."""

    events: int
    attempts: int
    elsewhere: int
    head_hash: bytes
    divergence: Divergence | None

    @property
    def same(self) -> bool:
        return self.divergence is None


def replay(source: Source, progress: Progress | None = None) -> ReplayResult:
    """Fold `source` from nothing and decide again, up to the first divergence.

    Raises CorruptLog with the position if the chain is broken or an event cannot have happened.
    """
    return _Replay(source).run(progress)


class _Replay:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._state = State()
        self._checker = ChainChecker()
        self._attempts = 0
        self._elsewhere = 0
        self._attempt = 0
        self._expected: deque[bytes] = deque()
        self._batch: int | None = None
        """The batch that is compared now."""
        self._elsewhere_batch: int | None = None
        """The batch of the last attempt of another scheduler version."""
        self._early: dict[int, _Early] = {}
        """Decisions on their way to the position at which they were committed."""

    def run(self, progress: Progress | None) -> ReplayResult:
        early = self._snapshots_before_others_wrote()
        divergence = None
        for stored in self._source.events():
            for attempt in early.pop(self._state.position, ()):
                self._early[attempt.position] = _Early(decide(self._state, attempt.payload.at))
            divergence = self._compare(stored, self._checker.check(stored))
            if divergence is not None:
                break
            event = CURRENT.event(stored.type, stored.line)
            for decided in self._early.values():
                decided.see(event, self._state)
            fold(self._state, (event,))
            if progress is not None and stored.position % _PROGRESS_EVERY == 0:
                progress(stored.position)
        else:
            divergence = self._leftover()
        if progress is not None:
            progress(self._state.position)
        return ReplayResult(
            self._state.position, self._attempts, self._elsewhere, self._checker.head.hash, divergence
        )

    def _snapshots_before_others_wrote(self) -> dict[int, list["_Attempt"]]:
        """The attempts that were committed after events they had not seen, by their snapshot."""
        early: dict[int, list[_Attempt]] = {}
        for stored in self._source.attempts():
            attempt = _attempt_in(stored)
            late = attempt.payload.snapshot != stored.position - 1
            if late and attempt.payload.scheduler == SCHEDULER:
                early.setdefault(attempt.payload.snapshot, []).append(attempt)
        return early

    def _compare(self, stored: StoredEvent, envelope: Envelope) -> Divergence | None:
        if stored.type == GroupAttempted.__name__:
            left = self._leftover()
            if left is not None:
                return left
            attempt = _attempt_in(stored)
            self._batch, self._attempt = None, stored.position
            if attempt.payload.scheduler != SCHEDULER:
                self._elsewhere += 1
                self._elsewhere_batch = envelope.batch
                return None
            self._attempts += 1
            self._batch = envelope.batch
            early = self._early.pop(stored.position, None)
            if early is not None and early.overtaken is not None:
                recorded = bytes(envelope.payload)
                return Divergence(stored.position, stored.position, recorded, None, early.overtaken)
            decision = decide(self._state, attempt.payload.at) if early is None else early.decision
            self._expected = _payloads_of(decision)
        elif envelope.batch != self._batch:
            if stored.type in _DECIDED and envelope.batch != self._elsewhere_batch:
                return Divergence(stored.position, stored.position, bytes(envelope.payload), None)
            return self._leftover()
        recorded = bytes(envelope.payload)
        decided_bytes = self._expected.popleft() if self._expected else None
        if recorded != decided_bytes:
            return Divergence(stored.position, self._attempt, recorded, decided_bytes)
        return None

    def _leftover(self) -> Divergence | None:
        """What was decided again beyond the end of the recorded batch."""
        self._batch = None
        if not self._expected:
            return None
        return Divergence(self._state.position + 1, self._attempt, None, self._expected.popleft())


@dataclass
class _Early:
    """A decision between its snapshot and its commit, and the first event that it does not survive."""

    decision: Decision | None
    overtaken: int | None = None

    def see(self, event: Event, state: State) -> None:
        """Note that `event` comes, on `state`."""
        if self.overtaken is None and self.decision is not None and not stands(self.decision, event, state):
            self.overtaken = event.position


def _payloads_of(decision: Decision | None) -> deque[bytes]:
    payloads: tuple[Fact, ...] = () if decision is None else decision.payloads
    return deque(_encode(payload) for payload in payloads)


@dataclass(frozen=True)
class _Attempt:
    position: int
    payload: GroupAttempted


def _attempt_in(stored: StoredEvent) -> _Attempt:
    payload = CURRENT.event(stored.type, stored.line).payload
    assert isinstance(payload, GroupAttempted)
    return _Attempt(stored.position, payload)
