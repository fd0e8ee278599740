"""The reference model beside the product: it follows the same events and checks every decision."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from books import Book
from build import START, Manifest
from domain import events as ev
from domain import objects
from domain.incomplete import as_of
from domain.queue import Lane
from domain.state import State
from domain.times import rfc3339
from promises import check_not_in_vain, check_started
from reference.amounts import offered, requested
from reference.cycle import WAITING, Outcome
from reference.model import INITIALLY, Attempt, Condition, Model
from reference.tree import ERROR, SUCCESS, UNSCHEDULABLE
from reference.trials import is_deleting

VERDICTS = {
    SUCCESS: "scheduled",
    UNSCHEDULABLE: "unschedulable",
    ERROR: "error",
    WAITING: "waitingOnPreemption",
}
HELD = (Lane.GATED, Lane.INCOMPLETE)
SCHEDULED_BY = ("Node", "PodGroup", "CompositePodGroup", "PodDisruptionBudget", "Namespace")
"""The kinds whose objects decisions look at, beside Pods."""


class Shadow(Model):
    """The model with what ganger settles where Kubernetes leaves it open.

    A Pod that is being deleted stays with its entity, which is held where there is nobody else in
    it; a backoff is fixed when it begins.
    """

    def __init__(self, now: int) -> None:
        super().__init__(now)
        self._fixed: dict[str, int] = {}

    def gate(self, entity: str) -> str | None:
        held = super().gate(entity)
        queued = self.queued(entity)
        if held is None and queued and all(is_deleting(pod.manifest) for pod in queued):
            return "all are being deleted"
        return held

    def due(self, entity: str) -> int:
        return self._fixed[entity]

    def attempt(self, entity: str) -> Attempt:
        attempt = super().attempt(entity)
        for key in attempt.outcome.skipped:
            self.pods[key].dropped = False
        self._refresh_entities()
        if entity in self.entities and self.entities[entity].failure is not None:
            self._fixed[entity] = super().due(entity)
        return attempt

    def _early(self) -> list[str]:
        """An error is nobody's verdict: it is never cut short."""
        failures = ((name, self.entities[name].failure) for name in super()._early())
        return [name for name, failure in failures if failure is not None and failure.verdict != ERROR]

    def binding_failed(self, key: str, message: str) -> None:
        """The Pod waits again, which counts as an error of its entity."""
        pod = self.pods[key]
        pod.node, pod.entered_at = None, self.now
        spec = {name: value for name, value in pod.manifest["spec"].items() if name != "nodeName"}
        pod.manifest = {**pod.manifest, "spec": spec}
        pod.conditions["PodScheduled"] = Condition("False", ERROR, message)
        self._refresh_entities()
        entity = self.entity_of(pod)
        record = self.entities.get(entity)
        if record is None or not self._is_queued(pod):  # its group is not there, or it is another scheduler's
            return
        record.errors += 1
        record.failure = Outcome(ERROR)
        record.timestamp = self.now
        self._fixed[entity] = super().due(entity)

    def would_end_otherwise(self, entity: str) -> bool:
        before, after = self.entities[entity].failure, self._attempted(entity)
        untried = any(pod.attempts == 0 for pod in self.queued(entity) if not is_deleting(pod.manifest))
        return before is None or untried or before.verdict != after.verdict or self._changes(after)


class Beside:
    """Follows a cluster event by event. Raises AssertionError where it does what the model would not."""

    def __init__(self, now: int) -> None:
        self.model = Shadow(now)
        self._bindings: list[tuple[str, str]] = []
        self._hopes: dict[str, str | None] = {}
        self._evictions: list[str] = []
        """What the attempt that was seen last should have brought about, and was not seen yet."""

    def observe(self, state: State, events: Sequence[ev.Event]) -> None:
        """Follow `events`, of which `state` is the outcome, and compare."""
        for event in events:
            match event.payload:
                case ev.GroupAttempted() as attempt:
                    self._check_done()
                    self._attempt(attempt)
                case ev.PodBound() as bound:
                    assert self._bindings[:1] == [(bound.pod, bound.node)], bound
                    del self._bindings[0]
                    self._check_room(bound.pod, bound.node)
                case ev.PodNominated() as nominated:
                    assert self._hopes.pop(nominated.pod, "as before") == nominated.node, nominated.pod
                case ev.PodEvicted() as evicted:
                    assert self._evictions[:1] == [evicted.pod]
                    del self._evictions[0]
                case ev.SchedulerConfigured():
                    raise NotImplementedError("the model knows the default configuration only")
                case fact:
                    self._check_done()
                    self.model.now = max(self.model.now, event.at)
                    self._take(fact, event.at)
        self._check_done()
        self.compare(state)
        bound = [made.payload.group for made in events if isinstance(made.payload, ev.PodBound)]
        check_started(state, {group: None for group in bound if group is not None})
        attempts = [made.payload for made in events if isinstance(made.payload, ev.GroupAttempted)]
        if any(isinstance(made.payload, ev.PodEvicted) for made in events):
            check_not_in_vain(state, attempts[-1], events[-1].at)

    def _check_done(self) -> None:
        assert (self._bindings, self._hopes, self._evictions) == ([], {}, [])

    def compare(self, state: State) -> None:
        """Who is where, or hopes to be, and what the conditions say."""
        model = self.model
        model.speak()
        on = {key: (pod.node, pod.hope) for key, pod in model.pods.items()}
        assert {key: (pod.node, pod.nominated) for key, pod in state.pods.items()} == on
        for key, pod in state.pods.items():
            said = as_of(state, pod, model.now).condition
            self._compare_condition(key, said, model.condition("Pod", key, "PodScheduled"))
            self._compare_condition(key, pod.disruption, model.condition("Pod", key, "DisruptionTarget"))
        for kind, known in (("PodGroup", model.groups), ("CompositePodGroup", model.composites)):
            groups = state.groups_of(kind)
            assert groups.keys() == known.keys()
            for key, group in groups.items():
                wanted = model.condition(kind, key, INITIALLY[kind])
                self._compare_condition(f"{kind}/{key}", group.condition, wanted)
        for key, group in state.groups.items():
            disruption = model.condition("PodGroup", key, "DisruptionTarget")
            self._compare_condition(f"PodGroup/{key}", group.disruption, disruption)

    def compare_at_rest(self, state: State, now: int) -> None:
        """Who waits, held or refused, and that nobody does who could start or make room for itself."""
        model = self.model
        model.now = max(model.now, now)
        self.compare(state)
        lanes = {entity.name: state.queue.lane(entity, now) for entity in state.queue.entities.values()}
        assert lanes.keys() == {model.entity_of(pod) for pod in model.pods.values() if model._is_queued(pod)}
        for name, lane in lanes.items():
            assert not model.could_act(name), f"{name} rests in {lane}, but could act"
            if lane in HELD:
                assert model.gate(name) is not None, name
            else:
                assert lane == model.lane(name), name

    def _attempt(self, made: ev.GroupAttempted) -> None:
        model = self.model
        model.now = max(model.now, made.at)
        assert model.may_try(made.entity), f"{made.entity} is not next: {self._line()}"
        hopes = {key: pod.hope for key, pod in model.pods.items()}
        dying = {key for key, pod in model.pods.items() if is_deleting(pod.manifest)}
        attempt = model.attempt(made.entity)
        outcome = attempt.outcome
        assert made.outcome == VERDICTS[outcome.verdict], f"{made}, expected {outcome}"
        assert made.number == attempt.number
        if made.same_as is None:
            assert sorted(made.skipped) == sorted(outcome.skipped)
            assert list(made.victims) == outcome.victims, made.entity
        self._bindings = list(outcome.bound.items())
        self._evictions = [key for key in outcome.victims if key not in dying]
        self._hopes = {
            key: pod.hope
            for key, pod in model.pods.items()
            if pod.hope != hopes[key] and key not in outcome.bound
        }

    def _line(self) -> list[tuple[str, str | None, object]]:
        """What waits, in the eyes of the model, for the text of a failure."""
        model = self.model
        return [
            (name, model.lane(name), (record.timestamp, model.rank(name), model.gate(name)))
            for name, record in model.entities.items()
        ]

    def _compare_condition(self, key: str, ours: objects.Condition | None, wanted: Condition | None) -> None:
        if ours is None or wanted is None:
            assert ours is None, f"{key}: {ours}, expected none"
            assert wanted is None, f"{key}: no condition, expected {wanted}"
            return
        assert (ours.status, ours.reason or None) == (wanted.status, wanted.reason), (
            f"{key}: {ours}, {wanted}"
        )
        assert ours.message == (wanted.message or ""), key

    def _check_room(self, pod: str, node: str) -> None:
        """The node has enough of all that its new Pod asks for, whatever else is on it."""
        (host,) = [host for host in self.model.cluster() if host.name == node]
        has, used = offered(host.node), host.used()
        assert len(host.pods) <= has.get("pods", 0)
        for resource in requested(self.model.pods[pod].manifest):
            assert used[resource] <= has.get(resource, 0), (pod, node, resource)

    def _take(self, fact: ev.Payload, at: int) -> None:
        model = self.model
        match fact:
            case ev.BindingFailed():
                model.binding_failed(fact.pod, fact.message)
            case ev.PodAdded():
                model.add(_manifest(fact))
            case ev.PodUpdated():
                model.update(self._updated(fact, at))
            case ev.PodDeleted():
                model.delete("Pod", fact.key)
            case ev.Added() | ev.Updated() | ev.Deleted() if ev.kind_of(fact) not in SCHEDULED_BY:
                pass
            case ev.Added():
                model.add(_manifest(fact))
            case ev.Updated():
                model.update(self._updated(fact, at))
            case ev.Deleted():
                model.delete(ev.kind_of(fact), fact.key)
            case _:
                raise AssertionError(f"{fact} is no fact")

    def _updated(self, fact: ev.Updated | ev.PodUpdated, at: int) -> Manifest:
        if fact.object is not UNSET:
            return _manifest(fact)
        model = self.model
        known: dict[str, dict[str, Any]] = {
            "Pod": model.pods,
            "PodGroup": model.groups,
            "CompositePodGroup": model.composites,
        }
        manifest: Manifest = dict(known[ev.kind_of(fact)][fact.key].manifest)
        if isinstance(fact, ev.PodUpdated) and fact.status is not UNSET:
            manifest["status"] = {**manifest.get("status", {}), **msgspec.json.decode(fact.status)}
        if fact.deletion is not None:
            manifest["metadata"] = {**manifest["metadata"], "deletionTimestamp": rfc3339(at)}
        return manifest


class WatchedBook(Book):
    """A Book with the model beside it, which checks whatever happens."""

    def __init__(self, *manifests: Manifest) -> None:
        self.beside = Beside(START)
        super().__init__(*manifests)

    def append(self, *payloads: ev.Payload) -> "WatchedBook":
        """Append `payloads` as one batch, and compare."""
        before = len(self.events)
        super().append(*payloads)
        self.beside.observe(self.state, self.events[before:])
        return self

    def settle(self) -> "WatchedBook":
        """Go on until nothing would happen any more, and look who waits."""
        super().settle()
        self.beside.compare_at_rest(self.state, self.now)
        return self


def _manifest(fact: ev.Added | ev.Updated | ev.PodAdded | ev.PodUpdated) -> Manifest:
    assert fact.object is not UNSET
    manifest: Manifest = msgspec.json.decode(fact.object)
    if isinstance(fact, ev.PodAdded) and fact.node is not None:
        scheduled = {"type": "PodScheduled", "status": "True"}
        manifest["status"] = {**manifest.get("status", {}), "conditions": [scheduled]}
    return manifest
