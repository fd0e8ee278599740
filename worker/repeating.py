"""The requests in a log, made again where something else has happened since.

What users asked for, and what came from outside, is asked for again at its time. What scheduler and
kubelet made of it is left out: they do so again, and maybe otherwise.
"""

from collections.abc import Iterator
from typing import Any, assert_never

import msgspec
from msgspec import UNSET

from domain import events as ev
from domain.admission.kinds import POD, kind_named
from domain.envelope import canonical, decode_line
from domain.events import Payload
from domain.objects import TERMINAL_PHASES, Pod, Standing
from domain.state import State
from domain.upcast import CURRENT
from store.chain import StoredEvent
from store.log import EventLog
from worker import kubelet
from worker.batch import Batch
from worker.cluster import SCHEDULER, Cluster
from worker.shown import record_of


class Requests:
    """The requests in `log` after position `after` up to `until`, to be made again in the order of the log.

    `made` counts those that were, `dropped` those that made no sense any more, such as changes of an
    object which is gone.
    """

    def __init__(self, log: EventLog, after: int, until: int) -> None:
        self._events = _asked(log, after, until)
        self._next = next(self._events, None)
        self.made = 0
        self.dropped = 0

    @property
    def next_due(self) -> int | None:
        """The time of the next one in microseconds; None if there is none left."""
        return None if self._next is None else self._next.at

    @property
    def next_position(self) -> int | None:
        """Where the next one stands in the log; None if there is none left."""
        return None if self._next is None else self._next.position

    def repeat(self, cluster: Cluster) -> None:
        """Make the next one, if there is one."""
        stored = self._next
        if stored is None:
            return
        self._next = next(self._events, None)
        batch = cluster.new_batch()
        if _ask(batch, cluster.state, CURRENT.event(stored.type, stored.line).payload):
            self.made += 1
        else:
            self.dropped += 1
        if batch.payloads:
            cluster.append(batch.payloads, actor=decode_line(stored.line).actor)


def _asked(log: EventLog, after: int, until: int) -> Iterator[StoredEvent]:
    own = (SCHEDULER, kubelet.ACTOR)
    return (stored for stored in log.read(after, until) if decode_line(stored.line).actor not in own)


def _ask(batch: Batch, state: State, payload: Payload) -> bool:
    """Put into `batch` what `payload` asks for; whether that makes sense in `state`."""
    match payload:
        case ev.SchedulerConfigured():
            batch.payloads.append(payload)
            return True
        case ev.PodAdded() | ev.Added():
            if record_of(state, ev.kind_of(payload), payload.key) is not None:
                return False
            batch.payloads.append(payload)
            return True
        case ev.PodUpdated() | ev.Updated() if payload.deletion is not None:
            return _delete(batch, state, payload, payload.deletion.grace)
        case ev.PodDeleted() | ev.Deleted():
            return _delete(batch, state, payload, None)
        case ev.PodUpdated():
            pod = state.pods.get(payload.key)
            return pod is not None and _update_pod(batch, state, pod, payload)
        case ev.Updated():
            record = record_of(state, ev.kind_of(payload), payload.key)
            if record is None or record.uid != _uid_in(payload.object):
                return False
            batch.payloads.append(payload)
            return True
        case ev.BindingFailed():
            pod = state.pods.get(payload.pod)
            if pod is None or (pod.uid, pod.node) != (payload.uid, payload.node):
                return False
            batch.payloads.append(payload)
            return True
        case ev.GroupAttempted() | ev.PodBound() | ev.PodNominated() | ev.PodEvicted():
            return False  # decided elsewhere and written by somebody else
        case unknown:
            assert_never(unknown)


def _delete(
    batch: Batch,
    state: State,
    asked: ev.PodUpdated | ev.Updated | ev.PodDeleted | ev.Deleted,
    grace: int | None,
) -> bool:
    kind = kind_named(ev.kind_of(asked))
    if record_of(state, kind.name, asked.key) is None:
        return False
    batch.delete(kind, asked.key, grace=grace if kind is POD else None)
    return True


def _update_pod(batch: Batch, state: State, pod: Pod, updated: ev.PodUpdated) -> bool:
    """Change a Pod, which keeps the node and phase that it has here unless it is said to have ended."""
    foreign = state.standing(pod) is Standing.FOREIGN
    node = pod.node or (updated.node if foreign else None)
    if updated.object is UNSET:
        batch.payloads.append(msgspec.structs.replace(updated, node=node))
        return True
    manifest = msgspec.json.decode(updated.object)
    if manifest["metadata"]["uid"] != pod.uid:
        return False
    status = manifest.setdefault("status", {})
    if status.get("phase") not in TERMINAL_PHASES:
        status["phase"] = pod.phase
    manifest["spec"].pop("nodeName", None)
    if node is not None:
        manifest["spec"]["nodeName"] = node
    changed = msgspec.structs.replace(updated, node=node, object=msgspec.Raw(canonical(manifest)))
    batch.payloads.append(changed)
    return True


def _uid_in(manifest: msgspec.Raw | msgspec.UnsetType) -> Any:
    return None if manifest is UNSET else msgspec.json.decode(manifest)["metadata"]["uid"]
