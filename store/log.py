"""The event log of one stream: append, read, history by subject."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, select
from sqlalchemy.exc import DBAPIError

from domain.envelope import Draft
from domain.errors import CorruptLog, Expired, GangerError, PositionConflict
from store.append import Appended, Appending, Batch, Guard, KeyUse
from store.backend import StreamRow
from store.beginnings import Beginning, read_beginning
from store.chain import EMPTY_HEAD, Head, StoredEvent
from store.engine import Store
from store.tables import beginnings, events, idempotency, objects, streams, subjects

PAGE: Final = 1000
"""Events in memory at a time while reading."""

HISTORY_PAGE: Final = 2_000
"""The same for events that lie here and there in the log."""

_LAST_POSITION: Final = 2**63 - 1
"""The greatest that the databases can hold."""

KNOWN_OBJECTS: Final = 1 << 18
"""Objects whose ids are kept in memory; beyond it they are forgotten and looked up again."""

Outcome = Appended | GangerError
"""What became of one of several batches."""

# Statements that are run often are made once: their cache keys are then computed once as well.
_EVENTS = select(events.c.position, events.c.type, events.c.at_us, events.c.line, events.c.hash).where(
    events.c.stream_id == bindparam("stream_id")
)
_IN_ORDER = _EVENTS.order_by(events.c.position)
_TAIL = _IN_ORDER.where(events.c.position > bindparam("after"))
_PAGE = _TAIL.where(events.c.position <= bindparam("until"))
_AT_POSITIONS = _IN_ORDER.where(events.c.position.in_(bindparam("positions", expanding=True)))


class _Scattered(NamedTuple):
    """A page of events that lie here and there in the log, oldest or newest first."""

    forward: Select[int, str, int, bytes, bytes]
    backward: Select[int, str, int, bytes, bytes]


def _scattered(query: Select[int, str, int, bytes, bytes], position: ColumnElement[int]) -> _Scattered:
    """The pages of `query`, which an index finds in the order of `position`."""
    page = query.where(position > bindparam("after"), position <= bindparam("until")).limit(bindparam("size"))
    return _Scattered(page.order_by(position), page.order_by(position.desc()))


_OF_SUBJECT: Final = _scattered(
    _EVENTS.join_from(
        objects,
        subjects,
        and_(subjects.c.stream_id == objects.c.stream_id, subjects.c.object_id == objects.c.id),
    )
    .join(
        events,
        and_(events.c.stream_id == subjects.c.stream_id, events.c.position == subjects.c.position),
    )
    .where(objects.c.subject == bindparam("subject")),
    subjects.c.position,
)
# The type must stand in the statement for the database to see that the partial index serves it.
_OF_TYPE: Final = _scattered(
    _EVENTS.where(events.c.type == bindparam("type", literal_execute=True)), events.c.position
)
_HEAD = select(streams.c.id, streams.c.position, streams.c.hash, streams.c.at_us).where(
    streams.c.name == bindparam("stream")
)


def stream_names(store: Store) -> list[str]:
    """The streams that have events, by name."""
    with store.reading() as connection:
        found = connection.execute(
            select(streams.c.name).where(streams.c.position > 0).order_by(streams.c.name)
        )
        return [name for (name,) in found]


class EventLog:
    """The log of `stream` in `store`. Safe to share between threads; it need not exist yet to be read."""

    def __init__(self, store: Store, stream: str) -> None:
        self.store = store
        self.stream = stream
        self._id: int | None = None
        self._begins: int | None = None
        self._appending = threading.Lock()
        self._head: StreamRow | None = None  # as this log last saw it: a guess, checked when it is used
        self._known: dict[str, int] = {}

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
        """Append `drafts` as one batch, all or nothing, durable on return.

        Each condition that is given must hold at the moment of the append, or nothing is appended:
        the head is `expected` (PositionConflict); the lease is in `epoch` (StaleEpoch); `guard`
        agrees to what was appended after `snapshot_position` (CommitConflict). A key that was used
        before gives the first result, or IdempotencyMismatch if it was for other events.
        """
        batch = Batch(
            drafts=drafts,
            at=at,
            expected=expected,
            idempotency_key=idempotency_key,
            epoch=epoch,
            guard=guard,
            snapshot_position=snapshot_position,
        )
        (outcome,) = self.append_all([batch])
        if isinstance(outcome, GangerError):
            raise outcome
        return outcome

    def append_all(self, batches: Sequence[Batch], *, expected: int | None = None) -> list[Outcome]:
        """Append independent batches in one transaction; each gets its own place or its own error.

        A batch that is refused leaves the others as they are. Raises StoreError, with nothing
        appended, if the transaction fails, and PositionConflict if the head is not `expected`.
        """
        with self._appending:
            try:
                outcomes = self._append_unlocked(batches, expected) or self._append_locked(batches, expected)
            except BaseException:
                self._head = None
                raise
        newest = max((o.last for o in outcomes if isinstance(o, Appended)), default=0)
        if newest:
            self.store.announcements.announce(self.stream, newest)
        return outcomes

    def read(self, after: int = 0, until: int | None = None) -> Iterator[StoredEvent]:
        """The events after `after` up to `until`, or to the head at the call, in order; 0: from the first.

        A page of them is in memory at a time. Raises CorruptLog where a position is missing, Expired
        if the log begins later.
        """
        with self.store.reading() as connection:
            after = self._from_the_beginning(connection, after)
            head = self._head_in(connection).position
            stop = head if until is None else min(until, head)
            page = self._page(connection, after, stop)
        # What is below the head never changes, so pages read one by one are still one state of the log.
        while after < stop:
            gap = _first_gap(page, after, stop)
            if gap is not None:
                yield from page[: gap - after - 1]
                raise CorruptLog("the event is missing", position=gap)
            yield from page
            after = page[-1].position
            if after < stop:
                with self.store.reading() as connection:
                    page = self._page(connection, after, stop)

    def get(self, position: int) -> StoredEvent | None:
        """The event at `position`, None if there is none."""
        return next(iter(self.read_positions([position])), None)

    def read_positions(self, positions: Sequence[int]) -> list[StoredEvent]:
        """The events at `positions`, those that exist, in the order of the log."""
        with self.store.reading() as connection:
            return self._at_positions(connection, positions)

    def history(
        self,
        subject: str,
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[StoredEvent]:
        """The events that concern `subject`, after `after` and up to `until`, at most `limit` of them.

        The cost follows how many they are, not the length of the log.
        """
        yield from self._pages(_OF_SUBJECT, {"subject": subject}, after, until, limit, newest_first)

    def of_type(
        self,
        type: str,  # noqa: A002 — the word of the envelope
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Iterator[StoredEvent]:
        """The events of `type`, as `history` gives those of a subject.

        An index finds `GroupAttempted`; any other type is looked for in the whole range.
        """
        yield from self._pages(_OF_TYPE, {"type": type}, after, until, limit, newest_first)

    def begins_after(self) -> int:
        """The position before the first event: 0, unless the log is a window of a longer one."""
        with self.store.reading() as connection:
            return self._begins_after(connection)

    def beginning(self) -> Beginning | None:
        """The State and the older events with which a window begins; None for a log from position 1."""
        if self.begins_after() == 0:
            return None
        with self.store.reading() as connection:
            found = read_beginning(connection, self.stream)
        return None if found is None else found[0]

    def head(self) -> Head:
        """The newest event; position 0 if there is none."""
        with self.store.reading() as connection:
            return self._head_in(connection)

    def position_at(self, at: int) -> int:
        """The last position whose time is not after `at` (microseconds); that before the first event,
        which is 0 in a whole log, if all are later."""
        with self.store.reading() as connection:
            stream_id = self._stream_id(connection)
            low, high = self._begins_after(connection), self._head_in(connection).position
            while low < high:
                middle = (low + high + 1) // 2
                time = connection.execute(
                    select(events.c.at_us).where(events.c.stream_id == stream_id, events.c.position == middle)
                ).scalar()
                if time is None:
                    raise CorruptLog("the event is missing", position=middle)
                if time <= at:
                    low = middle
                else:
                    high = middle - 1
            return low

    def _append_unlocked(self, batches: Sequence[Batch], expected: int | None) -> list[Outcome] | None:
        """Append on the guess that the head has not moved; None, and nothing appended, if it may have."""
        if self._head is None or expected not in (None, self._head.position):
            return None
        if sum(len(b.drafts) for b in batches) > self.store.backend.unlocked_limit:
            return None
        unwritten, outcomes = self._plan(self._head, batches, self.store.reading)
        if not unwritten or not self.store.write_unlocked(unwritten.rows()):
            return None
        self._remember(unwritten)
        return outcomes

    def _append_locked(self, batches: Sequence[Batch], expected: int | None) -> list[Outcome]:
        with self.store.writing() as connection:
            head = self.store.backend.lock_stream(connection, self.stream)
            if expected is not None and expected != head.position:
                raise PositionConflict(self.stream, expected=expected, head=head.position)
            unwritten, outcomes = self._plan(head, batches, lambda: nullcontext(connection))
            if unwritten:
                self.store.backend.write(connection, unwritten.rows())
        self._remember(unwritten)
        return outcomes

    def _plan(
        self, head: StreamRow, batches: Sequence[Batch], look: "Look"
    ) -> tuple[Appending, list[Outcome]]:
        """What `batches` become at `head`, and each one's outcome if it is written there."""
        self._learn(head, batches, look)
        unwritten = Appending(self.stream, head, self._known, _StoredPast(head.id, look))
        return unwritten, [outcome_of(unwritten, batch) for batch in batches]

    def _learn(self, head: StreamRow, batches: Sequence[Batch], look: "Look") -> None:
        """Look up the ids of those subjects that the stream may have named before and are not known."""
        if len(self._known) > KNOWN_OBJECTS:
            self._known = {}
        if len(self._known) >= head.objects:
            return  # every object of the stream is known, so any other subject is new
        named = {subject for batch in batches for draft in batch.drafts for subject in draft.subjects}
        unknown = sorted(named - self._known.keys())
        if unknown:
            with look() as connection:
                self._known.update(self.store.backend.object_ids(connection, head.id, unknown))

    def _remember(self, unwritten: Appending) -> None:
        """Keep what a committed append taught: a later one need not look it up."""
        self._head = unwritten.head
        self._known.update(unwritten.new_ids)

    def _stream_id(self, connection: Connection) -> int:
        """The stream's id, 0, which none has, if there is no such stream yet."""
        if self._id is None:
            self._id = connection.execute(select(streams.c.id).where(streams.c.name == self.stream)).scalar()
        return self._id or 0

    def _begins_after(self, connection: Connection) -> int:
        if self._begins is None:
            query = (
                select(streams.c.position, beginnings.c.position.label("begin"))
                .join_from(streams, beginnings, beginnings.c.stream_id == streams.c.id, isouter=True)
                .where(streams.c.name == self.stream)
            )
            row = connection.execute(query).one_or_none()
            if row is None or not row.position:
                return 0  # a window may still be imported into it
            self._begins = row.begin or 0
        return self._begins

    def _from_the_beginning(self, connection: Connection, after: int) -> int:
        """`after`, or the position before the first event for 0. Raises Expired if the log begins later."""
        begins = self._begins_after(connection)
        if 0 < after < begins:
            raise before_beginning(after, begins)
        return after or begins

    def _head_in(self, connection: Connection) -> Head:
        row = connection.execute(_HEAD, {"stream": self.stream}).one_or_none()
        if row is None:
            return EMPTY_HEAD
        self._id = row.id
        return Head(row.position, row.hash, row.at_us)

    def _page(self, connection: Connection, after: int, until: int) -> list[StoredEvent]:
        """The next events after `after`, at most `PAGE`, none past `until`."""
        if after >= until:
            return []
        stop = min(until, after + PAGE)
        return _fetch(connection, _PAGE, stream_id=self._stream_id(connection), after=after, until=stop)

    def _at_positions(self, connection: Connection, positions: Sequence[int]) -> list[StoredEvent]:
        return _fetch(
            connection, _AT_POSITIONS, stream_id=self._stream_id(connection), positions=list(positions)
        )

    def _pages(
        self,
        query: _Scattered,
        what: dict[str, str],
        after: int,
        until: int | None,
        limit: int | None,
        newest_first: bool,
    ) -> Iterator[StoredEvent]:
        """What `query` finds, a page at a time; `what` are its parameters beside bounds and size."""
        statement = query.backward if newest_first else query.forward
        low, high = after, _LAST_POSITION if until is None else until
        left = limit
        while left is None or left > 0:
            size = HISTORY_PAGE if left is None else min(HISTORY_PAGE, left)
            with self.store.reading() as connection:
                bounds = {"stream_id": self._stream_id(connection), "after": low, "until": high, "size": size}
                page = _fetch(connection, statement, **what, **bounds)
            yield from page
            if len(page) < size:
                return
            if newest_first:
                high = page[-1].position - 1
            else:
                low = page[-1].position
            left = None if left is None else left - size


def before_beginning(position: int, begins: int) -> Expired:
    """What to say of a `position` that a window does not have, whose first event comes after `begins`."""
    return Expired(f"position {position} is not in the log, which begins after position {begins}")


Look = Callable[[], AbstractContextManager[Connection]]
"""A connection to look something up with."""


class _StoredPast:
    """What is stored of the stream `stream_id`."""

    def __init__(self, stream_id: int, look: Look) -> None:
        self._stream_id = stream_id
        self._look = look

    def key_use(self, key: str) -> KeyUse | None:
        query = (
            select(idempotency.c.first, idempotency.c.last, idempotency.c.digest, events.c.hash)
            .join_from(
                idempotency,
                events,
                and_(events.c.stream_id == idempotency.c.stream_id, events.c.position == idempotency.c.last),
            )
            .where(idempotency.c.stream_id == self._stream_id, idempotency.c.key == key)
        )
        with self._look() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else KeyUse._make(row)

    def tail(self, after: int) -> Sequence[StoredEvent]:
        with self._look() as connection:
            return _fetch(connection, _TAIL, stream_id=self._stream_id, after=after)


def _fetch(
    connection: Connection, query: Select[int, str, int, bytes, bytes], **parameters: object
) -> list[StoredEvent]:
    """The events of `query`.

    Reading a log is bound by what is done for each row: the driver's own tuples become the events, without
    SQLAlchemy's rows in between.
    """
    result = connection.execute(query, parameters)
    driver = connection.dialect.loaded_dbapi
    try:
        rows = result.cursor.fetchall()
    except driver.Error as error:
        raise DBAPIError.instance(None, None, error, driver.Error, dialect=connection.dialect) from error
    result.close()
    return list(map(_as_event, rows))


_as_event: Callable[[Iterable[object]], StoredEvent] = partial(tuple.__new__, StoredEvent)
"""`StoredEvent._make` without its check of the length, at a third of the price."""


def outcome_of(unwritten: Appending, batch: Batch) -> Outcome:
    """What becomes of `batch` as the next one of `unwritten`."""
    try:
        return unwritten.append(batch)
    except GangerError as refusal:
        return refusal


def _first_gap(page: Sequence[StoredEvent], after: int, until: int) -> int | None:
    """The first position that `page`, the events after `after`, should have and has not."""
    size = min(until - after, PAGE)
    if len(page) == size and page[-1].position == after + size:
        return None
    return next((n for n, event in enumerate(page, after + 1) if event.position != n), after + len(page) + 1)
