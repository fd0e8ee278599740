"""The whole scheduler once more, slow and plain: what the product's decisions are compared with.

It is written from the documentation of Kubernetes alone and shares no code with the product. Nothing is
kept that can be computed again: trees, lanes, gates, order and quorum are looked up in the manifests each
time, and whether an entity is worth an attempt is found out by making the attempt and looking at the
result.

Two ways to use it:

- on its own: `attempt_once`, `advance` and `settle` try what is due, in order;
- beside the product, which may also try what could not start: `may_try` says whether an attempt is
  allowed, `attempt` makes it, and the two outcomes must be the same in every detail.

Keys are "namespace/name" for Pods and groups and "name" for nodes. An entity is named
"Pod/namespace/name", "PodGroup/namespace/name" or "CompositePodGroup/namespace/name": the root of a tree,
or the group that is missing above its pods. Manifests have their defaults filled in.

Victims of preemption are marked for deletion at once; that they end later is for whoever plays the
kubelet. Out of scope, and refused with OutOfScope: volumes and claims.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from reference.amounts import Manifest
from reference.cycle import WAITING, Outcome, Said, attempt_pod, attempt_tree
from reference.filters import TERMINAL, Host
from reference.forest import COMPOSITE, LEAF, Groups, Tree, Way, goes_whole, is_ready, tree_of, way_up
from reference.preemption import COMPOSITE as COMPOSITE_UNIT
from reference.preemption import GROUP, POD, Running, World
from reference.tree import ERROR, SUCCESS, UNSCHEDULABLE
from reference.trials import Trial, is_deleting, key_of, place, priority_of, scheduler_of
from reference.waiting import SECOND, due_us

ACTIVE, BACKOFF, UNSCHEDULABLE_LANE, GATED = "active", "backoff", "unschedulable", "gated"
SILENCE = 300 * SECOND
"""How long the pods of an incomplete tree wait before they say so."""
OUTSIDE = {"Pod": ("volumes", "resourceClaims"), "PodGroup": ("resourceClaims",)}
INITIALLY = {LEAF: "PodGroupInitiallyScheduled", COMPOSITE: "CompositePodGroupInitiallyScheduled"}
PREEMPTED = "PreemptionByScheduler"


class OutOfScope(Exception):
    """The object uses something that the model does not know."""


@dataclass(frozen=True)
class Condition:
    status: str
    reason: str | None = None
    message: str | None = None


@dataclass
class Pod:
    manifest: Manifest
    arrival: int
    entered_at: int
    node: str | None = None
    hope: str | None = None  # the node it is nominated to
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
    def is_terminal(self) -> bool:
        return self.manifest.get("status", {}).get("phase") in TERMINAL

    @property
    def is_evicted(self) -> bool:
        disruption = self.conditions.get("DisruptionTarget")
        return disruption is not None and disruption.reason == PREEMPTED

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
        self.composites: dict[str, Group] = {}
        self.namespaces: dict[str, dict[str, str]] = {}
        self.budgets: dict[str, Manifest] = {}
        self.entities: dict[str, Entity] = {}
        self.incomplete: dict[str, int] = {}
        """Since when somebody waits below a group that is missing, or in a tree without a root, by entity."""
        self._scheduler_names = scheduler_names
        self._arrivals = 0
        self._foreseen: dict[str, Outcome] = {}
        self._entities_of: dict[str, str] = {}
        """What attempts would come to, and as what pods wait; both are forgotten with every change."""

    # ---- what happens to objects

    def add(self, manifest: Manifest) -> None:
        """A new object, also where one of that name was there before."""
        kind = manifest["kind"]
        self._check_scope(manifest)
        self.speak()
        if kind == "Pod":
            self.pods.pop(key_of(manifest), None)
            self._refresh_entities()
            self.pods[key_of(manifest)] = self._new_pod(manifest)
        elif kind in (LEAF, COMPOSITE):
            self._groups_of(kind)[key_of(manifest)] = Group(manifest, _observed(manifest))
        else:
            self._put(kind, manifest)
        self._refresh_entities()

    def update(self, manifest: Manifest) -> None:
        """Replace the manifest. A pod that has a node keeps it, whatever the manifest says."""
        kind = manifest["kind"]
        self._check_scope(manifest)
        self.speak()
        if kind == "Pod":
            pod = self.pods[key_of(manifest)]
            if is_deleting(pod.manifest) and not is_deleting(manifest):
                ends = {"deletionTimestamp": pod.manifest["metadata"]["deletionTimestamp"]}
                manifest = {**manifest, "metadata": {**manifest["metadata"], **ends}}
            pod.manifest = manifest
            pod.node = pod.node or manifest["spec"].get("nodeName") or None
            if pod.node is not None:
                pod.hope = None
        elif kind in (LEAF, COMPOSITE):
            self._groups_of(kind)[key_of(manifest)].manifest = manifest
        else:
            self._put(kind, manifest)
        self._refresh_entities()

    def delete(self, kind: str, key: str) -> None:
        """The object is gone: grace periods and finalizers are over."""
        self.speak()
        if kind == "Node":
            del self.nodes[key]
        elif kind == "Pod":
            del self.pods[key]
        elif kind in (LEAF, COMPOSITE):
            del self._groups_of(kind)[key]
        elif kind == "PodDisruptionBudget":
            del self.budgets[key]
        elif kind == "Namespace":
            self.namespaces.pop(key, None)
        self._refresh_entities()

    def speak(self) -> None:
        """The pods of trees that have been incomplete for long say so."""
        for name, since in self.incomplete.items():
            waiting = self.queued(name)
            if self.now >= since + SILENCE and not any(pod.gates for pod in waiting):
                for pod in waiting:
                    said = Condition("False", UNSCHEDULABLE, self._way(pod).flaw)
                    pod.conditions["PodScheduled"] = said

    def _put(self, kind: str, manifest: Manifest) -> None:
        metadata = manifest["metadata"]
        if kind == "Node":
            self.nodes[metadata["name"]] = manifest
        elif kind == "PodDisruptionBudget":
            self.budgets[key_of(manifest)] = manifest
        elif kind == "Namespace":
            self.namespaces[metadata["name"]] = metadata.get("labels") or {}

    def _groups_of(self, kind: str) -> dict[str, Group]:
        return self.groups if kind == LEAF else self.composites

    def _new_pod(self, manifest: Manifest) -> Pod:
        self._arrivals += 1
        pod = Pod(manifest, arrival=self._arrivals, entered_at=self.now, conditions=_observed(manifest))
        pod.node = manifest["spec"].get("nodeName") or None
        if pod.node is None:
            pod.hope = manifest.get("status", {}).get("nominatedNodeName")
        if pod.gates:
            blocked = "Scheduling is blocked due to non-empty scheduling gates"
            pod.conditions["PodScheduled"] = Condition("False", "SchedulingGated", blocked)
        return pod

    def _check_scope(self, manifest: Manifest) -> None:
        kind, spec = manifest["kind"], manifest.get("spec", {})
        used = [name for name in OUTSIDE.get(kind, ()) if spec.get(name)]
        if used:
            raise OutOfScope(f"{kind} {manifest['metadata']['name']}: {', '.join(used)}")

    # ---- what is there

    def pod(self, key: str) -> Pod | None:
        return self.pods.get(key)

    def condition(self, kind: str, key: str, condition_type: str) -> Condition | None:
        subject = self.pods.get(key) if kind == "Pod" else self._groups_of(kind).get(key)
        return subject.conditions.get(condition_type) if subject else None

    def bindings(self) -> dict[str, str]:
        """Every pod that has a node, terminal ones included, with that node."""
        return {key: pod.node for key, pod in self.pods.items() if pod.node is not None}

    def forest(self) -> Groups:
        """All groups by subject."""
        found = {f"{LEAF}/{key}": group.manifest for key, group in self.groups.items()}
        found |= {f"{COMPOSITE}/{key}": group.manifest for key, group in self.composites.items()}
        return found

    def cluster(self, priority: int | None = None, entity: str | None = None) -> list[Host]:
        """Nodes by name, each with the pods that use it.

        For pods of `priority` in `entity`, those of other entities keep what they are nominated to if
        their rank is not lower.
        """
        hosts = [Host(self.nodes[name], namespaces=self.namespaces) for name in sorted(self.nodes)]
        by_name = {host.name: host for host in hosts}
        for pod in self.pods.values():
            if pod.node in by_name and not pod.is_terminal:
                by_name[pod.node].pods.append(pod.manifest)
            elif priority is not None and pod.hope in by_name and self._is_queued(pod):
                keeps = priority_of(pod.manifest) >= priority and self.entity_of(pod) != entity
                by_name[pod.hope].promised += [pod.manifest] if keeps else []
        return hosts

    def entity_of(self, pod: Pod) -> str:
        """The entity as which the pod waits, or would if it did."""
        if pod.group is None:
            return f"Pod/{key_of(pod.manifest)}"
        if pod.group not in self._entities_of:
            way = self._way(pod)
            root = way.groups[-1] if way.flaw is None else way.missing or f"{LEAF}/{pod.group}"
            self._entities_of[pod.group] = root
        return self._entities_of[pod.group]

    def _way(self, pod: Pod) -> Way:
        return way_up(self.forest(), f"{LEAF}/{pod.group}")

    def _is_queued(self, pod: Pod) -> bool:
        ours = scheduler_of(pod.manifest) in self._scheduler_names
        return ours and pod.node is None and not pod.is_terminal and not pod.dropped

    def queued(self, entity: str) -> list[Pod]:
        """The waiting pods of the entity in the order in which they are tried: PodGroup by PodGroup as the
        tree has them, then more attempts first, then who entered the queue earlier, then arrival, then name.
        """
        pods = [pod for pod in self.pods.values() if self._is_queued(pod) and self.entity_of(pod) == entity]
        leaves = [leaf.key for leaf in self._bare_tree(entity).leaves()] if entity in self.entities else []
        return sorted(
            pods,
            key=lambda pod: (
                leaves.index(pod.group) if pod.group in leaves else 0,
                -pod.attempts,
                pod.entered_at,
                pod.arrival,
                key_of(pod.manifest),
            ),
        )

    def _bare_tree(self, entity: str) -> Tree:
        if entity.startswith("Pod/"):
            return Tree(entity, {})
        return tree_of(self.forest(), entity)

    def tree(self, root: str) -> Tree:
        """The tree with the pods that wait and run in it."""
        tree = self._bare_tree(root)
        waiting = self.queued(root)
        for leaf in tree.leaves():
            leaf.waiting = [pod.manifest for pod in waiting if pod.group == leaf.key]
            leaf.running = [(pod.manifest, str(pod.node)) for pod in self.scheduled(leaf.key)]
        return tree

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
        name, flaw = key.partition("/")[2], self._way(queued[0]).flaw
        if flaw is not None:
            missing = f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'
            return missing if kind == LEAF and key not in self.groups else flaw
        if is_ready(self.forest(), entity, self.created):
            return None
        if kind == LEAF:
            return "waiting for minCount pods from a gang to appear in scheduling queue"
        return f'waiting for composite pod group "{name}" tree to meet quorum'

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
        if backing_off and not entity.startswith("Pod/"):
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
        manifest = queued[0].manifest if kind == "Pod" else self._groups_of(kind)[key].manifest
        oldest = min(pod.arrival for pod in queued)
        uid = manifest["metadata"].get("uid", "")
        return -priority_of(manifest), self.entities[entity].timestamp, oldest, key, uid

    def active(self) -> list[str]:
        """The active lane, in the order in which it is tried."""
        return sorted((name for name in self.entities if self.lane(name) == ACTIVE), key=self.rank)

    def could_act(self, entity: str) -> bool:
        """Would an attempt made now bind or evict a pod, or nominate one elsewhere?

        Backoff does not matter, gates do.
        """
        record = self.entities.get(entity)
        return record is not None and self.gate(entity) is None and self._changes(self._attempted(entity))

    def _changes(self, outcome: Outcome) -> bool:
        hopes = any(self.pods[key].hope != node for key, node in self._hopes_after(outcome).items())
        return bool(outcome.bound) or bool(self._to_evict(outcome)) or hopes

    def _to_evict(self, outcome: Outcome) -> list[str]:
        """The victims that are not being deleted anyway."""
        return [key for key in outcome.victims if not is_deleting(self.pods[key].manifest)]

    def _hopes_after(self, outcome: Outcome) -> dict[str, str | None]:
        """The nominated nodes of those who are in the attempt and stay behind.

        A single pod that has candidates sends those of lower priority away from its node.
        """
        if outcome.hopes is None:
            return {}
        after: dict[str, str | None] = {key: outcome.hopes.get(key) for key in outcome.refused}
        for key, node in outcome.hopes.items():
            mine = self.pods[key]
            for other, pod in self.pods.items():
                lower = priority_of(pod.manifest) < priority_of(mine.manifest)
                if mine.group is None and pod.hope == node and self._is_queued(pod) and lower:
                    after[other] = None
        return after

    def would_end_otherwise(self, entity: str) -> bool:
        """Is a refused entity worth an attempt?

        It is, if its verdict would be another or change something, or if a member was never tried.
        """
        before = self.entities[entity].failure
        after = self._attempted(entity)
        untried = any(pod.attempts == 0 for pod in self.queued(entity))
        return before is None or untried or before.verdict != after.verdict or self._changes(after)

    def would_read_otherwise(self, entity: str) -> bool:
        """Would an attempt made now write other texts, though perhaps with the same verdict?"""
        outcome = self._attempted(entity)
        for key, said in outcome.refused.items():
            written = self.pods[key].conditions.get("PodScheduled")
            if written is None or written.message != said.message:
                return True
        for subject, said in outcome.groups.items():
            kind, _, key = subject.partition("/")
            written = self.condition(kind, key, INITIALLY[kind])
            if written is not None and written.status != "True" and written.message != said.message:
                return True
        return False

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
        self._write_hopes(outcome)
        self._write_pods(outcome)
        for subject, said in outcome.groups.items():
            kind, _, key = subject.partition("/")
            self._write_group(self._groups_of(kind)[key], INITIALLY[kind], said)
        for key in self._to_evict(outcome):
            self._evict(self.pods[key], entity)
        self._put_back(record, outcome)
        return Attempt(entity, record.attempts, self.now, outcome)

    def advance(self, to: int) -> list[Attempt]:
        """Let time pass until `to`, trying what falls due on the way."""
        attempts = self._try_all()
        while (due := self.next_due()) is not None and due <= to:
            self.now = max(self.now, due)
            attempts += self._try_all()
        self.now = max(self.now, to)
        self.speak()
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
        if entity not in self._foreseen:
            self._foreseen[entity] = self._attempt_in(self.world(entity), entity)
        return self._foreseen[entity]

    def _attempt_in(self, world: World, entity: str) -> Outcome:
        if entity.startswith("Pod/"):
            return attempt_pod(self.queued(entity)[0].manifest, world)
        return attempt_tree(self.tree(entity), world)

    def world(self, entity: str) -> World:
        """All that an attempt at the entity looks at, beside its pods."""
        queued = self.queued(entity)
        kind, _, key = entity.partition("/")
        ranked = queued[0].manifest if kind == "Pod" else self._groups_of(kind)[key].manifest
        everyone = sorted(self.pods.values(), key=lambda pod: pod.arrival)
        return World(
            self.cluster(priority_of(ranked), entity),
            running=[self._running(pod) for pod in everyone if pod.node is not None and not pod.is_terminal],
            budgets=list(self.budgets.values()),
            pods=[pod.manifest for pod in everyone],
            hopes={key_of(pod.manifest): pod.hope for pod in queued if pod.hope is not None},
        )

    def _running(self, pod: Pod) -> Running:
        """A pod on a node, as preemption sees it: it is ranked by the last group on the way to its root."""
        forest = self.forest()
        above = self._way(pod).groups if pod.group is not None else []
        whole = [subject for subject in above if goes_whole(forest[subject])]
        if not above:
            kind, ranked = POD if pod.group is None else GROUP, pod.manifest
        else:
            is_composite = bool(whole) and whole[-1].startswith(f"{COMPOSITE}/")
            kind, ranked = COMPOSITE_UNIT if is_composite else GROUP, forest[above[-1]]
        return Running(
            pod.manifest,
            str(pod.node),
            kind,
            priority_of(ranked),
            whole=whole[-1] if whole else None,
            evicted=pod.is_evicted,
        )

    def _write_hopes(self, outcome: Outcome) -> None:
        for key, node in self._hopes_after(outcome).items():
            self.pods[key].hope = node

    def _write_pods(self, outcome: Outcome) -> None:
        for key, node in outcome.bound.items():
            self.pods[key].node, self.pods[key].hope = node, None
            self.pods[key].conditions["PodScheduled"] = Condition("True")
        for key, said in outcome.refused.items():
            self.pods[key].conditions["PodScheduled"] = Condition("False", said.reason, said.message)
        for key in outcome.skipped:
            self.pods[key].dropped = True

    def _write_group(self, group: Group, condition: str, said: Said) -> None:
        """Once True, the condition stays True."""
        before = group.conditions.get(condition)
        if said.reason == SUCCESS:
            group.conditions[condition] = Condition("True", "Scheduled", "")
        elif before is None or before.status != "True":
            group.conditions[condition] = Condition("False", said.reason, said.message)

    def _evict(self, pod: Pod, preemptor: str) -> None:
        """Mark a victim; it keeps its room until whoever plays the kubelet says that it has ended."""
        kind, scheduler = (
            preemptor.partition("/")[0].lower(),
            scheduler_of(self.queued(preemptor)[0].manifest),
        )
        text = f"{scheduler}: preempting to accommodate a higher priority {kind}"
        pod.conditions["DisruptionTarget"] = Condition("True", PREEMPTED, text)
        forest = self.forest()
        if pod.group is not None and any(goes_whole(forest[above]) for above in self._way(pod).groups):
            self.groups[pod.group].conditions["DisruptionTarget"] = Condition("True", PREEMPTED, text)
        metadata = {**pod.manifest["metadata"], "deletionTimestamp": rfc3339(self.now)}
        pod.manifest = {**pod.manifest, "metadata": metadata}

    def _put_back(self, record: Entity, outcome: Outcome) -> None:
        """Failures count and renew the timestamp; a success clears both counts and backs nobody off."""
        if outcome.verdict == ERROR:
            record.errors += 1
        elif outcome.verdict in (UNSCHEDULABLE, WAITING):
            record.refusals += 1
            record.errors = 0
        else:
            record.refusals = record.errors = 0
        failed = outcome.verdict in (ERROR, UNSCHEDULABLE, WAITING)
        record.failure = outcome if failed else None
        record.timestamp = self.now if failed else record.timestamp
        self._refresh_entities()

    # ---- which entities there are

    def _refresh_entities(self) -> None:
        """Forget those of which nothing waits any more; a new one enters the queue now."""
        self._foreseen.clear()
        self._entities_of.clear()
        whole: set[str] = set()
        incomplete: set[str] = set()
        for pod in self.pods.values():
            if self._is_queued(pod):
                complete = pod.group is None or self._way(pod).flaw is None
                (whole if complete else incomplete).add(self.entity_of(pod))
        self.entities = {name: record for name, record in self.entities.items() if name in whole}
        for name in whole - self.entities.keys():
            self.entities[name] = Entity(name, timestamp=self.now)
        self.incomplete = {name: self.incomplete.get(name, self.now) for name in incomplete}
        self.speak()


def rfc3339(us: int) -> str:
    return datetime.fromtimestamp(us / SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _observed(manifest: Manifest) -> dict[str, Condition]:
    """The conditions that the manifest brings along."""
    return {
        given["type"]: Condition(given["status"], given.get("reason"), given.get("message"))
        for given in manifest.get("status", {}).get("conditions", [])
    }
