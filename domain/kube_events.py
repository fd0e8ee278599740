"""Kubernetes Events as a fold of the log: FailedScheduling, Scheduled and Preempted.

They are stored nowhere: each follows from an event of the log and from the Pod as it was just before.
Sources: kube-scheduler 1.37, failure handler, binding and preemption; client-go, tools/events.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

from msgspec import UNSET

from domain.events import (
    BindingFailed,
    Event,
    GroupAttempted,
    Payload,
    PodAdded,
    PodBound,
    PodDeleted,
    PodEvicted,
    PodNominated,
    PodUpdated,
)
from domain.manifests import PodManifest, Specs, read_pod
from domain.objects import PodSpec
from domain.refusals import SCHEDULER_ERROR, told
from domain.scheduling.texts import GATED_MESSAGE, preempted_by, skipped, successfully_assigned
from domain.state import State
from domain.times import SECOND

HOUR: Final = 3600 * SECOND
"""The longest time over which repeats are counted: those of one hour of the clock are one Event."""

NOTE_BYTES: Final = 1024
_CUT = " ..."
_WHOLE_CLUSTER = "cluster"
"""What stands for the node where a group preempts."""


class What(NamedTuple):
    """What happened, as Events name it."""

    reason: str
    type: str
    action: str


FAILED: Final = What("FailedScheduling", "Warning", "Scheduling")
SCHEDULED: Final = What("Scheduled", "Normal", "Binding")
PREEMPTED: Final = What("Preempted", "Normal", "Preempting")


class Regarding(NamedTuple):
    """The Pod that an Event is about: `revision` is the resourceVersion that the scheduler saw."""

    key: str
    uid: str
    scheduler: str
    revision: int


class Preemptor(NamedTuple):
    """What a Pod had to make room for; `node` is where a single Pod is to go, None for a group.

    `attempt` is the position of the attempt that evicted for it.
    """

    subject: str
    uid: str
    node: str | None
    attempt: int


class Occurrence(NamedTuple):
    """Something that happened once, at a position of the log and a time (microseconds)."""

    position: int
    at: int
    regarding: Regarding
    what: What
    note: str
    related: Preemptor | None = None


@dataclass(frozen=True)
class KubeEvent:
    """An Event: `count` occurrences that are equal but for their time, of an unchanged Pod."""

    first: Occurrence
    last: int
    """The position of the last occurrence."""
    last_at: int
    count: int = 1

    @property
    def namespace(self) -> str:
        return self.first.regarding.key.partition("/")[0]

    @property
    def name(self) -> str:
        """The Pod's name and, in 16 hexadecimal digits, the position of the first occurrence."""
        return f"{self.first.regarding.key.partition('/')[2]}.{self.first.position:016x}"


class World(Protocol):
    """The cluster just before an event of the log, as far as Events are about it."""

    def pod(self, key: str) -> Regarding | None:
        """The Pod of this key; None if nothing is asked about it, or it does not exist."""
        ...

    def preemptor(self, evicted: PodEvicted, position: int) -> Preemptor:
        """What the Pod that is evicted at `position` makes room for."""
        ...

    def findings(self, attempt: GroupAttempted) -> GroupAttempted:
        """The attempt that holds what `attempt` found."""
        ...


def occurrences(event: Event, world: World) -> Iterator[Occurrence]:
    """What `event` means for Pods of `world`, in the words of Kubernetes."""
    position, at = event.position, event.at
    match event.payload:
        case GroupAttempted() as attempt:
            for key, note in notes(world.findings(attempt)):
                if (pod := world.pod(key)) is not None:
                    yield Occurrence(position, at, pod, FAILED, cut(note))
        case PodBound(pod=key, node=node):
            if (pod := world.pod(key)) is not None:
                yield Occurrence(position, at, pod, SCHEDULED, successfully_assigned(key, node))
        case BindingFailed(pod=key, message=message):
            if (pod := world.pod(key)) is not None:
                yield Occurrence(position, at, pod, FAILED, cut(message))
        case PodEvicted(pod=key) as evicted:
            if (pod := world.pod(key)) is not None:
                by = world.preemptor(evicted, position)
                kind = by.subject.partition("/")[0].lower()
                note = preempted_by(kind, by.uid, _WHOLE_CLUSTER if by.node is None else by.node)
                yield Occurrence(position, at, pod, PREEMPTED, note, by if by.node is None else None)


def notes(findings: GroupAttempted) -> Iterator[tuple[str, str]]:
    """Every Pod that an attempt with these findings left without a node, and what its Event says."""
    for key in findings.skipped:
        yield key, skipped(key)
    for keys, _, message in told(findings):
        for key in keys:
            yield key, message


def cut(note: str) -> str:
    """`note` in at most NOTE_BYTES bytes."""
    encoded = note.encode()
    if len(encoded) <= NOTE_BYTES:
        return note
    return encoded[: NOTE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT


class Recorder:
    """Folds occurrences into Events.

    Repeats count as one Event while the Pod has not changed, as those of a cluster do, and within one
    hour of the clock: so Events do not depend on where in the log one begins to read.
    """

    def __init__(self) -> None:
        self._events: dict[tuple[object, ...], KubeEvent] = {}

    def record(self, occurrence: Occurrence) -> None:
        """Take an occurrence that comes after all others."""
        seen = (*occurrence[2:], occurrence.at // HOUR)
        event = self._events.get(seen)
        if event is None:
            self._events[seen] = KubeEvent(occurrence, occurrence.position, occurrence.at)
        else:
            self._events[seen] = replace(
                event, last=occurrence.position, last_at=occurrence.at, count=event.count + 1
            )

    @property
    def events(self) -> list[KubeEvent]:
        """All Events, by their first occurrence."""
        return list(self._events.values())


class WholeCluster:
    """The World that is all of `state`; `attempt_at` reads an earlier attempt of the log."""

    def __init__(self, state: State, attempt_at: Callable[[int], GroupAttempted]) -> None:
        self._state = state
        self._attempt_at = attempt_at

    def pod(self, key: str) -> Regarding | None:
        """The Pod of this key."""
        pod = self._state.pods.get(key)
        if pod is None:
            return None
        return Regarding(key, pod.uid, pod.spec.scheduler, pod.revision)

    def preemptor(self, evicted: PodEvicted, position: int) -> Preemptor:
        """The entity, with the node that it is nominated to if it is a Pod."""
        kind, _, key = evicted.preemptor.partition("/")
        attempt = self._state.queue.entities[evicted.preemptor].last_attempt
        if kind == "Pod":
            pod = self._state.pods[key]
            return Preemptor(evicted.preemptor, pod.uid, pod.nominated, attempt)
        return Preemptor(evicted.preemptor, self._state.groups_of(kind)[key].uid, None, attempt)

    def findings(self, attempt: GroupAttempted) -> GroupAttempted:
        """The attempt that holds what `attempt` found."""
        return attempt if attempt.same_as is None else self._attempt_at(attempt.same_as)


class OnePod:
    """The World of one Pod that its own events tell of, in the order of the log.

    What a tree says of itself once it has been incomplete for long is not among them: after that, the
    resourceVersion may be an older one than that of the whole cluster.

    `attempt_at` reads an earlier attempt; `preemptor_at` says what it made room for at a position.
    """

    def __init__(
        self,
        key: str,
        attempt_at: Callable[[int], GroupAttempted],
        preemptor_at: Callable[[PodEvicted, int], Preemptor],
    ) -> None:
        self._key = key
        self._attempt_at = attempt_at
        self._found: dict[int, GroupAttempted] = {}
        self._preemptor_at = preemptor_at
        self._specs = Specs()
        self._pod: Regarding | None = None
        self._refused: list[str] | None = None
        """Reason and message of its condition PodScheduled where that is False."""

    def pod(self, key: str) -> Regarding | None:
        """The Pod, if it is the one."""
        return self._pod if key == self._key else None

    def preemptor(self, evicted: PodEvicted, position: int) -> Preemptor:
        """What the Pod makes room for."""
        return self._preemptor_at(evicted, position)

    def findings(self, attempt: GroupAttempted) -> GroupAttempted:
        """The attempt that holds what `attempt` found."""
        if attempt.same_as is None:
            return attempt
        if attempt.same_as not in self._found:
            self._found = {attempt.same_as: self._attempt_at(attempt.same_as)}
        return self._found[attempt.same_as]

    def move_on(self, event: Event) -> None:
        """Take `event` into account: what the Pod is like after it."""
        position = event.position
        match event.payload:
            case PodAdded() as added:
                manifest = read_pod(added.object)
                spec = self._spec(manifest)
                self._pod = Regarding(self._key, manifest.metadata.uid, spec.scheduler, position)
                gated = bool(spec.gates) and added.node is None
                self._refused = ["SchedulingGated", GATED_MESSAGE] if gated else None
            case PodUpdated(object=changed) if changed is not UNSET and self._pod is not None:
                spec = self._spec(read_pod(changed))
                self._pod = self._pod._replace(scheduler=spec.scheduler, revision=position)
            case PodDeleted():
                self._pod = None
            case GroupAttempted() as attempt:
                self._tried(self.findings(attempt), position)
            case payload if _changes(payload, self._key):
                self._changed(position)
                if isinstance(payload, PodBound):
                    self._refused = None
                elif isinstance(payload, BindingFailed):
                    self._refused = [SCHEDULER_ERROR, payload.message]

    def _tried(self, findings: GroupAttempted, position: int) -> None:
        for keys, *refused in told(findings):
            if self._key in keys and refused != self._refused:
                self._refused = refused
                self._changed(position)

    def _changed(self, position: int) -> None:
        if self._pod is not None:
            self._pod = self._pod._replace(revision=position)

    def _spec(self, manifest: PodManifest) -> PodSpec:
        return self._specs.read(manifest)


def _changes(payload: Payload, key: str) -> bool:
    """Whether `payload` is about the Pod `key` itself."""
    match payload:
        case PodUpdated():
            return payload.key == key
        case PodBound() | PodNominated() | PodEvicted() | BindingFailed():
            return payload.pod == key
        case _:
            return False
