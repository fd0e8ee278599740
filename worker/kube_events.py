"""Kubernetes Events, read from the log: those of one Pod, and the recent ones of a cluster."""

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from domain.admission.kinds import EVENT, EVENT_OF_GROUP, POD, kind_named
from domain.errors import CorruptLog
from domain.events import Added, Event, GroupAttempted, PodAdded, PodNominated
from domain.kube_events import (
    HOUR,
    KubeEvent,
    OnePod,
    Preemptor,
    Recorder,
    Regarding,
    WholeCluster,
    occurrences,
)
from domain.manifests import read_metadata
from domain.reducer import fold
from domain.times import rfc3339, rfc3339_micro
from domain.upcast import CURRENT
from store.chain import StoredEvent
from worker.cluster import Cluster
from worker.history import attempt_in, events_of

TTL_US = HOUR
"""How long Kubernetes keeps an Event after it last changed (kube-apiserver, --event-ttl)."""

_NAMESPACE = uuid.UUID("6f1d1a5e-2f2b-5b0e-9c57-0d6a5d1f7c11")


def events_about(cluster: Cluster, key: str, *, until: int | None = None) -> list[KubeEvent]:
    """All Events about the Pod `key`, also about earlier ones of that name, up to position `until`.

    What it costs follows from the history of the Pod.
    """
    pod = OnePod(
        key,
        lambda position: attempt_in(cluster.event(position)),
        lambda evicted, position: _preemptor_at(cluster, evicted.preemptor, position),
    )
    recorder = Recorder()
    for event in _decoded(events_of(cluster.log, POD, key, until=until)):
        for occurrence in occurrences(event, pod):
            recorder.record(occurrence)
        pod.move_on(event)
    return recorder.events


def recent_events(cluster: Cluster, *, now: int, until: int | None = None) -> list[KubeEvent]:
    """The Events of the hour before `now` (microseconds), up to position `until`.

    What it costs follows from what happened since the last full hour before that, and from the State
    of then, not from the length of the log.
    """
    head = cluster.log.head().position if until is None else until
    begin = min(head, cluster.log.position_at((now - TTL_US) // HOUR * HOUR - 1))
    state = cluster.state_at(begin)
    world = WholeCluster(state, lambda position: attempt_in(cluster.event(position)))
    recorder = Recorder()
    for event in _decoded(cluster.log.read(begin, head)):
        for occurrence in occurrences(event, world):
            recorder.record(occurrence)
        fold(state, (event,))
    return [event for event in recorder.events if event.last_at > now - TTL_US]


def as_core(event: KubeEvent) -> dict[str, Any]:
    """The Event in `v1`."""
    first = event.first
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": _metadata(event),
        "involvedObject": _pod(first.regarding),
        "reason": first.what.reason,
        "message": first.note,
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "type": first.what.type,
        **_common(event),
        "reportingComponent": first.regarding.scheduler,
        "reportingInstance": _instance(first.regarding),
    }


def as_events_k8s_io(event: KubeEvent) -> dict[str, Any]:
    """The Event in `events.k8s.io/v1`."""
    first = event.first
    return {
        "apiVersion": EVENT_OF_GROUP.api_version,
        "kind": EVENT_OF_GROUP.name,
        "metadata": _metadata(event),
        **_common(event),
        "reportingController": first.regarding.scheduler,
        "reportingInstance": _instance(first.regarding),
        "reason": first.what.reason,
        "regarding": _pod(first.regarding),
        "note": first.note,
        "type": first.what.type,
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    }


def _metadata(event: KubeEvent) -> dict[str, Any]:
    identity = f"{event.first.regarding.uid}/{event.first.position}"
    return {
        "name": event.name,
        "namespace": event.namespace,
        "uid": str(uuid.uuid5(_NAMESPACE, identity)),
        "resourceVersion": str(event.last),
        "creationTimestamp": rfc3339(event.first.at),
    }


def _common(event: KubeEvent) -> dict[str, Any]:
    """The fields that are alike in both versions."""
    shown: dict[str, Any] = {"eventTime": rfc3339_micro(event.first.at)}
    if event.count > 1:
        shown["series"] = {"count": event.count, "lastObservedTime": rfc3339_micro(event.last_at)}
    shown["action"] = event.first.what.action
    if event.first.related is not None:
        shown["related"] = _group(event.first.related)
    return shown


def _instance(regarding: Regarding) -> str:
    return f"{regarding.scheduler}-ganger"


def _pod(regarding: Regarding) -> dict[str, str]:
    return _reference("Pod", regarding.key, regarding.uid, regarding.revision)


def _group(preemptor: Preemptor) -> dict[str, str]:
    kind, _, key = preemptor.subject.partition("/")
    return _reference(kind, key, preemptor.uid, preemptor.attempt)


def _reference(kind: str, key: str, uid: str, revision: int) -> dict[str, str]:
    namespace, _, name = key.partition("/")
    return {
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "uid": uid,
        "apiVersion": kind_named(kind).api_version,
        "resourceVersion": str(revision),
    }


def _preemptor_at(cluster: Cluster, subject: str, position: int) -> Preemptor:
    """What preempts at `position` as `subject`, read backwards from there."""
    node, attempt, key = None, 0, subject.partition("/")[2]
    for event in _decoded(cluster.log.history(subject, until=position, newest_first=True)):
        match event.payload:
            case PodNominated(pod=pod, node=str(hoped_for)) if node is None and f"Pod/{pod}" == subject:
                node = hoped_for
            case GroupAttempted(entity=entity) if not attempt and entity == subject:
                attempt = event.position
            case PodAdded() | Added() as added if added.key == key:
                return Preemptor(subject, read_metadata(added.object).uid, node, attempt)
    raise CorruptLog(f"{subject} preempts, but was never added", position=position)


def _decoded(events: Iterable[StoredEvent]) -> Iterator[Event]:
    return (CURRENT.event(stored.type, stored.line) for stored in events)
