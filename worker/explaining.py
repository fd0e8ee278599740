"""`why`: finds in the log what an explanation needs beside the State, now or at any past position."""

import time
from collections.abc import Iterator
from itertools import takewhile

from msgspec.structs import replace

from domain.admission.kinds import Kind, not_found
from domain.envelope import decode_line
from domain.errors import NotFound
from domain.events import PodEvicted
from domain.explain import attempt_at, explain, explain_deleted, explain_system_class
from domain.explaining.again import Again, tells_more
from domain.explaining.deeper import decided_again, eviction_in_detail
from domain.explaining.findings import Recorded
from domain.explaining.question import Binding, Evicted
from domain.explaining.wording import number_of, pods_named
from domain.explanation import Explanation, Moment
from domain.objects import POD_GROUP, Group, Pod
from domain.state import State
from domain.times import rfc3339_micro
from domain.whathelps.budget import Budget
from domain.whathelps.telling import with_help
from store.chain import StoredEvent
from store.tables import ATTEMPT
from worker.cluster import Cluster
from worker.history import attempt_in, newest_of
from worker.shown import Record, SystemClass, all_visible, record_of, visible_of


def why(
    cluster: Cluster,
    kind: Kind,
    key: str,
    *,
    position: int | None = None,
    now: int | None = None,
    level: int = 1,
    budget: Budget | None = None,
) -> Explanation:
    """Why the object is placed, waits or is gone, as of `position` (None: the newest).

    How much is told follows from `level`; from 2 on the attempt is decided again. With a `budget`, from
    level 1 on, what would help is searched for. Lanes and backoffs are those of the moment `now` in
    microseconds; without it that of the last event, or the present for the newest position. Raises
    NotFound if the log up to there has never held such an object, Expired if it does not reach so far.
    """
    if position is not None:
        state = cluster.state_at(position)
        past = _Past(cluster, state, state.at if now is None else now)
        told = past.why(kind, key)
    else:
        with cluster.lock:
            cluster.refresh()
            state = cluster.state
            past = _Past(cluster, state, cluster.clock.now() if now is None else now)
            told = past.why(kind, key)
            if budget is not None and told.entity is not None:
                state = state.copy()  # the search goes on while others move the cluster on
    told = _again(cluster, told, level)
    if budget is None or not level or told.entity is None:
        return told
    from worker.proving import help_for

    return with_help(told, help_for(cluster, state, kind.name, key, now=past.now, budget=budget))


def until(deadline: float) -> Budget | None:
    """A budget that also ends `deadline` seconds from now; None if that is at once."""
    if deadline <= 0:
        return None
    end = time.monotonic() + deadline
    return Budget(stop=lambda: time.monotonic() >= end)


def _again(cluster: Cluster, told: Explanation, level: int) -> Explanation:
    """`told` with what deciding again at the snapshot of its attempt adds at `level`."""
    if told.before is not None:
        return replace(told, before=_again(cluster, told.before, level))
    if told.attempt is not None and (level > 1 or (level == 1 and tells_more(told))):
        told = decided_again(told, _attempt_again(cluster, told.attempt.position), level)
    if told.evicted is not None and level > 1:
        told = eviction_in_detail(told, _attempt_again(cluster, told.evicted.attempt_position))
    return told


def _attempt_again(cluster: Cluster, position: int) -> Again:
    """The attempt at `position`, ready to be made once more."""
    recorded = _recorded(cluster, position)
    return Again(recorded, cluster.state_at(recorded.attempt.snapshot))


def _recorded(cluster: Cluster, position: int) -> Recorded:
    """The attempt at `position` with what it found, which may stand elsewhere."""
    attempt = attempt_in(cluster.event(position))
    if attempt.same_as is None:
        return Recorded(position, attempt, position, attempt)
    findings = attempt_in(cluster.event(attempt.same_as))
    return Recorded(position, attempt, attempt.same_as, findings)


class _Past:
    """A State, the moment at which it is looked at, and the log up to there."""

    def __init__(self, cluster: Cluster, state: State, now: int) -> None:
        self.cluster = cluster
        self.state = state
        self.now = now

    def why(self, kind: Kind, key: str) -> Explanation:
        """The explanation of an object. Raises NotFound if there never was one."""
        record = record_of(self.state, kind.name, key)
        if record is None:
            return self._gone(kind, key)
        bound = self._bound(record) if isinstance(record, Pod) else None
        binding = None
        if bound is not None and isinstance(record, Pod) and record.node is not None:
            binding = Binding(bound.position, bound.at, record.node)
        attempt = self.attempt(kind, record)
        return explain(
            self.state,
            kind.name,
            key,
            now=self.now,
            attempt=attempt,
            binding=binding,
            eviction=self._eviction(record),
        )

    def _gone(self, kind: Kind, key: str) -> Explanation:
        system = visible_of(self.state, kind.name, key)
        if isinstance(system, SystemClass):
            return explain_system_class(self.state, key, system.body, now=self.now)
        return self._deleted(kind, key)

    def _eviction(self, record: Record) -> Evicted | None:
        """Who preempted a Pod, or a group as a whole, that is marked as disrupted; or the newest victim
        among the members of a PodGroup that runs on below its minimum."""
        if not isinstance(record, Pod | Group):
            return None
        if record.disruption is None and not self._runs_short(record):
            return None
        subject = record.subject if isinstance(record, Pod) else self._first_leaf(record)
        stored = self._newest(PodEvicted.__name__, subject, after=record.arrival)
        if stored is None:
            return None
        event = self.cluster.event(stored.position).payload
        assert isinstance(event, PodEvicted)
        return Evicted(stored.position, event, _recorded(self.cluster, decode_line(stored.line).batch))

    def _runs_short(self, record: Pod | Group) -> bool:
        """Whether it is a PodGroup of which fewer members run than have to for it to start."""
        if isinstance(record, Pod) or record.kind != POD_GROUP:
            return False
        return 0 < len(self.state.members_of(record.key).bound) < record.min_count

    def _first_leaf(self, group: Group) -> str:
        """A subject that the eviction of all Pods of a group concerns."""
        leaves = self.state.leaves_of(group.kind, group.key)
        evicted = [leaf for leaf in leaves if self.state.members_of(leaf).bound]
        return f"PodGroup/{(evicted or leaves or [group.key])[0]}"

    def attempt(self, kind: Kind, record: Record) -> Recorded | None:
        """The attempt that refused an object last, or else the one that placed it."""
        if not isinstance(record, Pod | Group):
            return None
        position = attempt_at(self.state, kind.name, record.key)
        if position is None:
            position = self._placed_by(record) if isinstance(record, Pod) else self._last_of(record)
        return None if position is None else _recorded(self.cluster, position)

    def _placed_by(self, pod: Pod) -> int | None:
        """The attempt that bound `pod`: the first event of the batch."""
        bound = self._bound(pod)
        return None if bound is None else decode_line(bound.line).batch

    def _bound(self, pod: Pod) -> StoredEvent | None:
        """The binding of `pod`; None if it has no node or was created on it."""
        return None if pod.node is None else self._newest("PodBound", pod.subject, after=pod.arrival)

    def _last_of(self, group: Group) -> int | None:
        """The last attempt of a group of which nothing waits: the one that bound its newest Pod."""
        if self.state.entity_with(group.kind, group.key) is not None:
            return None
        leaves = set(self.state.leaves_of(group.kind, group.key))
        placed = [pod for pod in self.state.pods.values() if pod.group in leaves and pod.node is not None]
        if placed:
            position = self._placed_by(max(placed, key=_placed_since))
            if position is not None:
                return position
        found = self._newest(ATTEMPT, group.subject, after=group.arrival)
        return None if found is None else found.position

    def _newest(self, event_type: str, subject: str, *, after: int = 0) -> StoredEvent | None:
        """The newest event of a type among those that concern `subject`."""
        return newest_of(self.cluster.log, event_type, subject, after=after, until=self.state.position)

    def _deleted(self, kind: Kind, key: str) -> Explanation:
        gone = self._newest(f"{kind.name}Deleted", f"{kind.name}/{key}")
        if gone is None:
            raise self._not_found(kind, key)
        last = self._before(gone.position)
        record = record_of(last.state, kind.name, key)
        assert record is not None, "what is deleted was there before"
        attempt = last.attempt(kind, record)
        carried = self.cluster.log.begins_after()
        if attempt is not None and isinstance(record, Group) and attempt.position > carried:
            last = self._before(self._end_of_batch(attempt.position) + 1)
        told = last.why(kind, key)
        return explain_deleted(
            told.object,
            at=Moment(position=self.state.position, time=rfc3339_micro(self.now)),
            position=gone.position,
            gone_us=gone.at,
            before=told,
            attempt=attempt,
        )

    def _before(self, position: int) -> "_Past":
        """The past right before the event at `position`."""
        state = self.cluster.state_at(position - 1)
        return _Past(self.cluster, state, state.at)

    def _end_of_batch(self, position: int) -> int:
        """The last position of the batch that begins at `position`."""
        rest = takewhile(
            lambda stored: decode_line(stored.line).batch == position, self.cluster.log.read(position)
        )
        return position + sum(1 for _ in rest)

    def _not_found(self, kind: Kind, key: str) -> NotFound:
        name = key.rpartition("/")[2]
        begins, ends = self.cluster.log.begins_after(), self.state.position
        text = f"{not_found(kind, name)}: the log has never held it, up to position {ends}"
        if begins:
            text = f"{not_found(kind, name)}: the log, which begins after position {begins}, does not hold it"
        text += "".join(f"; {hint}" for hint in self._hints(kind, key))
        return NotFound(text, name=name, group=kind.group, kind=kind.plural)

    def _hints(self, kind: Kind, key: str) -> Iterator[str]:
        """Who waits for an object that never was, and where there is one of its name."""
        if kind.name == POD_GROUP:
            waiting = [self.state.pods[pod] for pod in self.state.members_of(key).pending]
            if waiting:
                verbs = number_of(len(waiting), "names it and waits", "name it and wait")
                yield f"{pods_named(waiting)} {verbs}"
        if kind.namespaced:
            namespace, _, name = key.partition("/")
            keys = (found.partition("/") for found in all_visible(self.state, kind.name))
            elsewhere = sorted({there for there, _, found in keys if found == name and there != namespace})
            if elsewhere:
                where = number_of(len(elsewhere), "namespace", "namespaces")
                yield f"there is one in {where} {', '.join(elsewhere[:3])}"


def _placed_since(pod: Pod) -> tuple[int, int]:
    return (0 if pod.condition is None else pod.condition.since, pod.arrival)
