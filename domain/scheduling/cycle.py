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
from domain.objects import Group, Pod
from domain.queue import Entity, Verdict
from domain.reducer import findings_digest
from domain.room import Room
from domain.scheduling import texts
from domain.scheduling.diagnosis import Diagnosis, diagnose
from domain.scheduling.homogeneity import disagreement
from domain.scheduling.leaf import LeafResult, Member, Misfit, nominated_row, run_leaf
from domain.scheduling.place import place
from domain.scheduling.preemption import Answer, Rerun, preempt_for_group, preempt_for_pod, room_for
from domain.scheduling.rules import rules_in_play, shaped
from domain.shapes import PodShape
from domain.state import State
from domain.version import SCHEDULER


@dataclass(frozen=True)
class Decision:
    """What a cycle decided on the State of position `snapshot`, at `at` microseconds.

    `payloads` are the batch to append, GroupAttempted first. The decision relies on `pods` (their
    keys), on `group`, on `nodes` having the room that the snapshot showed, and on `victims` (keys of
    the Pods that it evicts). `cause` is the position of the change that brought it about. With `rules`
    about other Pods in play it relies on whatever runs, on all nodes, and on the labels of namespaces.
    """

    snapshot: int
    at: int
    payloads: tuple[Payload, ...]
    pods: frozenset[str]
    group: str | None
    nodes: frozenset[str]
    victims: frozenset[str]
    cause: int
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
    waiting = sorted(state.pending_of(entity), key=_turn)
    if entity.is_pod:
        found = _try_pod(state, waiting[0])
        group = None
    else:
        group = state.groups[entity.key]
        found = _try_group(state, group, waiting)
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
        group=None if group is None else group.key,
        nodes=frozenset(nodes),
        victims=frozenset(eviction.pod for eviction in evictions),
        cause=state.queue.woken_at(entity),
        rules=rules_in_play(state, waiting),
    )


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
                if other.nominated == node and state.spec(other).priority < entity.priority:
                    yield PodNominated(pod=key, uid=other.uid, group=other.group, node=None)


def _evictions(state: State, entity: Entity, first: Pod, found: _Found, now: int) -> Iterator[PodEvicted]:
    """The victims that are not being deleted anyway."""
    kind = entity.name.partition("/")[0].lower()
    message = texts.disruption(state.spec(first).scheduler, kind)
    for pod in found.victims:
        if pod.deletion is None and pod.node is not None:
            yield PodEvicted(
                at=now,
                grace=state.spec(pod).grace,
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
    room = room_for(state, state.spec(pod).priority, [pod])
    ((_, shape),) = shaped(state, [pod])
    nominated = nominated_row(room, pod, shape)
    rows = place(room, shape, 1) if nominated is None else [nominated]
    if rows:
        return _Found("scheduled", bindings=((pod, room.names[rows[0]]),))
    diagnosis = diagnose(room, shape)
    if not diagnosis.total:
        return _Found("unschedulable", shapes=(_shape_finding(shape, diagnosis, (pod.key,), None),))
    answer = preempt_for_pod(state, pod, diagnosis)
    told = _shape_finding(shape, diagnosis, (pod.key,), f"preemption: {answer.text}")
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


def _try_group(state: State, group: Group, waiting: Sequence[Pod]) -> _Found:
    """Try the pending members of `group`; those that are being deleted have to agree, too, but are
    then skipped."""
    created = state.members_of(group.key).created
    bound = len(state.members_of(group.key).bound)
    fault = disagreement(state, group, waiting)
    if fault is not None:
        finding = GroupFinding(
            created=created,
            group=f"PodGroup/{group.key}",
            message=fault,
            minimum=group.min_count,
            policy=group.policy,
            remaining=len(waiting),
            scheduled=bound,
            status="Error",
            text=fault,
            untried=tuple(pod.key for pod in waiting),
        )
        return _Found("error", groups=(finding,))
    members = [pod for pod in waiting if pod.deletion is None]
    room = room_for(state, group.priority, members)
    tried = shaped(state, members)
    leaf = run_leaf(room, tried, minimum=group.min_count, bound=bound)
    nothing_placed = leaf.succeeded and not leaf.placed
    if nothing_placed:
        leaf.text = texts.flagged()
    succeeded = leaf.succeeded and not nothing_placed

    def again(room: Room) -> Rerun:
        return _rerun(room, tried, minimum=group.min_count, bound=bound)

    answer = None if succeeded else preempt_for_group(state, group, tried, again)
    finding = GroupFinding(
        created=created,
        fitted=() if succeeded else tuple(pod.key for pod, _ in leaf.placed),
        group=f"PodGroup/{group.key}",
        message="" if answer is None else texts.with_preemption(leaf.text, answer.text),
        minimum=group.min_count,
        placed=len(leaf.placed),
        policy=group.policy,
        remaining=leaf.remaining,
        scheduled=leaf.scheduled,
        status="Success" if succeeded else "Unschedulable",
        text=leaf.text,
        untried=tuple(pod.key for pod in leaf.untried),
    )
    skipped = tuple(pod.key for pod in waiting if pod.deletion is not None)
    shapes = _shape_findings(leaf)
    if answer is not None:
        return _refused(answer, groups=(finding,), shapes=shapes, skipped=skipped)
    return _Found(
        "scheduled", groups=(finding,), shapes=shapes, skipped=skipped, bindings=_bindings(room, leaf)
    )


def _rerun(room: Room, members: Sequence[Member], *, minimum: int, bound: int) -> Rerun:
    """How `members` of a leaf come out in `room`, which is as before afterwards."""
    leaf = run_leaf(room, members, minimum=minimum, bound=bound)
    if not leaf.succeeded or not leaf.placed:
        return Rerun(succeeded=False, text=leaf.text or texts.flagged())
    shapes = {pod.key: shape for pod, shape in members}
    placed = [(pod, shapes[pod.key], row) for pod, row in leaf.placed]
    for _, shape, row in placed:
        room.forget(row, shape)
    return Rerun(succeeded=True, placed=placed)


def _bindings(room: Room, leaf: LeafResult) -> tuple[tuple[Pod, str], ...]:
    return tuple((pod, room.names[row]) for pod, row in leaf.placed)


def _shape_findings(leaf: LeafResult) -> tuple[ShapeFinding, ...]:
    """One finding a shape and text, the members of all its runs together."""
    merged: dict[tuple[PodShape, str], Misfit] = {}
    for misfit in leaf.misfits:
        key = (misfit.shape, misfit.diagnosis.message)
        if key in merged:
            merged[key].pods.extend(misfit.pods)
        else:
            merged[key] = Misfit(misfit.shape, misfit.diagnosis, list(misfit.pods))
    return tuple(
        _shape_finding(misfit.shape, misfit.diagnosis, tuple(pod.key for pod in misfit.pods), None)
        for misfit in merged.values()
    )


def _shape_finding(
    shape: PodShape, diagnosis: Diagnosis, pods: tuple[str, ...], preemption: str | None
) -> ShapeFinding:
    message = diagnosis.message if preemption is None else f"{diagnosis.message} {preemption}"
    return ShapeFinding(
        message=message,
        nodes=diagnosis.nodes,
        pods=pods,
        requests=shape.requests,
        resources=diagnosis.resources,
        total=diagnosis.total,
    )
