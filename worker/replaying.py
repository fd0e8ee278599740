"""Replay: fold a log from nothing, check its chain, and decide again at every attempt.

Deciding is deterministic, so the batch of each attempt must come out byte for byte from the State
of its snapshot and the time it records, and no event between the two may have been one that it does
not survive. The first difference is reported, both sides of it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec

from domain.envelope import Envelope
from domain.events import Fact, GroupAttempted, PodBound, PodEvicted, PodNominated
from domain.reducer import fold
from domain.state import FORMAT, State, decode_state, encode_state
from domain.upcast import CURRENT
from domain.version import SCHEDULER
from store.archive import open_archive, read_archive
from store.beginnings import Beginning
from store.chain import EMPTY_HEAD, ChainChecker, StoredEvent
from store.log import EventLog
from store.snapshots import Snapshots
from store.tables import ATTEMPT
from worker.again import Again, Attempt, read_attempt

Progress = Callable[[int], None]
"""Told the position that has been reached, now and then."""

_PROGRESS_EVERY = 1000
_DECIDED = frozenset(payload.__name__ for payload in (PodBound, PodNominated, PodEvicted))
"""Types of events that come after an attempt, in its batch, and never without one."""
_encode = msgspec.json.Encoder().encode


class Source(Protocol):
    """A log that can be read from its beginning more than once."""

    def beginning(self) -> Beginning | None:
        """Where it begins, if not at position 1."""
        ...

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

    def beginning(self) -> Beginning | None:
        """Where it begins, if not at position 1."""
        return self._log.beginning()

    def events(self) -> Iterator[StoredEvent]:
        """All events, oldest first."""
        return self._log.read()

    def attempts(self) -> Iterator[StoredEvent]:
        """The GroupAttempted events, oldest first."""
        return self._log.of_type(ATTEMPT, after=self._log.begins_after())


class ArchivedLog:
    """A `ganger-log` file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def beginning(self) -> Beginning | None:
        """Where it begins, if not at position 1. Raises BadArchive."""
        with open_archive(self._path, "r") as source:
            return read_archive(source).beginning

    def events(self) -> Iterator[StoredEvent]:
        """All events, oldest first. Raises BadArchive where the file is damaged."""
        with open_archive(self._path, "r") as source:
            yield from read_archive(source).events

    def attempts(self) -> Iterator[StoredEvent]:
        """The GroupAttempted events, oldest first."""
        return (event for event in self.events() if event.type == ATTEMPT)


class Difference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A field that came out otherwise: its path in the payload, and both values as JSON (None: not there)."""

    path: str
    recorded: str | None
    decided: str | None


@dataclass(frozen=True)
class Divergence:
    """Where the log and the decision made again part, and both as JSON (None: nothing there).

    `attempt` is the position of the attempt whose batch it is, `entity` the one that was tried and
    `snapshot` the position whose State was decided on; the attempt may be missing, and they with it.
    `overtaken` is the position of an event after which the decision should not have been committed,
    where that is the fault.
    """

    position: int
    attempt: int
    recorded: bytes | None
    decided: bytes | None
    entity: str | None = None
    snapshot: int | None = None
    overtaken: int | None = None

    @property
    def differences(self) -> list[Difference]:
        """Field by field, in the order of their names."""
        recorded, decided = _leaves(self.recorded), _leaves(self.decided)
        return [
            Difference(path=path, recorded=recorded.get(path), decided=decided.get(path))
            for path in sorted({*recorded, *decided}, key=_in_order)
            if recorded.get(path) != decided.get(path)
        ]


@dataclass(frozen=True)
class BadSnapshot:
    """A snapshot of the store that is not what its log folds to; dropping it is safe."""

    position: int
    fault: str


@dataclass(frozen=True)
class ReplayResult:
    """What a replay saw.

    `elsewhere` counts attempts of other scheduler versions, `versions`, which are folded but not decided
    again unless that is asked for; `unseen` those that were decided on what was before the log begins.
    `divergence` is None if all others came out the same. `snapshots` counts those that were compared.
    """

    events: int
    attempts: int
    elsewhere: int
    head_hash: bytes
    divergence: Divergence | None
    unseen: int = 0
    begins_after: int = 0
    versions: tuple[str, ...] = ()
    snapshots: int = 0
    bad_snapshots: tuple[BadSnapshot, ...] = ()

    @property
    def same(self) -> bool:
        return self.divergence is None and not self.bad_snapshots


def replay(
    source: Source,
    progress: Progress | None = None,
    *,
    snapshots: Snapshots | None = None,
    against_current: bool = False,
) -> ReplayResult:
    """Fold `source` from nothing and decide again, up to the first divergence.

    `snapshots` are compared with what is folded. With `against_current` attempts of other scheduler
    versions are decided again by this one, too. Raises CorruptLog with the position if the chain is
    broken or an event cannot have happened.
    """
    return _Replay(source, snapshots, against_current).run(progress)


class _Replay:
    def __init__(self, source: Source, snapshots: Snapshots | None, against_current: bool) -> None:
        beginning = source.beginning()
        self._source = source
        self._against_current = against_current
        self._snapshots = snapshots
        self._unchecked = [] if snapshots is None else snapshots.positions()  # newest first
        self._state = State() if beginning is None else decode_state(beginning.state.state)
        self._begins = self._state.position
        self._checker = ChainChecker(EMPTY_HEAD if beginning is None else beginning.head)
        self._again = Again(self._state, source.attempts())
        self._attempts = 0
        self._unseen = 0
        self._elsewhere: dict[str, int] = {}
        self._attempt: Attempt | None = None
        self._expected: deque[bytes] = deque()
        self._batch: int | None = None
        """The batch that is compared now."""
        self._folded_batch: int | None = None
        """The batch of the last attempt that is not decided again."""
        self._compared = 0
        self._bad: list[BadSnapshot] = []

    def run(self, progress: Progress | None) -> ReplayResult:
        divergence = None
        for stored in self._source.events():
            self._again.look()
            divergence = self._compare(stored, self._checker.check(stored))
            if divergence is not None:
                break
            event = CURRENT.event(stored.type, stored.line)
            self._again.see(event)
            fold(self._state, (event,))
            self._compare_snapshot(stored)
            if progress is not None and stored.position % _PROGRESS_EVERY == 0:
                progress(stored.position)
        else:
            divergence = self._leftover()
        if progress is not None:
            progress(self._state.position)
        return ReplayResult(
            events=self._state.position - self._begins,
            attempts=self._attempts,
            elsewhere=sum(self._elsewhere.values()),
            head_hash=self._checker.head.hash,
            divergence=divergence,
            unseen=self._unseen,
            begins_after=self._begins,
            versions=tuple(sorted(self._elsewhere)),
            snapshots=self._compared,
            bad_snapshots=tuple(self._bad),
        )

    def _compare(self, stored: StoredEvent, envelope: Envelope) -> Divergence | None:
        if stored.type == ATTEMPT:
            left = self._leftover()
            if left is not None:
                return left
            self._attempt = read_attempt(stored)
            self._batch = None
            if not self._can_decide(self._attempt.payload):
                self._folded_batch = envelope.batch
                return None
            self._attempts += 1
            self._batch = envelope.batch
            if (late := self._again.overtaken_by(self._attempt)) is not None:
                found = self._divergence(stored.position, bytes(envelope.payload), None)
                return replace(found, overtaken=late)
            self._expected = self._decide(self._attempt)
        elif envelope.batch != self._batch:
            if stored.type in _DECIDED and envelope.batch != self._folded_batch:
                return Divergence(stored.position, stored.position, bytes(envelope.payload), None)
            return self._leftover()
        recorded = bytes(envelope.payload)
        decided = self._expected.popleft() if self._expected else None
        return None if recorded == decided else self._divergence(stored.position, recorded, decided)

    def _can_decide(self, attempt: GroupAttempted) -> bool:
        """Whether to decide `attempt` again; notes it if not."""
        if attempt.scheduler != SCHEDULER:
            self._elsewhere[attempt.scheduler] = self._elsewhere.get(attempt.scheduler, 0) + 1
            if not self._against_current:
                return False
        if attempt.snapshot < self._begins:
            self._unseen += 1
            return False
        return True

    def _leftover(self) -> Divergence | None:
        """What was decided again beyond the end of the recorded batch."""
        self._batch = None
        if not self._expected:
            return None
        return self._divergence(self._state.position + 1, None, self._expected.popleft())

    def _divergence(self, position: int, recorded: bytes | None, decided: bytes | None) -> Divergence:
        attempt = self._attempt
        assert attempt is not None, "something was expected of it"
        return Divergence(
            position, attempt.position, recorded, decided, attempt.payload.entity, attempt.payload.snapshot
        )

    def _decide(self, attempt: Attempt) -> deque[bytes]:
        """The payloads of a decision; that another version made it is no difference."""
        return deque(
            _encode(_as_by(attempt.payload.scheduler, fact)) for fact in self._again.decisions(attempt)
        )

    def _compare_snapshot(self, stored: StoredEvent) -> None:
        """Compare the snapshot that the store has at the position of `stored`, if it has one."""
        while self._unchecked and self._unchecked[-1] <= stored.position:
            position = self._unchecked.pop()
            assert self._snapshots is not None
            if position != stored.position:
                continue
            body, fault = self._snapshots.inspect(position)
            if body is None and fault is None:
                continue
            self._compared += 1
            if fault is None and body != encode_state(self._state):
                fault = "it is not the state that the log folds to"
            if fault is not None:
                self._bad.append(BadSnapshot(position, fault))


def snapshots_of(log: EventLog) -> Snapshots:
    """The snapshots of `log` in this program's format."""
    return Snapshots(log.store, log.stream, format=FORMAT)


class DivergenceReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A Divergence on the wire."""

    position: int
    attempt: int
    entity: str | None
    snapshot: int | None
    overtaken: int | None
    recorded: msgspec.Raw | None
    decided: msgspec.Raw | None
    differences: list[Difference]


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A ReplayResult on the wire."""

    same: bool
    events: int
    begins_after: int
    head_hash: str
    attempts: int
    elsewhere: int
    versions: tuple[str, ...]
    unseen: int
    snapshots: int
    bad_snapshots: tuple[BadSnapshot, ...]
    divergence: DivergenceReport | None


def report_of(result: ReplayResult) -> ReplayReport:
    """`result` as `replay -o json` and the API say it."""
    found = result.divergence
    return ReplayReport(
        same=result.same,
        events=result.events,
        begins_after=result.begins_after,
        head_hash=result.head_hash.hex(),
        attempts=result.attempts,
        elsewhere=result.elsewhere,
        versions=result.versions,
        unseen=result.unseen,
        snapshots=result.snapshots,
        bad_snapshots=result.bad_snapshots,
        divergence=None
        if found is None
        else DivergenceReport(
            position=found.position,
            attempt=found.attempt,
            entity=found.entity,
            snapshot=found.snapshot,
            overtaken=found.overtaken,
            recorded=_raw(found.recorded),
            decided=_raw(found.decided),
            differences=found.differences,
        ),
    )


def _raw(payload: bytes | None) -> msgspec.Raw | None:
    return None if payload is None else msgspec.Raw(payload)


def _as_by(scheduler: str, fact: Fact) -> Fact:
    if isinstance(fact, GroupAttempted):
        return msgspec.structs.replace(fact, scheduler=scheduler)
    return fact


def _leaves(payload: bytes | None) -> dict[str, str]:
    """The values of a payload that have no parts, as JSON, by path such as `groups[0].minimum`."""
    found: dict[str, str] = {}

    def walk(path: str, value: Any) -> None:
        if isinstance(value, dict) and value:
            for name, part in value.items():
                walk(f"{path}.{name}" if path else name, part)
        elif isinstance(value, list) and value:
            for number, part in enumerate(value):
                walk(f"{path}[{number}]", part)
        else:
            found[path] = _encode(value).decode()

    if payload is not None:
        walk("", msgspec.json.decode(payload))
    return found


def _in_order(path: str) -> list[tuple[str, int]]:
    """Sorts paths by their names, and the items of a list by their number."""
    parts = []
    for part in path.split("."):
        name, _, number = part.partition("[")
        parts.append((name, int(number.partition("]")[0]) if number else -1))
    return parts
