"""What if: two forks of a cluster, one of them changed, run side by side until all is at rest."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from domain.errors import BadRequest, Expired
from domain.events import (
    BindingFailed,
    Event,
    PodAdded,
    PodBound,
    PodDeleted,
    PodEvicted,
    PodGroupAdded,
    PodGroupDeleted,
    PodGroupUpdated,
    PodUpdated,
)
from domain.explain import explain
from domain.explanation import Fate, Moment
from domain.objects import POD_GROUP, Pod
from domain.queue import Lane
from domain.state import State
from domain.times import rfc3339_micro
from store.errors import StreamNotEmpty
from store.log import EventLog
from worker import moments
from worker.batch import Outcome
from worker.cluster import CLUSTER_NAME, CLUSTER_NAME_RULE, Cluster
from worker.forks import Fork, Pace, advance_together, forks_of, keep
from worker.windows import end_of_batch

DEADLINE_S = 30.0
"""How long it may take, if nothing else is said."""

Change = Callable[[Cluster], Sequence[Outcome]]
"""Makes the changes in the cluster that it is given."""


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all parts of an answer. Times are RFC 3339 with microseconds."""


class Eviction(Part, frozen=True, kw_only=True):
    """A Pod that had to make room for the entity `preemptor`."""

    pod: str
    preemptor: str
    time: str


class Course(Part, frozen=True, kw_only=True):
    """What became of a group or a single Pod in one fork.

    `pods` have not ended, `bound` of them are on nodes. `started` is when the first of its Pods got
    a node in the fork, `waited_us` how long after it began to wait. `nodes` are where its Pods are,
    or were when they ended.
    """

    verdict: str
    pods: int
    bound: int
    started: str | None
    waited_us: int | None
    nodes: dict[str, str]
    evicted: tuple[Eviction, ...]


class Divergence(Part, frozen=True, kw_only=True):
    """A group or single Pod with another course; None where there is none such."""

    entity: str
    without: Course | None
    changed: Course | None = msgspec.field(name="with")


class Elsewhere(Part, frozen=True, kw_only=True):
    """A Pod that is not where the log has it; None for no node."""

    pod: str
    log: str | None
    again: str | None


class Recorded(Part, frozen=True, kw_only=True):
    """How the unchanged fork compares with what the log holds after the fork, up to its end.

    `requests` were made again in it. The changed fork dropped `dropped` of them, which made no sense
    there any more. `elsewhere` are Pods that are on another node than in the log.
    """

    until: Moment
    requests: int
    dropped: int
    elsewhere: tuple[Elsewhere, ...]


class WhatIf(Part, frozen=True, kw_only=True):
    """What a change makes of a cluster as of `fork`, in virtual time up to `until`.

    `complete` is false if the deadline cut it off. `compared` counts the groups and single Pods to
    which anything happened in either fork. `recorded` is None for a fork of the present.
    """

    fork: Moment
    until: str
    complete: bool
    changes: tuple[str, ...]
    recorded: Recorded | None
    compared: int
    differences: tuple[Divergence, ...]

    @property
    def same(self) -> bool:
        """Whether the change makes no difference to any group or Pod."""
        return not self.differences


def whatif(
    parent: Cluster,
    change: Change,
    *,
    at: moments.Moment | None = None,
    span_us: int | None = None,
    deadline_s: float = DEADLINE_S,
    save: str | None = None,
) -> WhatIf:
    """What `change` would have come to from the moment `at` (None: now) on, beside what comes without it.

    What the log holds after that moment is asked for again in both forks. Events that were appended
    together stay together: a moment amid them is the one after them. They run for `span_us`
    microseconds, or until all is at rest. Nothing is appended to the log of `parent`; with `save` the
    changed fork is kept as a stream of that name. Raises Expired for the future, StreamNotEmpty, BadRequest
    for a name that no cluster can have, and whatever `change` raises.
    """
    ends = time.monotonic() + deadline_s
    head = parent.log.head()
    if save is not None:
        _check_unused(parent, save)
    moment = at or moments.Moment(head.position, max(parent.clock.now(), head.at))
    if moment.position > head.position:
        raise Expired(f"position {moment.position} is in the future: the log ends at {head.position}")
    moment = moment._replace(position=end_of_batch(parent.log, moment.position))
    without, changed = forks = forks_of(parent, moment, 2, head=head.position)
    courses = [_Courses(fork) for fork in forks]
    start = without.clock.now()
    outcomes = change(changed.cluster)
    until = None if span_us is None else start + span_us

    def late() -> bool:
        return time.monotonic() > ends

    recorded = None
    complete = True
    if moment.position < head.position:
        stop = head.at if until is None else min(head.at, until)
        pace = Pace(parent.log, moment.position, head.position)
        complete = advance_together(forks, pace=pace, until=stop, late=late)
        recorded = _recorded(parent, forks, stop)
    complete = complete and advance_together(forks, until=until, late=late)
    found, compared = _differences(*courses)
    if save is not None:
        keep(changed, save)
    return WhatIf(
        fork=Moment(position=moment.position, time=rfc3339_micro(start)),
        until=rfc3339_micro(max(fork.clock.now() for fork in forks)),
        complete=complete,
        changes=tuple(_told(outcome) for outcome in outcomes),
        recorded=recorded,
        compared=compared,
        differences=tuple(found),
    )


def _check_unused(parent: Cluster, name: str) -> None:
    """Raise BadRequest or StreamNotEmpty before anything is run for it."""
    if not CLUSTER_NAME.fullmatch(name):
        raise BadRequest(f'save: Invalid value: "{name}": {CLUSTER_NAME_RULE}')
    position = EventLog(parent.log.store, name).head().position
    if position:
        raise StreamNotEmpty(name, position)


def _told(outcome: Outcome) -> str:
    return f"{outcome.kind.name}{f'/{outcome.key}' if outcome.key else ''} {outcome.change}"


def _recorded(parent: Cluster, forks: Sequence[Fork], stop: int) -> Recorded:
    """How the first of `forks` compares with the log of `parent` as of the moment `stop`."""
    without, changed = forks
    position = parent.log.position_at(stop)
    log = parent.state_at(position)
    return Recorded(
        until=Moment(position=position, time=rfc3339_micro(stop)),
        requests=without.requests.made,
        dropped=changed.requests.dropped - without.requests.dropped,
        elsewhere=tuple(_elsewhere(log, without.state, stop)),
    )


def _elsewhere(log: State, again: State, now: int) -> Iterator[Elsewhere]:
    """Pods that are elsewhere again; those that the log has yet to try, or that end there, tell nothing."""
    for key, pod in sorted(log.pods.items()):
        if pod.deletion is not None or log.lane_of(pod, now) is Lane.ACTIVE:
            continue
        here = again.pods.get(key)
        if here is None or here.node != pod.node:
            yield Elsewhere(pod=key, log=pod.node, again=None if here is None else here.node)


def _differences(without: "_Courses", changed: "_Courses") -> tuple[list[Divergence], int]:
    """The entities with different courses, and how many were compared."""
    entities = sorted(without.concerned() | changed.concerned())
    pairs = ((entity, without.of(entity), changed.of(entity)) for entity in entities)
    found = [
        Divergence(entity=entity, without=left, changed=right)
        for entity, left, right in pairs
        if left != right
    ]
    return found, len(entities)


class _Courses:
    """Follows a fork from its beginning: what becomes of whom."""

    def __init__(self, fork: Fork) -> None:
        self._fork = fork
        self._began: dict[str, int] = {}
        self._started: dict[str, int] = {}
        self._nodes: dict[str, dict[str, str]] = {}
        self._evicted: dict[str, list[Eviction]] = {}
        self._touched: set[str] = set()
        for pod in _waiting(fork.state):
            self._begin(_entity(pod.group, pod.key), pod.queued_us)
        fork.cluster.listen(self._observe)

    def concerned(self) -> set[str]:
        """Every entity that waits, or to which something has happened."""
        return self._touched | {_entity(pod.group, pod.key) for pod in _waiting(self._fork.state)}

    def of(self, entity: str) -> Course | None:
        """What became of `entity` so far; None if there has been no such thing."""
        state, now = self._fork.state, self._fork.clock.now()
        kind, _, key = entity.partition("/")
        exists = key in (state.groups if kind == POD_GROUP else state.pods)
        pods = _pods(state, kind, key)
        if not (exists or pods or entity in self._touched):
            return None
        if exists:
            verdict = explain(state, kind, key, now=now).verdict
        else:
            verdict = Fate.GATED if pods else Fate.DELETED
        bound = {pod.key: pod.node for pod in pods if pod.node is not None}
        started, began = self._started.get(entity), self._began.get(entity)
        return Course(
            verdict=str(verdict),
            pods=len(pods),
            bound=len(bound),
            started=None if started is None else rfc3339_micro(started),
            waited_us=None if started is None or began is None else started - began,
            nodes=dict(sorted((self._nodes.get(entity, {}) | bound).items())),
            evicted=tuple(self._evicted.get(entity, ())),
        )

    def _observe(self, _: State, events: Iterable[Event]) -> None:
        for event in events:
            match event.payload:
                case PodAdded() as added:
                    self._begin(_entity(added.group, added.key), event.at)
                case PodUpdated() | PodDeleted() as changed:
                    self._touch(changed.group, changed.key)
                case PodGroupAdded() | PodGroupUpdated() | PodGroupDeleted() as group:
                    self._touch(group.key, "")
                case PodBound() as bound:
                    entity = self._touch(bound.group, bound.pod)
                    self._started.setdefault(entity, event.at)
                    self._nodes.setdefault(entity, {})[bound.pod] = bound.node
                case BindingFailed() as failed:
                    self._nodes.get(self._touch(failed.group, failed.pod), {}).pop(failed.pod, None)
                case PodEvicted() as evicted:
                    entity = self._touch(evicted.group, evicted.pod)
                    self._nodes.get(entity, {}).pop(evicted.pod, None)
                    self._evicted.setdefault(entity, []).append(
                        Eviction(pod=evicted.pod, preemptor=evicted.preemptor, time=rfc3339_micro(event.at))
                    )

    def _begin(self, entity: str, at: int) -> None:
        self._touched.add(entity)
        self._began[entity] = min(at, self._began.get(entity, at))

    def _touch(self, group: str | None, pod: str) -> str:
        entity = _entity(group, pod)
        self._touched.add(entity)
        return entity


def _entity(group: str | None, pod: str) -> str:
    return f"Pod/{pod}" if group is None else f"{POD_GROUP}/{group}"


def _pods(state: State, kind: str, key: str) -> list[Pod]:
    """The Pods of an entity that have not ended."""
    if kind != POD_GROUP:
        pod = state.pods.get(key)
        return [] if pod is None or pod.terminal else [pod]
    members = state.members_of(key)
    return [state.pods[each] for keys in (members.pending, members.bound, members.foreign) for each in keys]


def _waiting(state: State) -> Iterator[Pod]:
    for entity in state.queue.entities.values():
        yield from state.pending_of(entity)
