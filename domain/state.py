"""The state of one cluster as of a position: what the log comes down to.

A State is mutable and belongs to whoever folds it; `copy` gives an independent one. Nothing in it
is true that the log does not say: it can be thrown away and folded again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from domain.budgets import Budget
from domain.columns import GroupColumns, PodColumns, counted, together
from domain.errors import CorruptLog
from domain.events import SchedulerConfigured
from domain.forest import Chain, Forest, Tree
from domain.manifests import Specs
from domain.node_facts import NodeFacts
from domain.nodes import NodeTable
from domain.objects import (
    COMPOSITE,
    POD_GROUP,
    TERMINAL_PHASES,
    Exceptions,
    Group,
    Kept,
    Keys,
    Members,
    NodeRecord,
    Pod,
    PriorityClassFacts,
    Standing,
    Waiting,
    with_one,
    without,
)
from domain.peers import Peer
from domain.profile import DEFAULT_PROFILE, Profile
from domain.queue import Asks, Entity, Lane, Queue, Verdict
from domain.roster import Rows
from domain.shapes import PodShape

FORMAT = 7
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
        if pod.spec.scheduler in self.config.scheduler_names:
            return Standing.PENDING
        return Standing.FOREIGN

    def profile_for(self, pods: Iterable[Pod]) -> Profile:
        """The profile by which `pods` are scheduled, who all have one scheduler."""
        first = next(iter(pods), None)
        return DEFAULT_PROFILE if first is None else self.config.profile(first.spec.scheduler)

    def peer(self, pod: Pod) -> Peer:
        """What rules of other Pods see of `pod` as it is now."""
        peer = pod.spec.peer
        return peer if pod.deletion is None else msgspec.structs.replace(peer, leaving=True)

    @property
    def has_terms(self) -> bool:
        """Whether some Pod on a node, or nominated to one, has rules for the Pods near it."""
        return self.nodes.crowd.has_terms or any(
            self.pods[key].spec.peer.terms is not None for key in self.nominated
        )

    def name_of_group(self, key: str | None) -> str | None:
        """`key`, the very object by which its group or Pods of it are known, if there are any."""
        if key is None:
            return None
        if (group := self.groups.get(key)) is not None:
            return group.key
        members = self.members.get(key)
        return key if members is None else self.pods[members.first].group

    def name_of_node(self, key: str | None) -> str | None:
        """`key`, the very object by which its node is known, if there is one."""
        record = None if key is None else self.node_records.get(key)
        return key if record is None else record.key

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
                members.add(standing, pod.key)
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
            members.add(Standing.BOUND, pod.key)
            if not self.forest.is_alone(pod.group):
                self._leave_above(pod)

    def found_pods(self, pods: Sequence[Pod], table: PodColumns) -> None:
        """Add all its Pods, which `table` was read to, to a State that has its groups.

        It is as `enlist` of one after the other, but those on nodes are counted together: on a node
        where spec and whether they are leaving are the same, and in a group.
        """
        self.pods.update(zip(table.keys, pods, strict=True))
        ended = table.phases.those(TERMINAL_PHASES.__contains__)
        on_nodes = ~ended & table.nodes.those(_is_named)
        self._found_on_nodes(pods, table, np.flatnonzero(on_nodes))
        self._found_in_groups(pods, table, np.flatnonzero(on_nodes & table.groups.those(_is_named)))
        for row in np.flatnonzero(~ended & ~on_nodes).tolist():
            self.enlist(pods[row])
        for group in self.groups.values():
            if group.parent is not None:
                self.forest.count(group.key)

    def _found_on_nodes(self, pods: Sequence[Pod], table: PodColumns, rows: Rows) -> None:
        leaving = table.exceptions.those(_is_leaving)
        for row, count in counted(rows, table.nodes.which, table.specs.which, leaving):
            pod = pods[row]
            assert pod.node is not None
            self._take(pod.node, pod, count)
        evicted = rows[table.exceptions.those(_is_evicted)[rows]]
        self.evicted = {pods[row].key: None for row in evicted.tolist()}

    def _found_in_groups(self, pods: Sequence[Pod], table: PodColumns, rows: Rows) -> None:
        for row, keys in together(rows, table.groups.which, table.keys):
            group = pods[row].group
            assert group is not None
            self.members[group] = Members(bound=dict.fromkeys(keys))

    def _take(self, node: str, pod: Pod, count: int) -> None:
        """Count `count` Pods like `pod` on `node`."""
        spec = pod.spec
        self.nodes.take(node, spec.shape, self.peer(pod), count)
        self.bound_priorities[spec.priority] = self.bound_priorities.get(spec.priority, 0) + count

    def _wait(self, waiting: Waiting, pod: Pod) -> None:
        waiting.pending = self._inserted(waiting.pending, pod)
        if pod.spec.gates:
            waiting.gated = self._inserted(waiting.gated, pod)
        if pod.deletion is not None:
            waiting.dying += 1

    def _wait_above(self, pod: Pod) -> None:
        """Count `pod`, whose group has a parent, among those who wait as one with it."""
        name = self.waits_as(pod)
        if not name.startswith(POD_GROUP):
            self._wait(self._waiting.setdefault(name, Waiting()), pod)

    def _inserted(self, keys: Keys, pod: Pod) -> Keys:
        """`keys` and `pod`, in the order of arrival, in which `keys` are."""
        newest = next(reversed(keys), None)
        keys = with_one(keys, pod.key)
        if newest is not None and self.pods[newest].arrival > pod.arrival:
            return dict.fromkeys(sorted(keys, key=lambda key: self.pods[key].arrival))
        return keys

    def delist(self, pod: Pod) -> None:
        """Undo `enlist`; to be called before its standing changes."""
        standing = self.standing(pod)
        if standing is Standing.ENDED:
            return
        if standing is Standing.BOUND:
            assert pod.node is not None
            spec = pod.spec
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
                members.remove(standing, pod.key)
            if not (members.bound or members.pending or members.foreign):
                del self.members[pod.group]
            if not self.forest.is_alone(pod.group):
                if standing is Standing.PENDING:
                    self._leave_above(pod)
                self.forest.count(pod.group)

    def _leave(self, waiting: Waiting, pod: Pod) -> None:
        waiting.pending = without(waiting.pending, pod.key)
        waiting.gated = without(waiting.gated, pod.key)
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

    def bound_below(self, kind: str, key: str) -> list[Pod]:
        """The Pods of a PodGroup, or of all those below a composite, that are on nodes, oldest first."""
        leaves = self.leaves_of(kind, key)
        bound = [self.pods[pod] for leaf in leaves for pod in self.members_of(leaf).bound]
        return sorted(bound, key=lambda pod: pod.arrival)

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

    def found_groups(self, groups: Sequence[Group]) -> None:
        """Add all its groups to a State that has no Pods yet: as `put_group` of one after the other."""
        for group in groups:
            self.groups_of(group.kind)[group.key] = group
            if group.kind == COMPOSITE or group.parent is not None:  # no other can matter to the forest yet
                self.forest.put(group)
        self.group_priorities = dict(Counter(group.priority for group in groups))

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
                shapes[pod.spec.shape] = None
                pods += 1
        return Asks(tuple(shapes), pods, self._chosen_keys(entity))

    def _chosen_keys(self, entity: Entity) -> tuple[str, ...]:
        """The labels of which groups below the root of `entity` have to be in one domain."""
        if entity.is_pod or entity.kind == POD_GROUP or self.group_of(entity.name) is None:
            return ()
        _, *below = self.tree_of(entity).groups()
        return tuple(sorted({group.topology_key for group in below if group.topology_key is not None}))

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
        return pod.subject if pod.group is None else self.forest.waits_as(pod.group)

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


def _is_named(key: str | None) -> bool:
    return key is not None


def _is_leaving(exceptions: Exceptions) -> bool:
    return exceptions.deletion is not None


def _is_evicted(exceptions: Exceptions) -> bool:
    return exceptions.disruption is not None


class _Image(msgspec.Struct, array_like=True, kw_only=True):
    """A State as it is encoded; whatever can be derived from the rest is left out."""

    format: int
    position: int
    at: int
    config: SchedulerConfigured
    pods: PodColumns
    groups: GroupColumns
    composites: GroupColumns
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
            pods=PodColumns.of(list(state.pods.values())),
            groups=GroupColumns.of(list(state.groups.values())),
            composites=GroupColumns.of(list(state.composites.values())),
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
        composites, groups = image.composites.read(), image.groups.read()
        names = (*image.groups.keys, *(record.key for record, _ in image.nodes))
        specs = Specs()
        image.pods.specs.values = list(map(specs.shared, image.pods.specs.values))
        pods = image.pods.read({name: name for name in names})
    except (msgspec.DecodeError, ValueError) as error:
        raise CorruptLog(f"not a state: {error}") from error
    if image.format != FORMAT:
        raise CorruptLog(f"a state of format {image.format}, not {FORMAT}")
    state = State()
    state.position, state.at, state.config = image.position, image.at, image.config
    state.specs = specs
    state.nodes.crowd.namespaces.update(image.namespaces)
    state.found_groups((*composites, *groups))
    state.released = {group.key: None for group in groups if group.deletion is not None}
    for record, facts in image.nodes:
        state.node_records[record.key] = record
        state.nodes.put(facts)
    state.found_pods(pods, image.pods)
    state.priority_classes = image.priority_classes
    state.kept = {kind: {kept.key: kept for kept in objects} for kind, objects in image.kept.items()}
    state.budgets = {budget.key: budget for budget in image.budgets}
    state.queue.stirred = image.stirred
    state.queue.by_clock = image.config.retry == "byClock"
    for entity in image.entities:
        state.queue.put(entity, state.asks_of(entity) if entity.verdict is not Verdict.UNTRIED else None)
    return state
