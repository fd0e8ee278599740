"""Windows: the beginning of a log that is to hold only what came after some position.

Beside the State it carries the older events that questions about the objects in it lead to: their
manifests, their bindings, and the attempts that placed or refused them last.
"""

from collections.abc import Iterator

from domain.admission.kinds import KINDS
from domain.envelope import decode_line
from domain.explain import attempt_at
from domain.objects import Group, Pod
from domain.queue import Entity
from domain.state import FORMAT, State, encode_state
from store.beginnings import Beginning, StateLine
from store.chain import Head, StoredEvent
from store.log import EventLog
from store.tables import ATTEMPT
from worker.cluster import Cluster
from worker.history import attempt_of, newest_of
from worker.shown import Record, records_of

AT_A_TIME = 500
"""How many events are read by one query."""


def beginning_at(cluster: Cluster, position: int) -> Beginning | None:
    """Where a window begins whose first event comes after `position`; None for the whole log.

    What was appended together stays together: the window may begin some events earlier. Raises
    Expired if the log does not reach so far, or back.
    """
    start = start_of_batch(cluster.log, position)
    if start == 0:
        return None
    state = cluster.state_at(start)
    own = cluster.log.beginning()
    if own is not None and own.head.position == start:
        return own
    stored = cluster.log.get(start)
    assert stored is not None, "a State has a last event"
    begins = StateLine(at=stored.at, format=FORMAT, position=start, state=encode_state(state))
    carried = [event.line for event in _events_at(cluster.log, carried_positions(cluster.log, state))]
    return Beginning(Head(start, stored.hash, stored.at), begins.line, carried)


def start_of_batch(log: EventLog, position: int) -> int:
    """The last position up to `position` with which a batch ends."""
    following = log.get(position + 1)
    return position if following is None else decode_line(following.line).batch - 1


def end_of_batch(log: EventLog, position: int) -> int:
    """The first position from `position` on with which a batch ends."""
    for stored in log.read(position):
        if decode_line(stored.line).index == 0:
            return stored.position - 1
    return max(position, log.head().position)


def _events_at(log: EventLog, positions: list[int]) -> Iterator[StoredEvent]:
    for start in range(0, len(positions), AT_A_TIME):
        yield from log.read_positions(positions[start : start + AT_A_TIME])


def carried_positions(log: EventLog, state: State) -> list[int]:
    """The positions of the events up to that of `state` that a question about its objects needs."""
    found: set[int] = set()
    for kind in KINDS:
        for record in records_of(state, kind.name).values():
            found.add(record.manifest)
            found.add(record.arrival)
            found |= _decisions_about(log, state, record)
    for entity in state.queue.entities.values():
        found |= _attempts_of(entity)
    found.discard(0)
    attempts = [event for event in _events_at(log, sorted(found)) if event.type == ATTEMPT]
    for event in attempts:
        same_as = attempt_of(event).same_as
        if same_as is not None:
            found.add(same_as)
    return sorted(found)


def _attempts_of(entity: Entity) -> set[int]:
    return {entity.last_attempt, entity.findings_at}


def _decisions_about(log: EventLog, state: State, record: Record) -> set[int]:
    """The binding of a Pod with its attempt, the last attempt of a group."""
    if isinstance(record, Pod):
        if record.node is None:
            position = attempt_at(state, "Pod", record.key)
            return set() if position is None else {position}
        bound = newest_of(log, "PodBound", record.subject, after=record.arrival, until=state.position)
        return set() if bound is None else {bound.position, decode_line(bound.line).batch}
    if isinstance(record, Group):
        attempt = newest_of(log, ATTEMPT, record.subject, after=record.arrival, until=state.position)
        return set() if attempt is None else {attempt.position}
    return set()
