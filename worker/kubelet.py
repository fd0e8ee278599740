"""The simulated kubelet: what nodes do with the Pods that are bound to them.

A bound Pod runs at once and ends when its run time is over. A deleted one ends, whether or not its
node is still there: at once if it has the default grace period, for most programs end when they are
told to; any other period was asked for on purpose and is used in full. One with finalizers is reported
as failed and stays, but for a forced deletion (no grace), of which the kubelet reports nothing.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from domain.admission.pods import DEFAULT_GRACE_SECONDS
from domain.events import (
    BindingFailed,
    Event,
    Fact,
    NodeAdded,
    PodAdded,
    PodBound,
    PodDeleted,
    PodEvicted,
    PodUpdated,
)
from domain.objects import Pod
from domain.state import State
from domain.times import LATEST, SECOND, rfc3339
from worker.batch import Batch

ACTOR = "kubelet"

_POD_OF: Mapping[type[Fact], Callable[[Any], str]] = {
    **dict.fromkeys((PodAdded, PodUpdated, PodDeleted), attrgetter("key")),
    **dict.fromkeys((PodBound, PodEvicted, BindingFailed), attrgetter("pod")),
}
"""The key of the Pod that an event may give something to do, by type of event."""


class Kubelet:
    """Knows which Pod has something to happen to it, and when. Follows a State by its events."""

    def __init__(self, state: State) -> None:
        self._agenda: list[tuple[int, str]] = []
        self._stranded: dict[str, list[str]] = {}
        """Pods, by the node that is not there to start them."""
        for key in state.pods:
            self._note(state, key)

    def observe(self, state: State, events: Iterable[Event]) -> None:
        """Take note of what `events` did to `state`."""
        for event in events:
            payload = event.payload
            pod_of = _POD_OF.get(type(payload))
            if pod_of is not None:
                self._note(state, pod_of(payload))
            elif isinstance(payload, NodeAdded):
                for key in self._stranded.pop(payload.key, ()):
                    self._note(state, key)

    def next_due(self, state: State) -> int | None:
        """The moment of the next thing to happen, in microseconds; None if there is none."""
        while self._agenda:
            moment, key = self._agenda[0]
            due = _moment(state, key)
            if due == moment:
                return moment
            heapq.heappop(self._agenda)
            if due is None:
                self._strand(state, key)
        return None

    def act(self, state: State, batch: Batch, now: int) -> None:
        """Put into `batch` what is due at `now`."""
        acted: set[str] = set()
        while (moment := self.next_due(state)) is not None and moment <= now:
            _, key = heapq.heappop(self._agenda)
            if key not in acted:
                acted.add(key)
                _act_on(state.pods[key], batch, moment)

    def _note(self, state: State, key: str) -> None:
        moment = _moment(state, key)
        if moment is not None:
            heapq.heappush(self._agenda, (moment, key))
        else:
            self._strand(state, key)

    def _strand(self, state: State, key: str) -> None:
        """Remember a Pod that is to start as soon as its node comes (back)."""
        pod = state.pods.get(key)
        if pod is not None and pod.phase == "Pending" and pod.node is not None:
            self._stranded.setdefault(pod.node, []).append(key)


def _moment(state: State, key: str) -> int | None:
    """When something happens to a Pod by itself; None if nothing does, or not before time is over."""
    pod = state.pods.get(key)
    if pod is None or pod.terminal or pod.node is None:
        return None
    if pod.deletion is not None:
        grace = pod.deletion.grace
        if pod.held_back and not grace:
            return None
        return _in_time(pod.deletion.at + (0 if grace == DEFAULT_GRACE_SECONDS else grace * SECOND))
    if pod.phase == "Pending":
        return 0 if pod.node in state.node_records else None
    if pod.run_us is not None and pod.started_us is not None:
        return _in_time(pod.started_us + pod.run_us)
    return None


def _in_time(at: int) -> int | None:
    return at if at <= LATEST else None


def _act_on(pod: Pod, batch: Batch, moment: int) -> None:
    if pod.deletion is not None:
        if pod.held_back:
            batch.observe_pod(pod.key, _status(pod, "Failed", moment))
        else:
            batch.end_pod(pod.key)
    elif pod.phase == "Pending":
        batch.observe_pod(pod.key, _status(pod, "Running", batch.now))
    else:
        batch.observe_pod(pod.key, _status(pod, "Succeeded", moment))


def _status(pod: Pod, phase: str, now: int) -> dict[str, str]:
    started = now if pod.started_us is None else pod.started_us
    return {"phase": phase, "startTime": rfc3339(started)}
