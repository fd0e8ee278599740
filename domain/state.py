"""The state of one cluster as of a position: what the log comes down to.

A State is mutable and belongs to whoever folds it; `copy` gives an independent one. Nothing in it
is true that the log does not say: it can be thrown away and folded again.
"""

from collections.abc import Iterator

import msgspec

from domain.budgets import Budget
from domain.errors import CorruptLog
from domain.events import SchedulerConfigured
from domain.manifests import Specs
from domain.node_facts import NodeFacts
from domain.nodes import NodeTable
from domain.objects import (
    TERMINAL_PHASES,
    Group,
    Kept,
    Members,
    NodeRecord,
    Pod,
    PodSpec,
    PriorityClassFacts,
    Standing,
)
from domain.peers import Peer
from domain.queue import Asks, Entity, Lane, Queue
from domain.shapes import PodShape

FORMAT = 4
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
        self.members: dict[str, Members] = {}
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
        """How many PodGroups have each priority."""
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

    def spec(self, pod: Pod) -> PodSpec:
        """What the spec of `pod` means for the scheduler."""
        return self.specs.all[pod.spec]

    def enlist(self, pod: Pod) -> None:
        """Count `pod` in its group and on its node; to be called once it is in its standing."""
        standing = self.standing(pod)
        if standing is Standing.ENDED:
            return
        spec = self.specs.all[pod.spec]
        if standing is Standing.BOUND:
            assert pod.node is not None
            self.nodes.take(pod.node, spec.shape, _peer(spec, pod))
            self.bound_priorities[spec.priority] = self.bound_priorities.get(spec.priority, 0) + 1
            if pod.disruption is not None:
                self.evicted[pod.key] = None
        elif pod.nominated is not None and standing is Standing.PENDING:
            self.nominated[pod.key] = None
        if pod.group is not None:
            members = self.members.get(pod.group)
            if members is None:
                members = self.members[pod.group] = Members()
            if standing is not Standing.PENDING:
                members.of(standing)[pod.key] = None
                return
            self._insert(members.pending, pod)
            if spec.gates:
                self._insert(members.gated, pod)
            members.dying += pod.deletion is not None

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
            self.nodes.give_back(pod.node, spec.shape, _peer(spec, pod))
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
                del members.pending[pod.key]
                members.gated.pop(pod.key, None)
                members.dying -= pod.deletion is not None
            else:
                del members.of(standing)[pod.key]
            if not (members.bound or members.pending or members.foreign):
                del self.members[pod.group]

    def put_group(self, group: Group) -> None:
        """Add a PodGroup, or take it for the one of its key."""
        before = self.groups.get(group.key)
        if before is not None:
            self._count_group(before, -1)
        self._count_group(group, 1)
        self.groups[group.key] = group

    def drop_group(self, key: str) -> Group | None:
        """Take a PodGroup away, and return it; None if there is none."""
        group = self.groups.pop(key, None)
        if group is not None:
            self._count_group(group, -1)
        return group

    def _count_group(self, group: Group, step: int) -> None:
        count = self.group_priorities.pop(group.priority, 0) + step
        if count:
            self.group_priorities[group.priority] = count

    def members_of(self, group: str) -> Members:
        """The Pods that name `group`; none if nobody does."""
        return self.members.get(group) or Members()

    def pending_of(self, entity: Entity) -> Iterator[Pod]:
        """The Pods that wait as `entity`, oldest first, dying ones included."""
        if entity.is_pod:
            yield self.pods[entity.key]
        else:
            for key in self.members_of(entity.key).pending:
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

    def entity_of(self, pod: Pod) -> Entity | None:
        """The entity in which `pod` waits; None if it does not wait."""
        name = f"Pod/{pod.key}" if pod.group is None else f"PodGroup/{pod.group}"
        if self.standing(pod) is not Standing.PENDING:
            return None
        return self.queue.entities.get(name)

    def lane_of(self, pod: Pod, now: int) -> Lane | None:
        """The lane in which `pod` waits at `now`; None if it does not wait."""
        entity = self.entity_of(pod)
        return None if entity is None else self.queue.lane(entity, now)

    def copy(self) -> "State":
        """An independent State that is equal to this one."""
        return decode_state(encode_state(self))


def _peer(spec: PodSpec, pod: Pod) -> Peer:
    return spec.peer if pod.deletion is None else msgspec.structs.replace(spec.peer, leaving=True)


class _Image(msgspec.Struct, array_like=True, kw_only=True):
    """A State as it is encoded; whatever can be derived from the rest is left out."""

    format: int
    position: int
    at: int
    config: SchedulerConfigured
    specs: list[PodSpec]
    pods: list[Pod]
    groups: list[Group]
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
    for group in image.groups:
        state.put_group(group)
    state.released = {group.key: None for group in image.groups if group.deletion is not None}
    for record, facts in image.nodes:
        state.node_records[record.key] = record
        state.nodes.put(facts)
    for pod in image.pods:
        state.pods[pod.key] = pod
        state.enlist(pod)
    state.priority_classes = image.priority_classes
    state.kept = {kind: {kept.key: kept for kept in objects} for kind, objects in image.kept.items()}
    state.budgets = {budget.key: budget for budget in image.budgets}
    state.queue.stirred = image.stirred
    state.queue.by_clock = image.config.retry == "byClock"
    for entity in image.entities:
        state.queue.put(entity, state.asks_of(entity) if entity.rejected else None)
    return state
