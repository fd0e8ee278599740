"""Trying changes on forks: admitted as a user's would be, decided in virtual time, seen in the State.

A fork is a State in memory: it has no log, unlike those of `worker.forks`, and costs a tenth of them.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from itertools import count
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from domain.admission.kinds import kind_named, not_found
from domain.errors import Refused
from domain.events import Added, Event, Payload, PodAdded, PodEvicted, PodUpdated, Updated
from domain.reducer import fold
from domain.scheduling.cycle import decide
from domain.state import State, decode_state, encode_state
from domain.times import SECOND
from domain.whathelps.budget import Budget
from domain.whathelps.changes import Alter, Configure, Edit, Manifest, Put, Remove, Renew, Rewrite, as_asked
from domain.whathelps.goal import Goal, goal_for
from domain.whathelps.search import Help, what_helps
from worker.batch import Batch
from worker.cluster import Cluster
from worker.kubelet import Kubelet
from worker.loop import earliest
from worker.shown import SystemClass, as_stored, visible_of

ManifestAt: TypeAlias = Callable[[int], Mapping[str, Any]]

LONGEST = 3_600 * SECOND
"""So far a fork goes on at most: longer than any backoff."""


def help_for(cluster: Cluster, state: State, kind: str, key: str, *, now: int, budget: Budget) -> Help:
    """What would start the object that waits in `state` at `now`, as far as `budget` goes.

    `state` is not changed; manifests are read from the log of `cluster`.
    """
    manifest_at = cache(cluster.manifest_at)

    def stored(of: str, name: str) -> Mapping[str, Any]:
        record = visible_of(state, of, name)
        assert record is not None, "asked for what there is"
        assert not isinstance(record, SystemClass), "of these nothing is asked"
        return as_stored(record, manifest_at(record.manifest))

    if not state.queue.entities:
        return Help()
    image, goal = encode_state(state), goal_for(state, kind, key)

    def fork(edits: Sequence[Edit]) -> tuple[str, ...] | None:
        budget.spend()
        return _Fork(image, manifest_at, now, budget).after(edits, goal)

    return what_helps(state, kind, key, stored=stored, fork=fork)


class _Fork:
    """A State that goes on by itself. Whatever runs then goes on running: nothing ends by itself.

    So what starts on it does not start because somebody else's time is over.
    """

    def __init__(self, image: bytes, manifest_at: ManifestAt, now: int, budget: Budget) -> None:
        self._state = decode_state(image)
        self._now = max(now, self._state.at)
        self._manifest_at = manifest_at
        self._budget = budget
        self._made: dict[int, Mapping[str, Any]] = {}
        self._evicted: list[str] = []
        self._uids = count(1)
        for pod in self._state.pods.values():
            pod.run_us = None
        self._kubelet = Kubelet(self._state)

    def after(self, edits: Sequence[Edit], goal: Goal) -> tuple[str, ...] | None:
        """Whom the scheduler has evicted when `goal` is reached after `edits`; None if it never is."""
        batch = self._batch()
        try:
            for edit in edits:
                make(batch, edit)
        except Refused:
            return None
        self._append(batch.payloads)
        end = self._now + LONGEST
        while not goal.reached(self._state):
            if not self._step():
                due = self._next_due()
                if due is None or due > end:
                    return None
                self._now = max(self._now, due)
        return tuple(self._evicted)

    def _step(self) -> bool:
        """Do what is due next, if anything is: what nodes do comes first, as in the worker."""
        due = self._kubelet.next_due(self._state)
        if due is not None and due <= self._now:
            batch = self._batch()
            self._kubelet.act(self._state, batch, self._now)
            self._append(batch.payloads)
            return True
        self._budget.spend()
        decision = decide(self._state, self._now)
        if decision is None:
            return False
        self._evicted += [payload.pod for payload in decision.payloads if isinstance(payload, PodEvicted)]
        self._append(decision.payloads)
        return True

    def _next_due(self) -> int | None:
        return earliest(self._kubelet.next_due(self._state), self._state.queue.next_due())

    def _batch(self) -> Batch:
        return Batch(self._state, self._manifest, now=self._now, new_uid=self._new_uid)

    def _new_uid(self) -> str:
        return f"00000000-0000-4000-9000-{next(self._uids):012x}"

    def _manifest(self, position: int) -> Mapping[str, Any]:
        return self._made[position] if position in self._made else self._manifest_at(position)

    def _append(self, payloads: Sequence[Payload]) -> None:
        first = self._state.position + 1
        events = [Event(position, self._now, payload) for position, payload in enumerate(payloads, first)]
        fold(self._state, events)
        for event in events:
            payload = event.payload
            if isinstance(payload, Added | Updated | PodAdded | PodUpdated) and payload.object is not UNSET:
                self._made[event.position] = msgspec.json.decode(payload.object)
            if isinstance(payload, PodAdded | PodUpdated) and payload.key in self._state.pods:
                self._state.pods[payload.key].run_us = None
        self._kubelet.observe(self._state, events)


def make(batch: Batch, edit: Edit) -> None:
    """Ask `batch` for an edit, as its user would. Raises a Refused if it is not taken."""
    match edit:
        case Put(manifest):
            batch.apply(manifest, namespace=None)
        case Configure(document):
            batch.configure(document)
        case Remove(kind, key):
            batch.delete(kind_named(kind), key)
        case Alter(kind, key, rewrite):
            _apply(batch, deepcopy(_stored(batch, kind, key)), rewrite)
        case Renew(pods, groups, rewrite):
            members = [("Pod", key) for key in pods]
            made = [as_asked(_stored(batch, *each)) for each in (*groups, *members)]
            for kind, key in (*members, *reversed(groups)):
                batch.delete(kind_named(kind), key)
            for manifest in made:
                _apply(batch, manifest, rewrite)


def _stored(batch: Batch, kind: str, key: str) -> Manifest:
    stored = batch.get(kind, key)
    if stored is None:
        raise not_found(kind_named(kind), key.rpartition("/")[2])
    return dict(stored)


def _apply(batch: Batch, manifest: Manifest, rewrite: Rewrite) -> None:
    rewrite(manifest)
    batch.apply(manifest, namespace=None)
