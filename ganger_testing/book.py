"""A cluster in memory: requests through admission, the simulated kubelet, decisions, all folded."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
from msgspec import UNSET

from domain import events as ev
from domain.admission.kinds import kind_named
from domain.queue import Hold, Lane, Verdict
from domain.scheduling.cycle import Decision, decide
from domain.state import State
from ganger_testing.manifests import Manifest
from ganger_testing.story import Story
from worker.batch import Batch, Outcome
from worker.kubelet import Kubelet
from worker.shown import as_stored, record_of

OTHERS = Hold(Lane.GATED, "test", "only one entity is to be tried")


class Book(Story):
    """A Story that things are asked of, as they are of a cluster. Uids count from 1."""

    def __init__(self, *manifests: Manifest) -> None:
        self._uids = count(1)
        self.batches: list[int] = []
        """The position of the first event of each batch."""
        super().__init__()
        self.kubelet = Kubelet(self.state)
        if manifests:
            self.apply(manifests)

    def append(self, *payloads: ev.Payload) -> "Book":
        """Append `payloads` as one batch."""
        before = len(self.events)
        super().append(*payloads)
        if payloads:
            self.batches.append(before + 1)
            self.kubelet.observe(self.state, self.events[before:])
        return self

    def manifest_at(self, position: int) -> Manifest:
        """The manifest in the event at `position`."""
        payload = self.events[position - 1].payload
        assert isinstance(payload, ev.Added | ev.Updated | ev.PodAdded | ev.PodUpdated)
        assert payload.object is not UNSET
        manifest: Manifest = msgspec.json.decode(payload.object)
        return manifest

    def stored(self, kind: str, key: str) -> Manifest | None:
        """The object as it is now; None if there is none."""
        record = record_of(self.state, kind, key)
        return None if record is None else as_stored(record, self.manifest_at(record.manifest))

    def apply(self, manifests: Sequence[Manifest]) -> list[Outcome]:
        """Create or update objects as one batch. Raises a Refused, and changes nothing, if one is refused."""
        batch = self._batch()
        outcomes = [batch.apply(manifest, namespace=None) for manifest in manifests]
        self.append(*batch.payloads)
        return outcomes

    def delete(self, kind: str, key: str, *, grace: int | None = None) -> Outcome:
        """Delete an object as a user does."""
        batch = self._batch()
        outcome = batch.delete(kind_named(kind), key, grace=grace)
        self.append(*batch.payloads)
        return outcome

    def configure(self, document: Mapping[str, Any]) -> Outcome:
        """Configure the scheduler by a KubeSchedulerConfiguration. Raises Invalid or BadRequest."""
        batch = self._batch()
        outcome = batch.configure(document)
        self.append(*batch.payloads)
        return outcome

    def let_nodes_act(self) -> "Book":
        """Let the kubelet do what is due now."""
        while (due := self.kubelet.next_due(self.state)) is not None and due <= self.now:
            batch = self._batch()
            self.kubelet.act(self.state, batch, self.now)
            self.append(*batch.payloads)
        return self

    def cycle(self) -> Decision | None:
        """Decide once and append that; None if nothing is due."""
        decision = decide(self.state, self.now)
        if decision is not None:
            self.append(*decision.payloads)
        return decision

    def settle(self) -> "Book":
        """Go on, time passing, until nothing would happen any more."""
        while True:
            self.let_nodes_act()
            self.decide()
            moments = (self.kubelet.next_due(self.state), self.state.queue.next_due())
            due = min((moment for moment in moments if moment is not None), default=None)
            if due is None:
                return self
            self.now = max(self.now, due)

    def _batch(self) -> Batch:
        return Batch(
            self.state,
            self.manifest_at,
            now=self.now,
            new_uid=lambda: f"00000000-0000-4000-8000-{next(self._uids):012x}",
        )


def fresh_attempt(state: State, entity: str, now: int) -> Decision:
    """What would be decided for `entity` if it were tried right now, whatever its lane."""
    copy = state.copy()
    for other in list(copy.queue.entities.values()):
        if other.name == entity:
            other.verdict = Verdict.UNTRIED
        else:
            other.hold = OTHERS
        copy.queue.put(other)
    decision = decide(copy, now)
    assert decision is not None
    assert decision.attempt.entity == entity
    return decision


def lost_wake_ups(state: State, now: int) -> list[str]:
    """The entities that sleep although an attempt would bind something: there must never be any."""
    return [
        entity.name
        for entity in state.queue.entities.values()
        if entity.hold is None
        and entity.verdict is not Verdict.UNTRIED
        and not state.queue.awake(entity)
        and len(fresh_attempt(state, entity.name, now).payloads) > 1
    ]
