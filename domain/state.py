"""The state of one cluster as of a position: what the log comes down to.

A State is mutable and belongs to whoever folds it; `copy` gives an independent one. Nothing in it
is true that the log does not say: it can be thrown away and folded again.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from domain.budgets import Budget
from domain.errors import CorruptLog
from domain.events import SchedulerConfigured
from domain.forest import Chain, Forest, Tree
from domain.manifests import Specs
from domain.node_facts import NodeFacts
from domain.nodes import NodeTable
from domain.objects import (
    POD_GROUP,
    TERMINAL_PHASES,
    Group,
    Kept,
    Members,
    NodeRecord,
    Pod,
    PodSpec,
    PriorityClassFacts,
    Standing,
    Waiting,
)
from domain.peers import Peer
from domain.profile import DEFAULT_PROFILE, Profile
from domain.queue import Asks, Entity, Lane, Queue, Verdict
from domain.shapes import PodShape

FORMAT = 6
"""Version of the encoded form; a snapshot of another one is not used."""


class State:
    """One cluster. Pods and groups by `namespace/name`, nodes by name.

    `position` and `at` are those of the last event; `kept` has, by kind, the objects of which
    only identity and place in the log are remembered.
    """

    def __init__(self) -> None:
        self.position = 0
        self.at = 0
        self.config = SchedulerConfigured()
        self.pods: dict[str, Pod] = {}
        self.groups: dict[str, Group] = {}
        self.composites: dict[str, Group] = {}
        self.members: dict[str, Members] = {}
        self.forest = Forest(self.groups, self.composites, self.members)
        self._waiting: dict[str, Waiting] = {}
        self.nodes = NodeTable()
        self.node_records: dict[str, NodeRecord] = {}
        self.priority_classes: dict[str, PriorityClassFacts] = {}
        self.kept: dict[str, dict[str, Kept]] = {}
        self.queue = Queue()
        self.released: dict[str, None] = {}
        """PodGroups that are being deleted."""
        self.bound_priorities: dict[int, int] = {}
        """How many Pods on nodes have each priority."""
        self.nominated: dict[str, None] = {}
        """Pods in our queue that are nominated to a node."""
        self.evicted: dict[str, None] = {}
        """Pods on nodes that the scheduler has evicted and that have not ended."""
        self.group_priorities: dict[int, int] = {}
        """How many groups of either kind have each priority."""
        self.budgets: dict[str, Budget] = {}
        self.specs = Specs()

    def standing(self, pod: Pod) -> Standing:
        """Where `pod` stands for scheduling."""
        if pod.phase in TERMINAL_PHASES:
            return Standing.ENDED
        if pod.node is not None:
            return Standing.BOUND
        if self.spec(pod).scheduler in self.config.scheduler_names:
            return Standing.PENDING
        return Standing.FOREIGN

    def profile_for(self, pods: Iterable[Pod]) -> Profile:
        """The profile by which `pods` are scheduled, who all have one scheduler."""
        first = next(iter(pods), None)
        return DEFAULT_PROFILE if first is None else self.config.profile(self.spec(first).scheduler)

    def spec(self, pod: Pod) -> PodSpec:
        """What the spec of `pod` means for the scheduler."""
        return self.specs.all[pod.spec]

    def peer(self, pod: Pod) -> Peer:
        """What rules of other Pods see of `pod` as it is now."""
        peer = self.spec(pod).peer
        return peer if pod.deletion is None else msgspec.structs.replace(peer, leaving=True)

    @property
    def has_terms(self) -> bool:
        """Whether some Pod on a node, or nominated to one, has rules for the Pods near it."""
        return self.nodes.crowd.has_terms or any(
            self.spec(self.pods[key]).peer.terms is not None for key in self.nominated
        )

    def enlist(self, pod: Pod) -> None:
        """Count `pod` in its group and on its node; to be called once it is in its standing."""
        standing = self.standing(pod)
        if standing is Standing.ENDED:
            return
        if standing is Standing.BOUND:
            assert pod.node is not None
            self._take(pod.node, pod, 1)
            if pod.disruption is not None:
                self.evicted[pod.key] = None
        elif pod.nominated is not None and standing is Standing.PENDING:
            self.nominated[pod.key] = None
        if pod.group is not None:
            members = self.members.get(pod.group)
            if members is None:
                members = self.members[pod.group] = Members()
            if standing is Standing.PENDING:
                self._wait(members, pod)
            else:
                members.of(standing)[pod.key] = None
            if not self.forest.is_alone(pod.group):
                if standing is Standing.PENDING:
                    self._wait_above(pod)
                self.forest.count(pod.group)

    def bind(self, pod: Pod, node: str) -> None:
        """Put `pod`, which has no node yet, on `node`: as `delist`, the change, and `enlist`.

        One that leaves our queue for it counts in its group as before.
        """
        if self.standing(pod) is not Standing.PENDING:
            self.delist(pod)
            pod.node, pod.nominated = node, None
            self.enlist(pod)
            return
        self.nominated.pop(pod.key, None)
        pod.node, pod.nominated = node, None
        self._take(node, pod, 1)
        if pod.disruption is not None:
            self.evicted[pod.key] = None
        if pod.group is not None:
            members = self.members[pod.group]
            self._leave(members, pod)
            members.of(Standing.BOUND)[pod.key] = None
            if not self.forest.is_alone(pod.group):
                self._leave_above(pod)

    def found_pods(self, pods: Sequence[Pod]) -> None:
        """Add all its Pods to a State that has its groups: as `enlist` of one after the other, but faster.

        Those on nodes are counted together where node, spec and whether they are leaving are the same.
        """
        self.pods.update({pod.key: pod for pod in pods})
        places: dict[tuple[str, int, bool], Pod] = {}
        counts: dict[tuple[str, int, bool], int] = {}
        members = self.members
        for pod in pods:
            node = pod.node
            if node is None or pod.phase in TERMINAL_PHASES:
                self.enlist(pod)
                continue
            place = node, pod.spec, pod.deletion is not None
            known = counts.get(place)
            if known is None:
                places[place], counts[place] = pod, 1
            else:
                counts[place] = known + 1
            if pod.disruption is not None:
                self.evicted[pod.key] = None
            group = pod.group
            if group is not None:
                belonging = members.get(group)
                if belonging is None:
                    belonging = members[group] = Members()
                belonging.bound[pod.key] = None
        for place, pod in places.items():
            self._take(place[0], pod, counts[place])
        for group in members:
            self.forest.count(group)

    def _take(self, node: str, pod: Pod, count: int) -> None:
        """Count `count` Pods like `pod` on `node`."""
        spec = self.specs.all[pod.spec]
        self.nodes.take(node, spec.shape, self.peer(pod), count)
        self.bound_priorities[spec.priority] = self.bound_priorities.get(spec.priority, 0) + count

    def _wait(self, waiting: Waiting, pod: Pod) -> None:
        self._insert(waiting.pending, pod)
        if self.specs.all[pod.spec].gates:
            self._insert(waiting.gated, pod)
        if pod.deletion is not None:
            waiting.dying += 1

    def _wait_above(self, pod: Pod) -> None:
        """Count `pod`, whose group has a parent, among those who wait as one with it."""
        name = self.waits_as(pod)
        if not name.startswith(POD_GROUP):
            self._wait(self._waiting.setdefault(name, Waiting()), pod)

    def _insert(self, keys: dict[str, None], pod: Pod) -> None:
        """Add `pod` to `keys`, which stay in the order of arrival."""
        newest = next(reversed(keys), None)
        keys[pod.key] = None
        if newest is not None and self.pods[newest].arrival > pod.arrival:
            in_order = sorted(keys, key=lambda key: self.pods[key].arrival)
            keys.clear()
            keys.update(dict.fromkeys(in_order))

    def delist(self, pod: Pod) -> None:
        """Undo `enlist`; to be called before its standing changes."""
        standing = self.standing(pod)
        if standing is Standing.ENDED:
            return
        if standing is Standing.BOUND:
            assert pod.node is not None
            spec = self.spec(pod)
            self.nodes.give_back(pod.node, spec.shape, self.peer(pod))
            left = self.bound_priorities[spec.priority] - 1
            if left:
                self.bound_priorities[spec.priority] = left
            else:
                del self.bound_priorities[spec.priority]
            self.evicted.pop(pod.key, None)
        self.nominated.pop(pod.key, None)
        if pod.group is not None:
            members = self.members[pod.group]
            if standing is Standing.PENDING:
                self._leave(members, pod)
            else:
                del members.of(standing)[pod.key]
            if not (members.bound or members.pending or members.foreign):
                del self.members[pod.group]
            if not self.forest.is_alone(pod.group):
                if standing is Standing.PENDING:
                    self._leave_above(pod)
                self.forest.count(pod.group)

    def _leave(self, waiting: Waiting, pod: Pod) -> None:
        del waiting.pending[pod.key]
        waiting.gated.pop(pod.key, None)
        if pod.deletion is not None:
            waiting.dying -= 1

    def _leave_above(self, pod: Pod) -> None:
        """Undo `_wait_above`."""
        name = self.waits_as(pod)
        if (waiting := self._waiting.get(name)) is not None:
            self._leave(waiting, pod)
            if not waiting.pending:
                del self._waiting[name]

    def groups_of(self, kind: str) -> dict[str, Group]:
        """The groups of a kind, by key."""
        return self.groups if kind == POD_GROUP else self.composites

    def group_of(self, subject: str) -> Group | None:
        """The group that `subject` names, if it exists."""
        kind, _, key = subject.partition("/")
        return self.groups_of(kind).get(key)

    def leaves_of(self, kind: str, key: str) -> list[str]:
        """The PodGroups of a tree, by key: itself, or those below a composite, which need not exist."""
        return [key] if kind == POD_GROUP else [leaf.key for leaf in self.forest.leaves(key)]

    def put_group(self, group: Group) -> tuple[str, ...]:
        """Add a group, or take it for the one of its kind and key; the entities that it concerns."""
        return self._exchange(group.kind, group.key, group)

    def drop_group(self, kind: str, key: str) -> tuple[str, ...]:
        """Take a group away; the entities that it concerns."""
        return self._exchange(kind, key, None)

    def _exchange(self, kind: str, key: str, group: Group | None) -> tuple[str, ...]:
        """Put `group` where one is or may be; the names of all entities this makes, changes or ends."""
        if self._stays_alone(kind, key, group):
            self._put_in_place(kind, key, group)
            return (f"{POD_GROUP}/{key}",)
        leaves = self.leaves_of(kind, key)
        moved = [self.pods[pod] for leaf in leaves for pod in self.members_of(leaf).pending]
        of_these = [*((leaf, POD_GROUP) for leaf in leaves), (key, kind)]
        concerned = dict.fromkeys(self.forest.waits_as(*each) for each in of_these)
        for pod in moved:
            self._leave_above(pod)
        self._put_in_place(kind, key, group)
        for pod in moved:
            self._wait_above(pod)
        concerned.update(dict.fromkeys(self.forest.waits_as(*each) for each in of_these))
        return tuple(concerned)

    def _stays_alone(self, kind: str, key: str, group: Group | None) -> bool:
        """Whether this is a PodGroup without a parent, before and after: its Pods wait as they did."""
        return kind == POD_GROUP and self.forest.is_alone(key) and (group is None or group.parent is None)

    def _put_in_place(self, kind: str, key: str, group: Group | None) -> None:
        """Put `group` where one is or may be, whoever waits as it."""
        groups = self.groups_of(kind)
        before = groups.get(key)
        if group is not None:
            groups[key] = group
            self._count_group(group, 1)
        else:
            del groups[key]
        if before is not None:
            self._count_group(before, -1)
            self.forest.drop(before)
        if group is not None:
            self.forest.put(group)

    def found_groups(self, groups: Iterable[Group]) -> None:
        """Add all its groups to a State that has no Pods yet: as `put_group` of one after the other."""
        for group in groups:
            self.groups_of(group.kind)[group.key] = group
            self._count_group(group, 1)
            self.forest.put(group)

    def _count_group(self, group: Group, step: int) -> None:
        count = self.group_priorities.pop(group.priority, 0) + step
        if count:
            self.group_priorities[group.priority] = count

    def members_of(self, group: str) -> Members:
        """The Pods that name `group`; none if nobody does."""
        return self.members.get(group) or Members()

    def waiting_as(self, name: str) -> Waiting:
        """The Pods that wait as the entity `name`, which is no single Pod; none if nobody does."""
        kind, _, key = name.partition("/")
        if kind != POD_GROUP:
            return self._waiting.get(name) or Waiting()
        whole = self.forest.is_alone(key) or self.forest.waits_as(key) == name
        return self.members_of(key) if whole else Waiting()

    def queued_with(self, group: str) -> tuple[str, Waiting]:
        """The name of the entity as which Pods of `group` wait, and all who wait as it."""
        if self.forest.is_alone(group):
            return f"{POD_GROUP}/{group}", self.members.get(group) or Waiting()
        name = self.forest.waits_as(group)
        return name, self.waiting_as(name)

    def pending_of(self, entity: Entity) -> Iterator[Pod]:
        """The Pods that wait as `entity`, oldest first, dying ones included."""
        if entity.is_pod:
            yield self.pods[entity.key]
        else:
            for key in self.waiting_as(entity.name).pending:
                yield self.pods[key]

    def asks_of(self, entity: Entity) -> Asks:
        """What `entity` asks for, without its Pods that are being deleted."""
        shapes: dict[PodShape, None] = {}
        pods = 0
        for pod in self.pending_of(entity):
            if pod.deletion is None:
                shapes[self.specs.all[pod.spec].shape] = None
                pods += 1
        return Asks(tuple(shapes), pods)

    def root_of(self, group: str) -> Chain:
        """The way from the PodGroup `group`, which need not exist, up to the root of its tree."""
        return self.forest.chain(POD_GROUP, group)

    def tree_of(self, entity: Entity) -> Tree:
        """The tree of groups that waits as `entity`, whose root exists."""
        root = self.group_of(entity.name)
        assert root is not None, f"{entity.name} has no root"
        return self.forest.tree(root)

    def waits_as(self, pod: Pod) -> str:
        """The name of the entity as which `pod` waits, or would if it did."""
        return f"Pod/{pod.key}" if pod.group is None else self.forest.waits_as(pod.group)

    def entity_of(self, pod: Pod) -> Entity | None:
        """The entity in which `pod` waits; None if it does not wait."""
        if self.standing(pod) is not Standing.PENDING:
            return None
        return self.queue.entities.get(self.waits_as(pod))

    def entity_with(self, kind: str, key: str) -> Entity | None:
        """The entity in which Pods below the group of `kind` and `key` wait; None if none do."""
        waiting = (leaf for leaf in self.leaves_of(kind, key) if self.members_of(leaf).pending)
        leaf = next(waiting, None)
        return None if leaf is None else self.queue.entities[self.forest.waits_as(leaf)]

    def lane_of(self, pod: Pod, now: int) -> Lane | None:
        """The lane in which `pod` waits at `now`; None if it does not wait."""
        entity = self.entity_of(pod)
        return None if entity is None else self.queue.lane(entity, now)

    def copy(self) -> "State":
        """An independent State that is equal to this one."""
        return decode_state(encode_state(self))


class _Image(msgspec.Struct, array_like=True, kw_only=True):
    """A State as it is encoded; whatever can be derived from the rest is left out."""

    format: int
    position: int
    at: int
    config: SchedulerConfigured
    specs: list[PodSpec]
    pods: list[Pod]
    groups: list[Group]
    composites: list[Group]
    nodes: list[tuple[NodeRecord, NodeFacts]]
    priority_classes: dict[str, PriorityClassFacts]
    kept: dict[str, list[Kept]]
    budgets: list[Budget]
    namespaces: dict[str, dict[str, str]]
    entities: list[Entity]
    stirred: list[int]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Image).decode


def encode_state(state: State) -> bytes:
    """`state` in bytes: equal States give equal bytes, however they came about."""
    return _encode(
        _Image(
            format=FORMAT,
            position=state.position,
            at=state.at,
            config=state.config,
            specs=state.specs.all,
            pods=list(state.pods.values()),
            groups=list(state.groups.values()),
            composites=list(state.composites.values()),
            nodes=[(record, state.nodes.facts(name)) for name, record in state.node_records.items()],
            priority_classes=state.priority_classes,
            kept={kind: list(objects.values()) for kind, objects in sorted(state.kept.items()) if objects},
            budgets=[state.budgets[key] for key in sorted(state.budgets)],
            namespaces=dict(sorted(state.nodes.crowd.namespaces.items())),
            entities=[state.queue.entities[name] for name in sorted(state.queue.entities)],
            stirred=state.queue.stirred,
        )
    )


def decode_state(body: bytes) -> State:
    """The State that `body` encodes. Raises CorruptLog if it encodes none of this format."""
    try:
        image = _decode(body)
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not a state: {error}") from error
    if image.format != FORMAT:
        raise CorruptLog(f"a state of format {image.format}, not {FORMAT}")
    state = State()
    state.position, state.at, state.config = image.position, image.at, image.config
    state.specs = Specs(image.specs)
    state.nodes.crowd.namespaces.update(image.namespaces)
    state.found_groups((*image.composites, *image.groups))
    state.released = {group.key: None for group in image.groups if group.deletion is not None}
    for record, facts in image.nodes:
        state.node_records[record.key] = record
        state.nodes.put(facts)
    state.found_pods(image.pods)
    state.priority_classes = image.priority_classes
    state.kept = {kind: {kept.key: kept for kept in objects} for kind, objects in image.kept.items()}
    state.budgets = {budget.key: budget for budget in image.budgets}
    state.queue.stirred = image.stirred
    state.queue.by_clock = image.config.retry == "byClock"
    for entity in image.entities:
        state.queue.put(entity, state.asks_of(entity) if entity.verdict is not Verdict.UNTRIED else None)
    return state
