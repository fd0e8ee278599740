"""Checking a whole log: the chain, the rows' copies of what is in the lines, the head, the indexes."""

from array import array
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

import numpy as np
from sqlalchemy import func, select

from domain.envelope import Envelope, decode_line
from domain.errors import CorruptLog
from store.beginnings import read_beginning
from store.chain import EMPTY_HEAD, ChainChecker, Head, StoredEvent
from store.errors import StoreDamaged
from store.log import EventLog
from store.origins import read_origin
from store.tables import events, objects, streams, subjects

Progress = Callable[[int], None]
"""Told the position reached, now and then."""

_REPORT_EVERY: Final = 10_000


def verify(
    log: EventLog, *, start: Head | None = None, deep: bool = False, progress: Progress | None = None
) -> Head:
    """Check every event after `start` and return the head; without one also where the log begins.

    Each hash is computed again over the bytes as they are kept; positions, batches and times must run on,
    the columns agree with the lines, the head be the last event. `deep` also checks that the index by
    subject has exactly the subjects of the lines; it takes some 64 bytes of memory for each of them.
    Raises CorruptLog at the first wrong position.

    What nobody can see from inside is a log cut short together with its head: compare the head hash with
    one that was noted before.
    """
    claimed, last = _claimed_and_last(log)
    index_from = 0 if start is None else start.position
    carried: Sequence[Envelope] = ()
    if start is None:
        start, carried = _check_beginning(log)
    checker = ChainChecker(start)
    index = _SubjectIndex(log, index_from) if deep else None
    try:
        if index is not None:
            for envelope in carried:
                index.add(envelope)
        for event in log.read(start.position, claimed.position):
            envelope = checker.check(event)
            if index is not None:
                index.add(envelope)
            if progress is not None and event.position % _REPORT_EVERY == 0:
                progress(event.position)
    except StoreDamaged as error:
        raise _damaged(log, checker.head.position, claimed.position, error) from error
    _check_head(checker.head, claimed, last)
    _check_origin(log)
    if index is not None:
        index.check(claimed.position)
    return claimed


def _claimed_and_last(log: EventLog) -> tuple[Head, int]:
    """The head as the stream's row has it, and the last position there is an event at."""
    stream = select(streams.c.id, streams.c.position, streams.c.hash, streams.c.at_us).where(
        streams.c.name == log.stream
    )
    with log.store.reading() as connection:
        row = connection.execute(stream).one_or_none()
        if row is None:
            return EMPTY_HEAD, 0
        last = select(func.max(events.c.position)).where(events.c.stream_id == row.id)
        return Head(row.position, row.hash, row.at_us), connection.execute(last).scalar() or 0


def _check_origin(log: EventLog) -> None:
    """Check that a fork parted from its parent where it says. Raises CorruptLog."""
    with log.store.reading() as connection:
        origin = read_origin(connection, log.stream)
    if origin is None or origin.position == 0:
        return
    for stream in (log, EventLog(log.store, origin.parent)):
        beginning = stream.beginning()
        if beginning is not None and beginning.head.position == origin.position:
            found = beginning.head.hash
        else:
            event = stream.get(origin.position)
            found = b"" if event is None else event.hash
        if found != origin.hash:
            raise CorruptLog(
                f"the fork parted from {origin.parent!r} here, and {stream.stream!r} has another event",
                position=origin.position,
            )


def _check_beginning(log: EventLog) -> tuple[Head, Sequence[Envelope]]:
    """The event before the first, and what the carried ones say. Raises CorruptLog."""
    with log.store.reading() as connection:
        found = read_beginning(connection, log.stream)
    if found is None:
        return EMPTY_HEAD, ()
    beginning, start_hash, carried = found
    head, state = beginning.head, beginning.state
    if (state.position, state.at) != (head.position, head.at):
        raise CorruptLog(
            f"the log begins at a state of position {state.position} and time {state.at}, the row says"
            f" {head.position} and {head.at}",
            position=head.position,
        )
    envelopes = [
        _check_carried(*each) for each in zip(carried, islice(beginning.chained(), 1, None), strict=True)
    ]
    if beginning.start_hash != start_hash:
        raise CorruptLog("the state that the log begins at has another hash", position=head.position)
    return head, envelopes


def _check_carried(event: StoredEvent, chained: tuple[bytes, bytes]) -> Envelope:
    """What the line of a carried event says, which must be what its row says. Raises CorruptLog."""
    line, digest = chained
    if digest != event.hash:
        raise CorruptLog(
            "the hash does not follow from the line and what the log begins with before it",
            position=event.position,
        )
    envelope = decode_line(line)
    if (envelope.position, envelope.kind, envelope.at) != (event.position, event.type, event.at):
        raise CorruptLog("the row says otherwise than the line", position=event.position)
    return envelope


def _check_head(reached: Head, claimed: Head, last: int) -> None:
    if last > claimed.position:
        raise CorruptLog(
            f"the event is beyond the head, which is at {claimed.position}", position=claimed.position + 1
        )
    if reached.position != claimed.position:
        raise CorruptLog(
            f"the head is at {claimed.position}, which is before the start", position=claimed.position
        )
    if reached.hash != claimed.hash:
        raise CorruptLog("the head has another hash than the last event", position=claimed.position)
    if reached.at != claimed.at:
        raise CorruptLog(
            f"the head is of {claimed.at}, the last event of {reached.at}", position=reached.position
        )


def _damaged(log: EventLog, after: int, until: int, error: StoreDamaged) -> CorruptLog:
    """The first event that the database cannot read; pages are read whole, so it is looked for one by one."""
    for position in range(after + 1, until + 1):
        try:
            if log.get(position) is not None:
                continue
        except StoreDamaged:
            pass
        return CorruptLog(f"cannot be read: {error}", position=position)
    return CorruptLog(f"cannot be read: {error}", position=after + 1)


class _SubjectIndex:
    """Collects what the index by subject should have, and compares it with what it has."""

    def __init__(self, log: EventLog, after: int) -> None:
        self._log = log
        self._after = after
        self._positions = array("q")
        self._objects = array("q")
        self._ids = self._read_ids()

    def add(self, envelope: Envelope) -> None:
        """Note the subjects of an event. Raises CorruptLog if one is unknown."""
        for subject in envelope.subjects:
            object_id = self._ids.get(subject)
            if object_id is None:
                raise CorruptLog(f"the index does not know {subject!r}", position=envelope.position)
            self._positions.append(envelope.position)
            self._objects.append(object_id)

    def check(self, until: int) -> None:
        """Compare up to position `until`. Raises CorruptLog at the first position that differs."""
        named = self._count_named()
        if named != (newest := max(self._ids.values(), default=0)):
            raise CorruptLog(f"the stream has named {named} objects, the index {newest}", position=until)
        wanted = _sorted_pairs(self._positions, self._objects)
        found = _sorted_pairs(*self._read_entries(until))
        shorter = min(len(wanted), len(found))
        differs = np.flatnonzero((wanted[:shorter] != found[:shorter]).any(axis=1))
        if len(differs):
            position = int(min(wanted[differs[0], 0], found[differs[0], 0]))
        elif len(wanted) != len(found):
            longer = wanted if len(wanted) > shorter else found
            position = int(longer[shorter, 0])
        else:
            return
        raise CorruptLog("the index by subject does not have the subjects of the line", position=position)

    def _count_named(self) -> int:
        query = select(streams.c.objects).where(streams.c.name == self._log.stream)
        with self._log.store.reading() as connection:
            return connection.execute(query).scalar() or 0

    def _read_ids(self) -> dict[str, int]:
        query = (
            select(objects.c.subject, objects.c.id)
            .join(streams, streams.c.id == objects.c.stream_id)
            .where(streams.c.name == self._log.stream)
        )
        with self._log.store.reading() as connection:
            return {row.subject: row.id for row in connection.execute(query)}

    def _read_entries(self, until: int) -> "tuple[array[int], array[int]]":
        query = (
            select(subjects.c.position, subjects.c.object_id)
            .join(streams, streams.c.id == subjects.c.stream_id)
            .where(
                streams.c.name == self._log.stream,
                subjects.c.position > self._after,
                subjects.c.position <= until,
            )
        )
        positions, object_ids = array("q"), array("q")
        with self._log.store.reading() as connection:
            for position, object_id in connection.execution_options(yield_per=10_000).execute(query):
                positions.append(position)
                object_ids.append(object_id)
        return positions, object_ids


def _sorted_pairs(
    positions: "array[int]", object_ids: "array[int]"
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """(position, object id) in rows of an array of shape (N, 2), in that order."""
    pairs = np.column_stack((np.asarray(positions, dtype=np.int64), np.asarray(object_ids, dtype=np.int64)))
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
