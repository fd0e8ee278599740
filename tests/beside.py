"""The reference model beside the product: it follows the same events and checks every decision."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from build import Manifest
from domain import events as ev
from domain import objects
from domain.queue import Lane
from domain.state import State
from domain.times import rfc3339
from reference.amounts import offered, requested
from reference.cycle import ERROR, SUCCESS, UNSCHEDULABLE, Outcome, is_deleting
from reference.model import Attempt, Condition, Model

VERDICTS = {SUCCESS: "scheduled", UNSCHEDULABLE: "unschedulable", ERROR: "error"}
HELD = (Lane.GATED, Lane.INCOMPLETE)


class Shadow(Model):
    """The model with what ganger settles where Kubernetes leaves it open.

    A Pod that is being deleted stays with its entity, which is held where there is nobody else in
    it; a backoff is fixed when it begins; whom preemption could evict is no reason to try again, for
    nobody is evicted.
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
        record = self.entities.get(pod.entity)
        if record is None:  # its group is not there
            return
        record.errors += 1
        record.failure = Outcome(ERROR)
        record.timestamp = self.now
        self._fixed[pod.entity] = super().due(pod.entity)

    def would_end_otherwise(self, entity: str) -> bool:
        before = self.entities[entity].failure
        untried = any(pod.attempts == 0 for pod in self.queued(entity) if not is_deleting(pod.manifest))
        return before is None or untried or before.verdict != self._attempted(entity).verdict


class Beside:
    """Follows a cluster event by event. Raises AssertionError where it does what the model would not."""

    def __init__(self, now: int) -> None:
        self.model = Shadow(now)
        self._bindings: list[tuple[str, str]] = []
        """What the attempt that was seen last should have bound, and was not seen yet."""

    def observe(self, state: State, events: Sequence[ev.Event]) -> None:
        """Follow `events`, of which `state` is the outcome, and compare."""
        for event in events:
            match event.payload:
                case ev.GroupAttempted() as attempt:
                    assert self._bindings == []
                    self._attempt(attempt)
                case ev.PodBound() as bound:
                    assert self._bindings[:1] == [(bound.pod, bound.node)]
                    del self._bindings[0]
                    self._check_room(bound.pod, bound.node)
                case ev.SchedulerConfigured():
                    raise NotImplementedError("the model knows the default configuration only")
                case fact:
                    assert self._bindings == []
                    self.model.now = max(self.model.now, event.at)
                    self._take(fact, event.at)
        assert self._bindings == []
        self.compare(state)

    def compare(self, state: State) -> None:
        """Who is where, and what the conditions say."""
        model = self.model
        on = {key: pod.node for key, pod in model.pods.items()}
        assert {key: pod.node for key, pod in state.pods.items()} == on
        for key, pod in state.pods.items():
            self._compare_condition(key, pod.condition, model.condition("Pod", key, "PodScheduled"))
        assert state.groups.keys() == model.groups.keys()
        for key, group in state.groups.items():
            wanted = model.condition("PodGroup", key, "PodGroupInitiallyScheduled")
            self._compare_condition(key, group.condition, wanted)

    def compare_at_rest(self, state: State, now: int) -> None:
        """Who waits, held or refused, and that nobody does who could start."""
        self.model.now = max(self.model.now, now)
        lanes = {entity.name: state.queue.lane(entity, now) for entity in state.queue.entities.values()}
        waiting = {pod.entity for pod in self.model.pods.values() if self.model._is_queued(pod)}
        assert lanes.keys() == waiting
        for name, lane in lanes.items():
            assert not self.model.could_start(name), f"{name} rests in {lane}, but could start"
            if lane in HELD:
                assert self.model.gate(name) is not None, name
            else:
                assert lane == self.model.lane(name), name

    def _attempt(self, made: ev.GroupAttempted) -> None:
        model = self.model
        model.now = max(model.now, made.at)
        assert model.may_try(made.entity), f"{made.entity} is not next: {self._line()}"
        attempt = model.attempt(made.entity)
        outcome = attempt.outcome
        assert made.outcome == VERDICTS[outcome.verdict]
        assert made.number == attempt.number
        if made.same_as is None:
            assert sorted(made.skipped) == sorted(outcome.skipped)
        self._bindings = list(outcome.bound.items())
        self._check_whole(made.entity, outcome)

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
        if wanted.message is not None and not self._may_lack_a_tail(ours.message, wanted.message):
            assert ours.message == wanted.message, key

    def _may_lack_a_tail(self, ours: str, wanted: str) -> bool:
        """Pods of lost nodes are no victims, but ganger looks at their priority all the same: it says
        nothing of preemption where the model knows that there is nobody to evict."""
        return wanted.startswith(f"{ours}, pod group preemption: ") and any(
            pod.node is not None and pod.node not in self.model.nodes for pod in self.model.pods.values()
        )

    def _check_whole(self, entity: str, outcome: Outcome) -> None:
        """No attempt leaves a gang that it began to bind below its minimum."""
        kind, _, key = entity.partition("/")
        if kind == "PodGroup" and outcome.bound:
            gang = self.model.groups[key].manifest["spec"]["schedulingPolicy"].get("gang")
            assert gang is None or len(self.model.scheduled(key)) >= gang["minCount"]

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
            case ev.PodAdded() | ev.NodeAdded() | ev.PodGroupAdded():
                model.add(_manifest(fact))
            case ev.PodUpdated() | ev.NodeUpdated() | ev.PodGroupUpdated():
                model.update(self._updated(fact, at))
            case ev.BindingFailed():
                model.binding_failed(fact.pod, fact.message)
            case ev.PodDeleted() | ev.NodeDeleted() | ev.PodGroupDeleted():
                model.delete(ev.kind_of(fact), fact.key)
            case _:
                assert isinstance(fact, ev.Added | ev.Updated | ev.Deleted)  # nothing that is scheduled by

    def _updated(self, fact: ev.Updated | ev.PodUpdated, at: int) -> Manifest:
        if fact.object is not UNSET:
            return _manifest(fact)
        known: dict[str, Any] = {"Pod": self.model.pods, "PodGroup": self.model.groups}[ev.kind_of(fact)]
        manifest: Manifest = dict(known[fact.key].manifest)
        if isinstance(fact, ev.PodUpdated) and fact.status is not UNSET:
            manifest["status"] = {**manifest.get("status", {}), **msgspec.json.decode(fact.status)}
        if fact.deletion is not None:
            manifest["metadata"] = {**manifest["metadata"], "deletionTimestamp": rfc3339(at)}
        return manifest


def _manifest(fact: ev.Added | ev.Updated | ev.PodAdded | ev.PodUpdated) -> Manifest:
    assert fact.object is not UNSET
    manifest: Manifest = msgspec.json.decode(fact.object)
    if isinstance(fact, ev.PodAdded) and fact.node is not None:
        scheduled = {"type": "PodScheduled", "status": "True"}
        manifest["status"] = {**manifest.get("status", {}), "conditions": [scheduled]}
    return manifest
