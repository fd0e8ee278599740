"""The scheduling cycle: from a State and a moment to one decision, which is one batch of events.

Source: kube-scheduler 1.37, `schedule_one` and `schedule_one_podgroup`; KEP-4671. Every node is
looked at, ties go to the smaller name, arithmetic is whole numbers: the same State and moment give
the same bytes on every machine.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from domain.events import (
    GroupAttempted,
    GroupFinding,
    Payload,
    PodBound,
    PodEvicted,
    PodNominated,
    ShapeFinding,
)
from domain.forest import Tree
from domain.objects import COMPOSITE, POD_GROUP, Group, Pod
from domain.queue import Entity, Verdict
from domain.reducer import findings_digest
from domain.room import Room
from domain.scheduling import texts
from domain.scheduling.branch import Branch
from domain.scheduling.diagnosis import diagnose
from domain.scheduling.homogeneity import disagreement
from domain.scheduling.leaf import Member, nominated_row
from domain.scheduling.place import place
from domain.scheduling.placements import Running
from domain.scheduling.preemption import Answer, Rerun, preempt_for_group, preempt_for_pod, room_for
from domain.scheduling.record import group_findings, shape_finding, shape_findings
from domain.scheduling.rules import rules_in_play, shaped
from domain.scheduling.tree import Status, fail_tree, give_up, run_tree
from domain.state import State
from domain.version import SCHEDULER


@dataclass(frozen=True)
class Decision:
    """What a cycle decided on the State of position `snapshot`, at `at` microseconds.

    `payloads` are the batch to append, GroupAttempted first. The decision relies on `pods` (their
    keys), on `groups` (subjects of the whole tree), on `nodes` having the room that the snapshot showed,
    on `anchors`, whose labels hold a group to its domain, and on `victims` (keys of the Pods that it
    evicts). `cause` is the position of the change that brought it about. With `rules`
    about other Pods in play it relies on whatever runs, on all nodes, and on the labels of namespaces.
    """

    snapshot: int
    at: int
    payloads: tuple[Payload, ...]
    pods: frozenset[str]
    groups: frozenset[str]
    nodes: frozenset[str]
    victims: frozenset[str]
    cause: int
    anchors: frozenset[str] = frozenset()
    rules: bool = False

    @property
    def attempt(self) -> GroupAttempted:
        """The attempt that this decision is."""
        first = self.payloads[0]
        assert isinstance(first, GroupAttempted)
        return first


def decide(state: State, now: int) -> Decision | None:
    """Try the entity that is first in line at `now`; None if none is due. `state` stays as it is."""
    entity = state.queue.first_due(now)
    if entity is None:
        return None
    tree = None if entity.is_pod else state.tree_of(entity)
    if tree is None:
        waiting = list(state.pending_of(entity))
        found = _try_pod(state, waiting[0])
    else:
        waiting = [pod for leaf in tree.leaves() for pod in pending_in(state, leaf)]
        found = _try_tree(state, tree, waiting)
    attempt = _attempt(state, entity, now, found)
    evictions = tuple(_evictions(state, entity, waiting[0], found, now))
    bindings = [
        PodBound(pod=pod.key, uid=pod.uid, group=pod.group, node=node) for pod, node in found.bindings
    ]
    nodes = {node for _, node in found.bindings}
    if evictions and found.nominations is not None:
        nodes.update(found.nominations.values())
    return Decision(
        snapshot=state.position,
        at=now,
        payloads=(attempt, *bindings, *_nominations(state, entity, waiting, found), *evictions),
        pods=frozenset(pod.key for pod in waiting),
        groups=frozenset(finding.group for finding in found.groups),
        nodes=frozenset(nodes),
        victims=frozenset(eviction.pod for eviction in evictions),
        cause=state.queue.woken_at(entity),
        anchors=frozenset() if tree is None else frozenset(_anchors(state, tree)),
        rules=rules_in_play(state, waiting),
    )


def pending_in(state: State, leaf: Tree) -> list[Pod]:
    """The Pods that wait in a PodGroup, in the order in which they are tried."""
    return sorted((state.pods[key] for key in state.members_of(leaf.group.key).pending), key=_turn)


def _turn(pod: Pod) -> tuple[int, int, int, str]:
    """Who of a group is tried first: those that failed more often, then the older ones."""
    return (-pod.attempts, pod.queued_us, pod.arrival, pod.key)


@dataclass(frozen=True)
class _Found:
    """The findings of an attempt.

    `bindings` are Pods with the names of their nodes, in order. `nominations` are the nodes that its
    Pods hope for from now on, None to leave them; `victims` have to end for that.
    """

    outcome: str
    lean: bool = False
    groups: tuple[GroupFinding, ...] = ()
    shapes: tuple[ShapeFinding, ...] = ()
    skipped: tuple[str, ...] = ()
    bindings: tuple[tuple[Pod, str], ...] = ()
    nominations: Mapping[str, str] | None = field(default_factory=dict)
    victims: tuple[Pod, ...] = ()


def _nominations(
    state: State, entity: Entity, waiting: Sequence[Pod], found: _Found
) -> Iterator[PodNominated]:
    """What changes in whom is nominated where.

    A single Pod that preempts sends those of lower priority away from its node.
    """
    if found.nominations is None:
        return
    bound = {pod.key for pod, _ in found.bindings}
    skipped = set(found.skipped)
    for pod in waiting:
        node = found.nominations.get(pod.key)
        if node != pod.nominated and pod.key not in bound and pod.key not in skipped:
            yield PodNominated(pod=pod.key, uid=pod.uid, group=pod.group, node=node)
    if entity.is_pod:
        for node in found.nominations.values():
            for key in sorted(state.nominated):
                other = state.pods[key]
                if other.nominated == node and other.spec.priority < entity.priority:
                    yield PodNominated(pod=key, uid=other.uid, group=other.group, node=None)


def _evictions(state: State, entity: Entity, first: Pod, found: _Found, now: int) -> Iterator[PodEvicted]:
    """The victims that are not being deleted anyway."""
    kind = entity.name.partition("/")[0].lower()
    message = texts.disruption(first.spec.scheduler, kind)
    for pod in found.victims:
        if pod.deletion is None and pod.node is not None:
            yield PodEvicted(
                at=now,
                grace=pod.spec.grace,
                group=pod.group,
                message=message,
                node=pod.node,
                pod=pod.key,
                preemptor=entity.name,
                uid=pod.uid,
            )


def _attempt(state: State, entity: Entity, now: int, found: _Found) -> GroupAttempted:
    attempt = GroupAttempted(
        at=now,
        entity=entity.name,
        groups=found.groups,
        lean=found.lean,
        number=entity.attempts + 1,
        outcome=found.outcome,
        scheduler=SCHEDULER,
        shapes=found.shapes,
        skipped=found.skipped,
        snapshot=state.position,
        victims=tuple(pod.key for pod in found.victims),
    )
    unchanged = entity.verdict is not Verdict.UNTRIED and entity.changed <= entity.snapshot
    if unchanged and findings_digest(attempt) == entity.findings:
        return GroupAttempted(
            at=now,
            entity=entity.name,
            number=attempt.number,
            outcome=attempt.outcome,
            same_as=entity.findings_at,
            scheduler=SCHEDULER,
            snapshot=attempt.snapshot,
        )
    return attempt


def _try_pod(state: State, pod: Pod) -> _Found:
    room = room_for(state, pod.spec.priority, [pod])
    ((_, shape),) = shaped(state, [pod])
    nominated = nominated_row(room, pod, shape)
    rows = place(room, shape, 1) if nominated is None else [nominated]
    if rows:
        return _Found("scheduled", bindings=((pod, room.names[rows[0]]),))
    diagnosis = diagnose(room, shape)
    if not diagnosis.total:
        return _Found("unschedulable", shapes=(shape_finding(shape, diagnosis, (pod.key,)),))
    answer = preempt_for_pod(state, pod, diagnosis)
    told = shape_finding(shape, diagnosis, (pod.key,), f"preemption: {answer.text}")
    return _refused(answer, shapes=(told,))


def _refused(
    answer: Answer,
    *,
    groups: tuple[GroupFinding, ...] = (),
    shapes: tuple[ShapeFinding, ...],
    skipped: tuple[str, ...] = (),
) -> _Found:
    """The findings of an attempt that found no room, with what preemption answered."""
    return _Found(
        "waitingOnPreemption" if answer.waits else "unschedulable",
        groups=groups,
        shapes=shapes,
        skipped=skipped,
        nominations=answer.nominations,
        victims=answer.victims,
    )


def _try_tree(state: State, tree: Tree, waiting: Sequence[Pod]) -> _Found:
    """Try the pending members of `tree`; those that are being deleted have to agree, too, but are
    then skipped."""
    fault = disagreement(state, tree, waiting)
    if fault is not None:
        failed = fail_tree(branch_of(state, tree, shaped(state, waiting)), fault)
        return _Found("error", groups=group_findings(state, failed, None))
    members = [pod for pod in waiting if pod.deletion is None]
    skipped = tuple(pod.key for pod in waiting if pod.deletion is not None)
    tried = shaped(state, members)
    root = branch_of(state, tree, tried)
    room = room_for(state, tree.group.priority, members)
    lean = state.config.siblings == "lean"
    outcome = run_tree(root, room, lean=lean)
    if outcome.status is Status.ERROR:
        groups, shapes = group_findings(state, outcome, None), shape_findings(outcome)
        return _Found("error", groups=groups, shapes=shapes, skipped=skipped)
    if outcome.succeeded:
        return _Found(
            "scheduled",
            lean=outcome.lean,
            groups=group_findings(state, outcome, None),
            shapes=shape_findings(outcome),
            skipped=skipped,
            bindings=tuple((placed.pod, placed.node) for placed in outcome.placed),
        )
    answer = preempt_for_group(state, tree.group, tried, lambda cleared: _rerun(root, cleared, lean))
    if answer.error:
        failed = fail_tree(root, answer.text)
        return _Found("error", groups=group_findings(state, failed, None), skipped=skipped)
    groups, shapes = group_findings(state, outcome, answer.text), shape_findings(outcome)
    return _refused(answer, groups=groups, shapes=shapes, skipped=skipped)


def _rerun(root: Branch, room: Room, lean: bool) -> Rerun:
    """How `root` comes out in `room`, which is as before afterwards.

    Those count as placed, too, who found a place in a PodGroup that then failed or was pulled down:
    kube-scheduler 1.37.2 looks at them when it asks whom it could spare.
    """
    outcome = run_tree(root, room, lean=lean)
    if not outcome.succeeded:
        return Rerun(succeeded=False, text=outcome.text, error=outcome.status is Status.ERROR)
    give_up(outcome.placed, room)
    placed = [
        (pod, shape, room.roster.row[node])
        for group in outcome.each()
        if group.branch.is_leaf
        for pod, shape, node in group.placed
    ]
    return Rerun(succeeded=True, placed=placed)


def branch_of(state: State, tree: Tree, members: Sequence[Member]) -> Branch:
    """What is to be tried of `tree`; `members` are those of all its PodGroups."""
    by_group: dict[str | None, list[Member]] = {}
    for member in members:
        by_group.setdefault(member[0].group, []).append(member)

    def branch(tree: Tree, held: bool) -> Branch:
        group = tree.group
        held = held or group.topology_key is not None
        if group.kind == COMPOSITE:
            return Branch(group, children=tuple(branch(child, held) for child in tree.children))
        return Branch(
            group,
            members=tuple(by_group.get(group.key, ())),
            bound=len(state.members_of(group.key).bound),
            running=tuple(_running(state, group)) if held else (),
        )

    return branch(tree, held=False)


def _running(state: State, group: Group) -> Iterator[Running]:
    """Where the members of a PodGroup are that have a node, oldest first."""
    bound = [state.pods[key] for key in state.members_of(group.key).bound]
    for pod in sorted(bound, key=lambda pod: pod.arrival):
        labels = state.nodes.facts(pod.node).labels if pod.node in state.node_records else {}
        yield Running(pod.key.partition("/")[2], labels)


def _anchors(state: State, tree: Tree, *, held: bool = False) -> Iterator[str]:
    """The nodes that hold a group of `tree` to its domain: members of it run there."""
    held = held or tree.group.topology_key is not None
    if held and tree.group.kind == POD_GROUP:
        yield from (str(state.pods[key].node) for key in state.members_of(tree.group.key).bound)
    for child in tree.children:
        yield from _anchors(state, child, held=held)
