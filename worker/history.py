"""The history of an object: every event and attempt that concerns it, in order, also after it is gone.

What it costs follows from the events of the object, not from the length of the log.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from domain.admission.kinds import COMPOSITE_POD_GROUP, POD, POD_GROUP, Kind
from domain.envelope import decode_line
from domain.errors import CorruptLog
from domain.events import (
    BindingFailed,
    Event,
    GroupAttempted,
    Payload,
    PodAdded,
    PodBound,
    PodDeleted,
    PodUpdated,
)
from domain.manifests import read_pod, read_status
from domain.objects import TERMINAL_PHASES
from domain.summaries import summary_of
from domain.times import rfc3339_micro
from domain.upcast import CURRENT
from store.chain import StoredEvent
from store.log import EventLog
from store.tables import ATTEMPT
from worker.cluster import Cluster


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event in the history of an object; `summary` is one line of plain English.

    `at` is RFC 3339. The rest is as in the log.
    """

    position: int
    at: str
    type: str
    summary: str
    actor: str
    cause: int | None
    batch: int
    subjects: tuple[str, ...]
    payload: msgspec.Raw


def history(
    cluster: Cluster,
    kind: Kind,
    key: str,
    *,
    after: int = 0,
    limit: int | None = None,
    since: int | None = None,
    until: int | None = None,
) -> Iterator[Entry]:
    """What concerns the object, after position `after`, at most `limit` entries.

    `since` and `until` are moments in microseconds, both included. An object that never was has no
    entries. Attempts of its group concern a Pod while it waits as a member.
    """
    if since is not None:
        after = max(after, cluster.log.position_at(since - 1))
    last = None if until is None else cluster.log.position_at(until)
    events = events_of(cluster.log, kind, key, after=after, until=last, limit=limit)
    yield from entries(events, f"{kind.name}/{key}", cluster.event)


def entries(events: Iterable[StoredEvent], subject: str, event_at: Callable[[int], Event]) -> Iterator[Entry]:
    """`events` as entries in the history of `subject`; `event_at` reads another event of the log."""
    findings: dict[int, GroupAttempted] = {}
    for stored in events:
        yield _entry(stored, subject, event_at, findings)


def events_of(
    log: EventLog,
    kind: Kind,
    key: str,
    *,
    after: int = 0,
    until: int | None = None,
    limit: int | None = None,
) -> Iterator[StoredEvent]:
    """The events of an object's history as they are kept, after `after` up to position `until`, at most
    `limit` of them."""
    subject = f"{kind.name}/{key}"
    if kind in (POD_GROUP, COMPOSITE_POD_GROUP):
        return islice(_of_group(log, subject, after=after, until=until), limit)
    if kind is not POD:
        return log.history(subject, after=after, until=until, limit=limit)
    own = list(log.history(subject, until=until))
    attempts = (
        attempt for wait in _waits(own) for attempt in _attempts_during(log, wait, after=after, until=until)
    )
    return islice(heapq.merge((event for event in own if event.position > after), attempts), limit)


class _Wait(NamedTuple):
    """A time during which a Pod waits as a member of `group`: after position `start`, before `end`
    (None: it goes on)."""

    group: str
    start: int
    end: int | None


def _waits(own: Iterable[StoredEvent]) -> Iterator[_Wait]:
    """When a Pod with the events `own` waited as a member of a group."""
    wait: _Wait | None = None
    for stored in own:
        payload = CURRENT.event(stored.type, stored.line).payload
        match payload:
            case PodAdded(group=str(group), node=None) | BindingFailed(group=str(group)):
                wait = _Wait(group, stored.position, None)
            case _ if wait is not None and _ends_wait(payload):
                yield wait._replace(end=stored.position)
                wait = None
    if wait is not None:
        yield wait


def _ends_wait(payload: Payload) -> bool:
    if isinstance(payload, PodUpdated):
        phase = "Pending"
        if payload.object is not UNSET:
            phase = read_pod(payload.object).status.phase
        elif payload.status is not UNSET:
            phase = read_status(payload.status).phase
        return payload.node is not None or phase in TERMINAL_PHASES
    return isinstance(payload, PodBound | PodDeleted)


def _attempts_during(log: EventLog, wait: _Wait, *, after: int, until: int | None) -> Iterator[StoredEvent]:
    """The attempts in which a Pod was that waited as `wait`, between two positions."""
    last = min((end for end in (wait.end, until) if end is not None), default=None)
    for stored in _of_group(log, f"PodGroup/{wait.group}", after=max(after, wait.start), until=last):
        if stored.type == ATTEMPT and attempt_of(stored).snapshot >= wait.start:
            yield stored


def _of_group(log: EventLog, subject: str, *, after: int, until: int | None) -> Iterator[StoredEvent]:
    """The events of a group, with the attempts of its root that found the same as one before: these do not
    name the groups of the tree again."""
    own = list(log.history(subject, until=until))
    found: dict[str, set[int]] = {}
    for stored in own:
        if stored.type == ATTEMPT and (entity := attempt_of(stored).entity) != subject:
            found.setdefault(entity, set()).add(stored.position)
    again = [
        [
            stored
            for stored in log.history(entity, after=min(positions), until=until)
            if stored.type == ATTEMPT and attempt_of(stored).same_as in positions
        ]
        for entity, positions in found.items()
    ]
    return (event for event in heapq.merge(own, *again) if event.position > after)


def newest_of(log: EventLog, kind: str, subject: str, *, after: int = 0, until: int) -> StoredEvent | None:
    """The newest event of type `kind` that concerns `subject`, after `after` up to position `until`."""
    concerning = log.history(subject, after=after, until=until, newest_first=True)
    return next((stored for stored in concerning if stored.type == kind), None)


def attempt_of(stored: StoredEvent) -> GroupAttempted:
    """The attempt that `stored` is. Raises CorruptLog if it is none."""
    return attempt_in(CURRENT.event(stored.type, stored.line))


def _entry(
    stored: StoredEvent,
    subject: str,
    event_at: Callable[[int], Event],
    findings: dict[int, GroupAttempted],
) -> Entry:
    """The entry of `stored`; `findings` keeps the attempts that others refer to, by position."""
    envelope = decode_line(stored.line)
    payload = CURRENT.event(stored.type, stored.line).payload
    found = None
    if isinstance(payload, GroupAttempted) and payload.same_as is not None:
        found = findings.get(payload.same_as)
        if found is None:
            found = findings[payload.same_as] = attempt_in(event_at(payload.same_as))
    return Entry(
        position=stored.position,
        at=rfc3339_micro(stored.at),
        type=stored.type,
        summary=summary_of(payload, subject, found),
        actor=envelope.actor,
        cause=envelope.cause,
        batch=envelope.batch,
        subjects=envelope.subjects,
        payload=envelope.payload,
    )


def attempt_in(event: Event) -> GroupAttempted:
    """The attempt that `event` is. Raises CorruptLog if it is none."""
    if not isinstance(event.payload, GroupAttempted):
        raise CorruptLog(f"{type(event.payload).__name__} is no attempt", position=event.position)
    return event.payload
