"""Exporting a log under pseudonyms that still replays to the same decisions.

What came from outside is rewritten, and every decision made again on that: it must be the recorded one
but for the names in its texts, or the log is not exported. Of attempts of another scheduler version,
which cannot be made again, the findings are rewritten and their texts hidden.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO

from domain.envelope import chain, decode_line, encode_line
from domain.errors import GangerError
from domain.events import GroupAttempted, Payload
from domain.pseudonyms import Collector, Pseudonyms, with_codes
from domain.redaction import Redactor, numeric_keys, without_texts
from domain.reducer import fold
from domain.state import FORMAT, State, encode_state
from domain.upcast import CURRENT, draft
from domain.version import SCHEDULER
from store.archive import event_row, header_line, start_rows
from store.beginnings import Beginning, StateLine
from store.chain import EMPTY_HEAD, ChainChecker, Head, StoredEvent
from store.log import EventLog
from store.origins import read_origin
from store.tables import ATTEMPT
from worker.again import Again, read_attempt
from worker.cluster import SCHEDULER as SCHEDULER_ACTOR
from worker.cluster import USER
from worker.kubelet import ACTOR as KUBELET
from worker.recordings import ACTOR as IMPORT
from worker.simulating import ACTOR as TRACE

Progress = Callable[[int], None]
Spool = Callable[[], AbstractContextManager[BinaryIO]]
"""Makes a temporary file."""

STREAM = "redacted"
"""The stream's name in the header of every redacted file."""
_ACTORS = frozenset({SCHEDULER_ACTOR, USER, KUBELET, IMPORT, TRACE})
_PROGRESS_EVERY = 1000


class CannotRedact(GangerError):
    """The log would not replay to the same decisions under pseudonyms."""


def redact_log(
    log: EventLog,
    out: BinaryIO,
    *,
    codes: Mapping[str, str],
    spool: Spool,
    after: int = 0,
    carried: Sequence[int] = (),
    until: int | None = None,
    progress: Progress | None = None,
) -> tuple[Head, dict[str, str]]:
    """Write the events after `after` up to `until` or the head under pseudonyms.

    Returns the head and the pseudonym of every piece of a name: `codes`, and what was new. `carried`
    are the positions of the events that a window carries. The log is read twice, from its first event
    on. Raises CannotRedact, and CorruptLog where the log is broken.
    """
    if log.begins_after():
        raise _begins_late(log)
    last = log.head().position if until is None else until
    collector = Collector()
    numeric: dict[str, None] = {}
    collecting = Redactor(collector, numeric)
    for stored in log.read(0, last):
        payload = CURRENT.event(stored.type, stored.line).payload
        collecting.payload(payload)
        collector.text(decode_line(stored.line).actor)
        numeric.update(numeric_keys(payload))
    codes = with_codes(codes, collector.pieces)
    writing = _Writing(log, Redactor(Pseudonyms(codes), numeric), after, frozenset(carried), last)
    with spool() as rows:
        for row in writing.rows(progress):
            rows.write(row)
        out.write(header_line(STREAM, writing.beginning, writing.head, redacted=True))
        out.writelines(start_rows(writing.beginning))
        rows.seek(0)
        out.writelines(rows)
    return writing.head, dict(codes)


def _begins_late(log: EventLog) -> CannotRedact:
    """A State in which a log begins has names that nothing tells apart from other texts."""
    begins = log.begins_after()
    with log.store.reading() as connection:
        origin = read_origin(connection, log.stream)
    if origin is None:
        return CannotRedact(
            f"the log begins with a state, after position {begins}, in which names cannot be replaced: take"
            f" this window from the whole log instead, with `ganger log export --redact --since {begins}`"
        )
    return CannotRedact(
        f"the log begins with a state, after position {begins} of cluster {origin.parent!r}, in which names"
        f" cannot be replaced: redact the log of that cluster, import it, and fork it at {begins} again"
    )


class _Writing:
    """The second pass: every event rewritten, folded, and given a place in a chain of its own."""

    def __init__(
        self, log: EventLog, redactor: Redactor, after: int, carried: frozenset[int], last: int
    ) -> None:
        self.beginning: Beginning | None = None
        self.head = EMPTY_HEAD
        self._log = log
        self._redactor = redactor
        self._after = after
        self._carried_at = carried
        self._carried: list[bytes] = []
        self._last = last
        self._state = State()
        self._again = Again(self._state, log.of_type(ATTEMPT, until=last))
        self._expected: deque[Payload] = deque()
        self._batch: int | None = None

    def rows(self, progress: Progress | None) -> Iterator[bytes]:
        """The lines of the file for the events after the beginning, which is there once they are read."""
        checker = ChainChecker()
        for stored in self._log.read(0, self._last):
            self._again.look()
            envelope = checker.check(stored)
            written = self._rewritten(stored, envelope.batch)
            made = draft(written, actor=self._actor(envelope.actor), cause=envelope.cause)
            line = encode_line(made, position=stored.position, batch=envelope.batch, at=stored.at)
            self.head = Head(stored.position, chain(self.head.hash, line), stored.at)
            fold(self._state, (CURRENT.event(stored.type, line),))
            if stored.position in self._carried_at:
                self._carried.append(line)
            if stored.position == self._after:
                self.beginning = self._begin()
            if stored.position > self._after:
                yield event_row(self.head.hash, line)
            if progress is not None and stored.position % _PROGRESS_EVERY == 0:
                progress(stored.position)
        if self._expected:
            raise self._differs(self._last)

    def _rewritten(self, stored: StoredEvent, batch: int) -> Payload:
        payload = CURRENT.event(stored.type, stored.line).payload
        redacted = self._redactor.payload(payload)
        if isinstance(payload, GroupAttempted):
            if self._expected:
                raise self._differs(stored.position)
            self._batch = None
            if payload.scheduler != SCHEDULER:
                return redacted
            self._batch = batch
            self._expected = deque(self._again.decisions(read_attempt(stored)))
        elif batch != self._batch:
            if self._expected:
                raise self._differs(stored.position)
            return redacted
        decided = self._expected.popleft() if self._expected else None
        if decided is None or without_texts(decided) != redacted:
            raise self._differs(stored.position)
        return decided

    def _differs(self, position: int) -> CannotRedact:
        return CannotRedact(
            f"position {position}: under pseudonyms this decision comes out otherwise than it was recorded;"
            " see whether `ganger replay` finds it the same"
        )

    def _actor(self, actor: str) -> str:
        return actor if actor in _ACTORS else self._redactor.name(actor)

    def _begin(self) -> Beginning:
        state = StateLine(
            at=self._state.at, format=FORMAT, position=self._after, state=encode_state(self._state)
        )
        return Beginning(self.head, state.line, list(self._carried))
