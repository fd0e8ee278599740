"""The whole scheduler once more, slow and plain: what the product's decisions are compared with.

It is written from the documentation of Kubernetes alone and shares no code with the product. Nothing is
kept that can be computed again: lanes, gates, order and quorum are looked up in the manifests each time,
and whether an entity is worth an attempt is found out by making the attempt and looking at the result.

Two ways to use it:

- on its own: `attempt_once`, `advance` and `settle` try what is due, in order;
- beside the product, which may also try what could not start: `may_try` says whether an attempt is
  allowed, `attempt` makes it, and the two outcomes must be the same in every detail.

Keys are "namespace/name" for Pods and PodGroups and "name" for the rest. An entity is named
"Pod/namespace/name" or "PodGroup/namespace/name". Manifests have their defaults filled in.

Out of scope, and refused with OutOfScope: composite groups, topology constraints, volumes and claims.
Preemption is only told apart from "nobody to evict": where somebody could be evicted, texts are None
and `Outcome.may_preempt` is set. Nominated nodes are ignored.
"""

from dataclasses import dataclass, field

from reference.amounts import Manifest
from reference.cycle import (
    ERROR,
    SUCCESS,
    UNSCHEDULABLE,
    Outcome,
    Trial,
    attempt_group,
    attempt_pod,
    key_of,
    minimum_of,
    place,
    priority_of,
    scheduler_of,
)
from reference.filters import TERMINAL, Host
from reference.waiting import due_us

ACTIVE, BACKOFF, UNSCHEDULABLE_LANE, GATED = "active", "backoff", "unschedulable", "gated"
OUTSIDE = {
    "Pod": ("volumes", "resourceClaims"),
    "PodGroup": ("parentCompositePodGroupName", "schedulingConstraints", "resourceClaims"),
}


class OutOfScope(Exception):
    """The object uses something that the model does not know."""


@dataclass(frozen=True)
class Condition:
    """A message of None is one that the model does not know."""

    status: str
    reason: str | None = None
    message: str | None = None


@dataclass
class Pod:
    manifest: Manifest
    arrival: int
    entered_at: int
    node: str | None = None
    attempts: int = 0
    dropped: bool = False  # met in a cycle while it was being deleted; it is not queued again
    conditions: dict[str, Condition] = field(default_factory=dict)

    @property
    def group(self) -> str | None:
        """The key of its PodGroup."""
        joined = self.manifest["spec"].get("schedulingGroup")
        namespace = self.manifest["metadata"].get("namespace", "default")
        return f"{namespace}/{joined['podGroupName']}" if joined else None

    @property
    def entity(self) -> str:
        return f"PodGroup/{self.group}" if self.group else f"Pod/{key_of(self.manifest)}"

    @property
    def is_terminal(self) -> bool:
        return self.manifest.get("status", {}).get("phase") in TERMINAL

    @property
    def gates(self) -> list[str]:
        return [gate["name"] for gate in self.manifest["spec"].get("schedulingGates", [])]


@dataclass
class Group:
    manifest: Manifest
    conditions: dict[str, Condition] = field(default_factory=dict)


@dataclass
class Entity:
    """What the queue remembers of an entity; `failure` is the last attempt's outcome if it failed."""

    name: str
    timestamp: int
    attempts: int = 0
    refusals: int = 0
    errors: int = 0  # in a row
    failure: Outcome | None = None


@dataclass(frozen=True)
class Attempt:
    entity: str
    number: int
    at: int
    outcome: Outcome


class Model:
    def __init__(self, now: int = 0, scheduler_names: tuple[str, ...] = ("default-scheduler",)) -> None:
        self.now = now
        self.nodes: dict[str, Manifest] = {}
        self.pods: dict[str, Pod] = {}
        self.groups: dict[str, Group] = {}
        self.namespaces: dict[str, dict[str, str]] = {}
        self.entities: dict[str, Entity] = {}
        self._scheduler_names = scheduler_names
        self._arrivals = 0

    # ---- what happens to objects

    def add(self, manifest: Manifest) -> None:
        """A new object, also where one of that name was there before."""
        kind = manifest["kind"]
        self._check_scope(manifest)
        if kind == "Node":
            self.nodes[manifest["metadata"]["name"]] = manifest
        elif kind == "Pod":
            self.pods.pop(key_of(manifest), None)
            self._refresh_entities()
            self.pods[key_of(manifest)] = self._new_pod(manifest)
        elif kind == "PodGroup":
            self.groups[key_of(manifest)] = Group(manifest, _observed(manifest))
        elif kind == "Namespace":
            self._label(manifest)
        self._refresh_entities()

    def update(self, manifest: Manifest) -> None:
        """Replace the manifest. A pod that has a node keeps it, whatever the manifest says."""
        kind = manifest["kind"]
        self._check_scope(manifest)
        if kind == "Node":
            self.nodes[manifest["metadata"]["name"]] = manifest
        elif kind == "Pod":
            pod = self.pods[key_of(manifest)]
            pod.manifest = manifest
            pod.node = pod.node or manifest["spec"].get("nodeName") or None
        elif kind == "PodGroup":
            self.groups[key_of(manifest)].manifest = manifest
        elif kind == "Namespace":
            self._label(manifest)
        self._refresh_entities()

    def delete(self, kind: str, key: str) -> None:
        """The object is gone: grace periods and finalizers are over."""
        if kind == "Node":
            del self.nodes[key]
        elif kind == "Pod":
            del self.pods[key]
        elif kind == "PodGroup":
            del self.groups[key]
        elif kind == "Namespace":
            self.namespaces.pop(key, None)
        self._refresh_entities()

    def _new_pod(self, manifest: Manifest) -> Pod:
        self._arrivals += 1
        pod = Pod(manifest, arrival=self._arrivals, entered_at=self.now, conditions=_observed(manifest))
        pod.node = manifest["spec"].get("nodeName") or None
        if pod.gates:
            blocked = "Scheduling is blocked due to non-empty scheduling gates"
            pod.conditions["PodScheduled"] = Condition("False", "SchedulingGated", blocked)
        return pod

    def _label(self, namespace: Manifest) -> None:
        metadata = namespace["metadata"]
        self.namespaces[metadata["name"]] = metadata.get("labels") or {}

    def _check_scope(self, manifest: Manifest) -> None:
        kind, spec = manifest["kind"], manifest.get("spec", {})
        used = [name for name in OUTSIDE.get(kind, ()) if spec.get(name)]
        if kind == "CompositePodGroup" or used:
            raise OutOfScope(f"{kind} {manifest['metadata']['name']}: {', '.join(used)}")

    # ---- what is there

    def pod(self, key: str) -> Pod | None:
        return self.pods.get(key)

    def condition(self, kind: str, key: str, condition_type: str) -> Condition | None:
        subject = self.pods.get(key) if kind == "Pod" else self.groups.get(key)
        return subject.conditions.get(condition_type) if subject else None

    def bindings(self) -> dict[str, str]:
        """Every pod that has a node, terminal ones included, with that node."""
        return {key: pod.node for key, pod in self.pods.items() if pod.node is not None}

    def cluster(self) -> list[Host]:
        """Nodes by name, each with the pods that use it."""
        hosts = [Host(self.nodes[name], namespaces=self.namespaces) for name in sorted(self.nodes)]
        for host in hosts:
            host.pods = [
                pod.manifest for pod in self.pods.values() if pod.node == host.name and not pod.is_terminal
            ]
        return hosts

    def _is_queued(self, pod: Pod) -> bool:
        ours = scheduler_of(pod.manifest) in self._scheduler_names
        return ours and pod.node is None and not pod.is_terminal and not pod.dropped

    def queued(self, entity: str) -> list[Pod]:
        """The waiting pods of the entity in the order in which they are tried.

        More attempts first, then who entered the queue earlier, then arrival, then name.
        """
        pods = [pod for pod in self.pods.values() if pod.entity == entity and self._is_queued(pod)]
        return sorted(
            pods, key=lambda pod: (-pod.attempts, pod.entered_at, pod.arrival, key_of(pod.manifest))
        )

    def scheduled(self, group: str) -> list[Pod]:
        """Members with a node that are not terminal, by arrival; terminating ones are among them."""
        pods = [pod for pod in self.pods.values() if pod.group == group and pod.node and not pod.is_terminal]
        return sorted(pods, key=lambda pod: pod.arrival)

    def created(self, group: str) -> int:
        """Members that count toward minCount before anything is tried: waiting, dying and running ones."""
        waiting = [
            pod
            for pod in self.pods.values()
            if pod.group == group
            and pod.node is None
            and not pod.is_terminal
            and scheduler_of(pod.manifest) in self._scheduler_names
        ]
        return len(waiting) + len(self.scheduled(group))

    # ---- the queue

    def gate(self, entity: str) -> str | None:
        """Why no pod of the entity may enter the active lane (PreEnqueue); None if all may."""
        queued = self.queued(entity)
        for pod in queued:
            if pod.gates:
                return f"waiting for scheduling gates: [{' '.join(pod.gates)}]"
        kind, _, key = entity.partition("/")
        if kind == "Pod" or not queued:
            return None
        if key not in self.groups:
            name = key.partition("/")[2]
            return f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'
        if self.created(key) < minimum_of(self.groups[key].manifest):
            return "waiting for minCount pods from a gang to appear in scheduling queue"
        return None

    def lane(self, entity: str) -> str | None:
        """active, backoff, unschedulable or gated; None if nothing of the entity waits.

        A refused group serves its backoff, then rests until an attempt would end otherwise. A refused
        pod rests until then, and serves what is left of its backoff afterwards.
        """
        if self.gate(entity) is not None:
            return GATED
        record = self.entities.get(entity)
        if record is None:
            return None
        if record.failure is None:
            return ACTIVE
        backing_off = self.now < self.due(entity)
        if backing_off and entity.startswith("PodGroup/"):
            return BACKOFF
        if not self.would_end_otherwise(entity):
            return UNSCHEDULABLE_LANE
        return BACKOFF if backing_off else ACTIVE

    def due(self, entity: str) -> int:
        """When the backoff of a refused entity is over."""
        record = self.entities[entity]
        return due_us(record.timestamp, record.errors or record.refusals, len(self.queued(entity)))

    def rank(self, entity: str) -> tuple[int, int, int, str, str]:
        """The place in the active lane: priority, timestamp, arrival of the oldest pod, then names."""
        kind, _, key = entity.partition("/")
        queued = self.queued(entity)
        manifest = queued[0].manifest if kind == "Pod" else self.groups[key].manifest
        oldest = min(pod.arrival for pod in queued)
        uid = manifest["metadata"].get("uid", "")
        return -priority_of(manifest), self.entities[entity].timestamp, oldest, key, uid

    def active(self) -> list[str]:
        """The active lane, in the order in which it is tried."""
        return sorted((name for name in self.entities if self.lane(name) == ACTIVE), key=self.rank)

    def could_start(self, entity: str) -> bool:
        """Would an attempt made now bind a pod? Backoff does not matter, gates do."""
        record = self.entities.get(entity)
        return record is not None and self.gate(entity) is None and bool(self._attempted(entity).bound)

    def would_end_otherwise(self, entity: str) -> bool:
        """Is a refused entity worth an attempt?

        It is, if its verdict would be another, if there is somebody to evict now and was not before, or
        if a member was never tried.
        """
        before = self.entities[entity].failure
        after = self._attempted(entity)
        untried = any(pod.attempts == 0 for pod in self.queued(entity))
        return (
            before is None
            or untried
            or (before.verdict, before.may_preempt) != (after.verdict, after.may_preempt)
        )

    def would_read_otherwise(self, entity: str) -> bool:
        """Would an attempt made now write other texts, though perhaps with the same verdict?"""
        kind, _, key = entity.partition("/")
        outcome = self._attempted(entity)
        conditions = [self.pods[pod].conditions.get("PodScheduled") for pod in outcome.refused]
        written = [condition.message if condition else None for condition in conditions]
        if written != list(outcome.refused.values()):
            return True
        group = self.condition(kind, key, "PodGroupInitiallyScheduled")
        return group is not None and group.status != "True" and group.message != outcome.group_text

    def next_due(self) -> int | None:
        """When the clock alone will next bring an entity back that would then end otherwise."""
        waiting = [
            self.due(name)
            for name in self.entities
            if self.lane(name) == BACKOFF and self.would_end_otherwise(name)
        ]
        return min(waiting, default=None)

    # ---- attempts

    def may_try(self, entity: str) -> bool:
        """May a scheduler that errs on the side of trying pop this entity now?

        Its backoff is over, or it is a single pod and nothing is active; and none of those that are
        certainly ready with it goes before it.
        """
        if entity not in self.entities or self.gate(entity) is not None:
            return False
        if self.entities[entity].failure is None or self.now >= self.due(entity):
            return all(self.rank(entity) <= self.rank(other) for other in self.active())
        if entity.startswith("PodGroup/") or self.active():
            return False
        return all(self._early_rank(entity) <= self._early_rank(other) for other in self._early())

    def attempt_once(self) -> Attempt | None:
        """Try the first entity of the active lane; if there is none, a single pod may leave its backoff."""
        ready = self.active() or self._early()
        return self.attempt(ready[0]) if ready else None

    def _early(self) -> list[str]:
        """Single pods that were woken while they backed off, in the order of the backoff lane."""
        pods = [name for name in self.entities if name.startswith("Pod/") and self.lane(name) == BACKOFF]
        return sorted(pods, key=self._early_rank)

    def _early_rank(self, entity: str) -> tuple[int, tuple[int, int, int, str, str]]:
        return self.due(entity), self.rank(entity)

    def attempt(self, entity: str) -> Attempt:
        """Try the entity now and write down what comes of it."""
        outcome = self._attempted(entity)
        record = self.entities[entity]
        record.attempts += 1
        for pod in self.queued(entity):
            pod.attempts += 1
        self._write_pods(outcome)
        if entity.startswith("PodGroup/"):
            self._write_group(self.groups[entity.partition("/")[2]], outcome)
        self._put_back(record, outcome)
        return Attempt(entity, record.attempts, self.now, outcome)

    def advance(self, to: int) -> list[Attempt]:
        """Let time pass until `to`, trying what falls due on the way."""
        attempts = self._try_all()
        while (due := self.next_due()) is not None and due <= to:
            self.now = max(self.now, due)
            attempts += self._try_all()
        self.now = max(self.now, to)
        return attempts

    def settle(self) -> list[Attempt]:
        """Go on until no attempt would end otherwise than the last one, now or after any backoff."""
        attempts = self._try_all()
        while (due := self.next_due()) is not None:
            attempts += self.advance(due)
        return attempts

    def place(self, pods: list[Manifest]) -> list[Trial]:
        """Where these pods would go on the present cluster, one beside the other, without any group."""
        return place(pods, self.cluster())

    def _try_all(self) -> list[Attempt]:
        attempts = []
        while (attempt := self.attempt_once()) is not None:
            attempts.append(attempt)
        return attempts

    def _attempted(self, entity: str) -> Outcome:
        """What an attempt at the entity would come to on the present state."""
        kind, _, key = entity.partition("/")
        queued = [pod.manifest for pod in self.queued(entity)]
        if kind == "Pod":
            return attempt_pod(queued[0], self.cluster(), self._unit_priority)
        scheduled = [pod.manifest for pod in self.scheduled(key)]
        group = self.groups[key].manifest
        return attempt_group(group, queued, scheduled, self.cluster(), self._unit_priority)

    def _unit_priority(self, running: Manifest) -> int:
        """As a victim, a member has the priority of its group."""
        group = self.groups.get(self.pods[key_of(running)].group or "")
        return priority_of(group.manifest if group else running)

    def _write_pods(self, outcome: Outcome) -> None:
        for key, node in outcome.bound.items():
            self.pods[key].node = node
            self.pods[key].conditions["PodScheduled"] = Condition("True")
        reason = ERROR if outcome.verdict == ERROR else UNSCHEDULABLE
        for key, text in outcome.refused.items():
            self.pods[key].conditions["PodScheduled"] = Condition("False", reason, text)
        for key in outcome.skipped:
            self.pods[key].dropped = True

    def _write_group(self, group: Group, outcome: Outcome) -> None:
        """Once True, the condition stays True."""
        before = group.conditions.get("PodGroupInitiallyScheduled")
        if outcome.verdict == SUCCESS:
            after = Condition("True", "Scheduled", "")
        elif outcome.verdict in (UNSCHEDULABLE, ERROR) and (before is None or before.status != "True"):
            after = Condition("False", outcome.verdict, outcome.group_text)
        else:
            return
        group.conditions["PodGroupInitiallyScheduled"] = after

    def _put_back(self, record: Entity, outcome: Outcome) -> None:
        """Failures count and renew the timestamp; a success clears both counts and backs nobody off."""
        if outcome.verdict == ERROR:
            record.errors += 1
        elif outcome.verdict == UNSCHEDULABLE:
            record.refusals += 1
            record.errors = 0
        else:
            record.refusals = record.errors = 0
        failed = outcome.verdict in (ERROR, UNSCHEDULABLE)
        record.failure = outcome if failed else None
        record.timestamp = self.now if failed else record.timestamp
        self._refresh_entities()

    # ---- which entities there are

    def _waiting(self) -> set[str]:
        """The entities that have a waiting pod, and a group object if it names one."""
        pods = [pod for pod in self.pods.values() if self._is_queued(pod)]
        return {pod.entity for pod in pods if pod.group is None or pod.group in self.groups}

    def _refresh_entities(self) -> None:
        """Forget those of which nothing waits any more; a new one enters the queue now."""
        waiting = self._waiting()
        self.entities = {name: record for name, record in self.entities.items() if name in waiting}
        for name in waiting - self.entities.keys():
            self.entities[name] = Entity(name, timestamp=self.now)


def _observed(manifest: Manifest) -> dict[str, Condition]:
    """The conditions that the manifest brings along."""
    return {
        given["type"]: Condition(given["status"], given.get("reason"), given.get("message"))
        for given in manifest.get("status", {}).get("conditions", [])
    }
