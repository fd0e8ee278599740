"""The fold: how each event changes the State.

`fold` works on the State that it is given; `apply` leaves it as it was. Both raise CorruptLog for
an event that cannot have happened there. Nothing is decided here: the reducer records what was
decided and what follows from it by rule, such as who waits in which lane.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from domain import events as ev
from domain import hints
from domain.errors import CorruptLog
from domain.holds import hold_of_group, hold_of_pod
from domain.incomplete import speaks, spoken
from domain.manifests import (
    Metadata,
    PodStatus,
    moment,
    read_budget,
    read_group,
    read_metadata,
    read_namespace,
    read_node,
    read_pod,
    read_priority_class,
    read_status,
    run_time,
)
from domain.objects import (
    POD_GROUP,
    TERMINAL_PHASES,
    Condition,
    Group,
    Kept,
    NodeRecord,
    Pod,
    PodSpec,
    Standing,
    Waiting,
    scheduled_since,
)
from domain.queue import Asks, Entity, Stir, Verdict, backoff_us, due_after
from domain.refusals import SCHEDULER_ERROR, reason_of, told
from domain.scheduling.texts import GATED_MESSAGE, PREEMPTED
from domain.state import State
from domain.times import EARLIEST, SECOND
from domain.uids import kept_uid

_encode_findings = msgspec.msgpack.Encoder().encode


def apply(state: State, event: ev.Event) -> State:
    """The state after `event`; `state` itself is not touched."""
    return fold(state.copy(), (event,))


def fold(state: State, events: Iterable[ev.Event]) -> State:
    """`state`, moved on by `events` one after the other. Raises CorruptLog, with the position."""
    for event in events:
        if event.position != state.position + 1:
            raise CorruptLog(f"follows position {state.position}", position=event.position)
        payload, at = event.payload, event.at
        if at == state.at:
            at = state.at  # one object for all that happened together
        try:
            _CHANGES[type(payload)](state, payload, event.position, at)
        except CorruptLog as error:
            if error.position is None:
                raise CorruptLog(str(error), position=event.position) from error
            raise
        state.position = event.position
        state.at = at
    return state


def findings_digest(attempt: ev.GroupAttempted) -> bytes:
    """What tells apart the findings of two attempts; empty where they stand in another one."""
    if attempt.same_as is not None:
        return b""
    found = (attempt.outcome, attempt.groups, attempt.shapes, attempt.skipped, attempt.victims)
    return hashlib.sha256(_encode_findings(found)).digest()


# Pods


def _pod_added(state: State, added: ev.PodAdded, position: int, at: int) -> None:
    if added.key in state.pods:
        raise CorruptLog(f"Pod {added.key} exists already")
    manifest = read_pod(added.object)
    metadata, status = manifest.metadata, manifest.status
    pod = Pod(
        key=added.key,
        kept_uid=kept_uid(metadata.uid),
        spec=state.specs.read(manifest),
        group=state.name_of_group(added.group),
        node=state.name_of_node(added.node),
        phase=intern(status.phase),
        arrival=position,
        manifest=position,
        revision=position,
        created_us=moment(metadata.creation_timestamp, at),
        queued_us=at,
        generation=metadata.generation,
    )
    if metadata.deletion_timestamp is not None:
        pod.deletion = _deletion_in(metadata, at)
    if metadata.finalizers:
        pod.held_back = True
    if metadata.annotations is not None:
        pod.run_us = run_time(metadata)
    if status.nominated_node_name is not None:
        pod.nominated = status.nominated_node_name
    if status.start_time is not None:
        pod.started_us = moment(status.start_time, at)
    if pod.node is not None:
        pod.condition = scheduled_since(at)
    elif pod.spec.gates:
        pod.condition = Condition("False", "SchedulingGated", GATED_MESSAGE, at)
        if pod.group is not None:  # which silences all that wait with it
            _, others = state.queued_with(pod.group)
            _keep_what_was_said(state, others.pending, position, at)
    state.pods[pod.key] = pod
    state.enlist(pod)
    if (node := _place(state, pod)) is not None:
        hints.pod_came(state, node, pod.spec, position)
        _room_taken(state, node, position, by=pod)
    _look_again(state, pod, position, at)


def _pod_updated(state: State, updated: ev.PodUpdated, position: int, at: int) -> None:
    pod = _the_pod(state, updated.key, None)
    pod.revision = position
    if _is_report(updated, pod) and updated.status is not UNSET:
        _pod_observed(state, pod, read_status(updated.status), position, at)
        return
    _keep_what_it_said(state, pod, at)
    before, was_on, spec = state.standing(pod), _place(state, pod), pod.spec
    stayed = pod.deletion is None
    state.delist(pod)
    if updated.object is not UNSET:
        status: PodStatus | None = _replace_pod(state, pod, updated, position, at)
    elif updated.status is not UNSET:
        status = read_status(updated.status)
    else:
        status = None
    if updated.deletion is not None:
        _begin_deletion(pod, updated.deletion)
    if status is not None:
        pod.phase = intern(status.phase)
        if status.start_time is not None:
            pod.started_us = moment(status.start_time, at)
    if pod.node is not None and (pod.condition is None or pod.condition.status != "True"):
        pod.condition = scheduled_since(at)
    if pod.node is not None:
        pod.nominated = None
    state.enlist(pod)
    after, is_on = state.standing(pod), _place(state, pod)
    if before is Standing.BOUND and after is Standing.BOUND:
        if stayed and pod.deletion is not None:
            hints.pod_ends(state, spec, position)
        if updated.object is UNSET:
            return
    arrived = before is not Standing.BOUND and after is Standing.BOUND
    _moved(state, pod, spec, was_on, is_on, position, arrived=arrived)
    if after is Standing.BOUND:
        _room_taken(state, is_on, position)
    _look_again(state, pod, position, at)


def _replace_pod(state: State, pod: Pod, updated: ev.PodUpdated, position: int, at: int) -> PodStatus:
    """Take over the whole manifest of a Pod, but for its status, which comes back."""
    assert updated.object is not UNSET
    manifest = read_pod(updated.object)
    if manifest.metadata.uid != pod.uid:
        raise CorruptLog(f"Pod {pod.key} has uid {pod.uid}, not {manifest.metadata.uid}")
    pod.spec = state.specs.read(manifest)
    pod.node = state.name_of_node(updated.node)
    pod.manifest = position
    pod.generation = manifest.metadata.generation
    pod.held_back = bool(manifest.metadata.finalizers)
    pod.run_us = run_time(manifest.metadata)
    pod.deletion = _deletion_in(manifest.metadata, at) or pod.deletion
    return manifest.status


def _is_report(updated: ev.PodUpdated, pod: Pod) -> bool:
    """Whether all that changed is what the node of `pod`, which had not ended, says of it."""
    return updated.object is UNSET and updated.deletion is None and _runs(pod)


def _pod_observed(state: State, pod: Pod, status: PodStatus, position: int, at: int) -> None:
    """Take over what the node of a Pod that has not ended says of it: it runs, or has ended now."""
    if status.start_time is not None:
        pod.started_us = moment(status.start_time, at)
    phase = intern(status.phase)
    if phase not in TERMINAL_PHASES:
        pod.phase = phase
        return
    assert pod.node is not None
    state.delist(pod)
    pod.phase, pod.nominated = phase, None
    hints.pod_left(state, pod.node, pod.spec, position)
    _look_again(state, pod, position, at)


def _pod_deleted(state: State, deleted: ev.PodDeleted, position: int, at: int) -> None:
    pod = _the_pod(state, deleted.key, deleted.uid)
    was_on = _place(state, pod)
    state.delist(pod)
    del state.pods[pod.key]
    if was_on is not None:
        hints.pod_left(state, was_on, pod.spec, position)
    _look_again(state, pod, position, at)


def _pod_bound(state: State, bound: ev.PodBound, position: int, at: int) -> None:
    pod = _the_pod(state, bound.pod, bound.uid)
    if pod.node is not None:
        raise CorruptLog(f"cannot bind Pod {pod.key} to {bound.node}: it is on {pod.node}")
    record = state.node_records.get(bound.node)
    if record is None:
        raise CorruptLog(f"cannot bind Pod {pod.key} to {bound.node}: there is no such node")
    promised = pod.nominated if pod.key in state.nominated else None
    state.bind(pod, record.key)
    pod.revision = position
    pod.condition = scheduled_since(at)
    _moved(state, pod, pod.spec, promised, bound.node, position, arrived=True)
    _room_taken(state, bound.node, position)
    if pod.group is None:
        state.queue.drop(pod.subject)
    else:
        _member_left(state, pod, pod.group, position, at)


def _pod_nominated(state: State, nominated: ev.PodNominated, position: int, _: int) -> None:
    pod = _the_pod(state, nominated.pod, nominated.uid)
    was_on = _place(state, pod)
    state.delist(pod)
    pod.nominated, pod.revision = nominated.node, position
    state.enlist(pod)
    _moved(state, pod, pod.spec, was_on, nominated.node, position)
    _room_taken(state, pod.nominated, position, by=pod)


def _pod_evicted(state: State, evicted: ev.PodEvicted, position: int, _: int) -> None:
    pod = _the_pod(state, evicted.pod, evicted.uid)
    state.delist(pod)
    pod.disruption = Condition("True", PREEMPTED, evicted.message, evicted.at, pod.generation)
    _begin_deletion(pod, ev.Deletion(at=evicted.at, grace=evicted.grace))
    pod.revision = position
    state.enlist(pod)
    groups = () if pod.group is None else state.root_of(pod.group).groups
    while groups and not groups[-1].disrupted_whole:
        groups = groups[:-1]
    for group in groups:  # all of a unit, up to the highest group whose Pods go together
        group.disruption = Condition("True", PREEMPTED, evicted.message, evicted.at)
        group.revision = position
    entity = state.queue.entities.get(evicted.preemptor)
    if entity is not None and not entity.is_pod:  # its next attempt says that this is under way
        entity.changed = position
        state.queue.put(entity)
    hints.pod_ends(state, pod.spec, position)


def _begin_deletion(pod: Pod, deletion: ev.Deletion) -> None:
    """Mark `pod` for deletion, which is a new generation of it, as in Kubernetes."""
    if pod.deletion is None:
        pod.generation += 1
    pod.deletion = deletion


def _binding_failed(state: State, failed: ev.BindingFailed, position: int, at: int) -> None:
    pod = _the_pod(state, failed.pod, failed.uid)
    if pod.node != failed.node:
        raise CorruptLog(f"binding of Pod {pod.key} to {failed.node} failed: it is on {pod.node}")
    state.delist(pod)
    pod.node, pod.queued_us, pod.revision = None, at, position
    pod.condition = Condition("False", SCHEDULER_ERROR, failed.message, at, pod.generation)
    state.enlist(pod)
    hints.pod_left(state, failed.node, pod.spec, position)
    _look_again(state, pod, position, at)
    if (entity := state.entity_of(pod)) is not None:
        entity.errors += 1
        entity.verdict = Verdict.ERROR
        entity.timestamp = at
        entity.due_us = _due(state, entity, entity.errors, state.asks_of(entity).pods)
        state.queue.put(entity)


def _the_pod(state: State, key: str, uid: str | None) -> Pod:
    pod = state.pods.get(key)
    if pod is None:
        raise CorruptLog(f"there is no Pod {key}")
    if uid is not None and pod.uid != uid:
        raise CorruptLog(f"Pod {key} has uid {pod.uid}, not {uid}")
    return pod


def _deletion_in(metadata: Metadata, at: int) -> ev.Deletion | None:
    if metadata.deletion_timestamp is None:
        return None
    grace = metadata.deletion_grace_period_seconds or 0
    began = moment(metadata.deletion_timestamp, at) - grace * SECOND
    return ev.Deletion(at=max(began, EARLIEST), grace=grace)


# The queue


def _place(state: State, pod: Pod) -> str | None:
    """The node that `pod` is on or nominated to, if it uses or keeps anything there."""
    if _runs(pod):
        return pod.node
    return pod.nominated if pod.key in state.nominated else None


def _runs(pod: Pod) -> bool:
    """Whether `pod` is on a node and has not ended."""
    return pod.node is not None and pod.phase not in TERMINAL_PHASES


def _moved(
    state: State,
    pod: Pod,
    before: PodSpec,
    old: str | None,
    new: str | None,
    position: int,
    *,
    arrived: bool = False,
) -> None:
    """`pod`, whose spec was `before`, has its place on `new` now and had it on `old`.

    One that has `arrived` was nominated there at most: scores and rules about other Pods see it only now.
    """
    after = pod.spec
    if old is not None and old == new:
        hints.pod_changed(state, old, before, after, position)
        if arrived:
            hints.pod_came(state, new, after, position)
        return
    if old is not None:
        hints.pod_left(state, old, before, position)
    if new is not None:
        hints.pod_came(state, new, after, position)


def _room_taken(state: State, node: str | None, position: int, *, by: Pod | None = None) -> None:
    """Wake those that were promised room on `node`, some of which has gone to another Pod."""
    taker = None if by is None else state.waits_as(by)
    for key in state.nominated:
        pod = state.pods[key]
        entity = None if pod.nominated != node else state.entity_of(pod)
        if entity is not None and entity.name != taker:
            entity.changed = position
            state.queue.put(entity)


def _look_again(state: State, pod: Pod, position: int, at: int) -> None:
    """Bring the entity of `pod` up to date after a change of the Pod."""
    if pod.group is None:
        name = pod.subject
        if pod.key in state.pods and state.standing(pod) is Standing.PENDING:
            _review_pod(state, name, pod, position, at)
        else:
            state.queue.drop(name)
    else:
        name, waiting = state.queued_with(pod.group)
        _review_group(state, name, waiting, position, at)


def _review_pod(state: State, name: str, pod: Pod, position: int, at: int) -> None:
    """Make or update the entity of `pod`, which waits alone."""
    entity = state.queue.entities.get(name)
    if entity is None or entity.uid != pod.uid:
        entity = Entity(name=name, uid=pod.uid, priority=0, timestamp=at, arrival=0, is_pod=True)
    entity.priority = pod.spec.priority
    entity.arrival = pod.arrival
    entity.changed = position
    entity.hold = hold_of_pod(pod)
    state.queue.put(entity)


def _review_group(state: State, name: str, waiting: Waiting, position: int, at: int) -> None:
    """Make, update or drop the entity `name`, as which all of `waiting` wait."""
    if not waiting.pending:
        state.queue.drop(name)
        return
    before = entity = state.queue.entities.get(name)
    oldest = state.pods[next(iter(waiting.pending))]
    root = state.group_of(name)
    uid = "" if root is None else root.uid
    if entity is None or entity.uid != uid:  # a group that came, went or was made again is a new entity
        entity = Entity(name=name, uid=uid, priority=0, timestamp=at, arrival=0, is_pod=False)
    if root is not None:
        entity.priority = root.priority
    entity.arrival = oldest.arrival
    entity.changed = position
    entity.hold = hold_of_group(state, root, waiting, oldest)
    if root is not None and root.parent is None:
        entity.incomplete_us = None
    elif before is None or before.incomplete_us is None:
        entity.incomplete_us = at
    else:  # a group that came and is no root has not ended it
        entity.incomplete_us = before.incomplete_us
    state.queue.put(entity)


def _member_left(state: State, pod: Pod, group: str, position: int, at: int) -> None:
    """Bring the entity of the Pods of `group` up to date after `pod` left it for a node.

    That neither wakes nor holds the others, unless they are all being deleted.
    """
    name, waiting = state.queued_with(group)
    if not waiting.pending:
        state.queue.drop(name)
        return
    entity = state.queue.entities[name]
    oldest = state.pods[next(iter(waiting.pending))]
    if entity.incomplete_us is not None:
        _review_group(state, name, waiting, position, at)
    elif oldest.arrival > entity.snapshot:  # whoever waits came while the attempt was made: a new entity
        state.queue.drop(name)
        _review_group(state, name, waiting, position, oldest.queued_us)
    elif waiting.dying:
        _review_group(state, name, waiting, position, at)
    elif entity.arrival == pod.arrival:
        entity.arrival = oldest.arrival
        state.queue.put(entity)


def _due(state: State, entity: Entity, failures: int, pods: int) -> int:
    """When `entity`, of so many Pods that are queued again, may be tried again."""
    config = state.config
    backoff = backoff_us(failures, pods, initial=config.initial_backoff_us, longest=config.max_backoff_us)
    return due_after(entity.timestamp, backoff)


def _attempted(state: State, attempt: ev.GroupAttempted, position: int, _: int) -> None:
    entity = state.queue.entities.get(attempt.entity)
    if entity is None:
        raise CorruptLog(f"{attempt.entity} was attempted, but does not wait")
    if attempt.number != entity.attempts + 1:
        raise CorruptLog(
            f"{attempt.entity} was attempted {entity.attempts} times before, not {attempt.number - 1}"
        )
    entity.attempts += 1
    entity.snapshot, entity.last_attempt = attempt.snapshot, position
    pending = list(state.pending_of(entity))
    asks = state.asks_of(entity)
    for pod in pending:
        if pod.arrival <= attempt.snapshot and pod.deletion is None:
            pod.attempts += 1
    _judge(state, entity, attempt.outcome, pending, asks)
    if attempt.same_as is None:
        entity.findings = b"" if attempt.outcome == "scheduled" else findings_digest(attempt)
        entity.findings_at = position
        _show(state, attempt, position)
    elif attempt.same_as != entity.findings_at:
        raise CorruptLog(
            f"same as the attempt at {attempt.same_as}, but the last findings are at {entity.findings_at}"
        )
    if entity.verdict is not Verdict.UNTRIED:
        entity.timestamp = attempt.at
        # Members that are being deleted are left out of a cycle, and out of the queue after it; a fault
        # is found before that.
        queued = len(pending) if entity.verdict is Verdict.ERROR else asks.pods
        entity.due_us = _due(state, entity, entity.errors or entity.unschedulable, queued)
    entity.woken = state.queue.last_stir(entity.wakes_on)
    state.queue.put(entity, asks)


def _judge(state: State, entity: Entity, outcome: str, pending: Sequence[Pod], asks: Asks) -> None:
    """Note how an attempt of `entity` came out, and what could turn that around."""
    match outcome:
        case "scheduled":
            entity.unschedulable = entity.errors = 0
            entity.verdict = Verdict.UNTRIED
        case "unschedulable" | "waitingOnPreemption":
            entity.unschedulable += 1
            entity.errors = 0
            entity.verdict = Verdict.REJECTED if outcome == "unschedulable" else Verdict.WAITING
            entity.wakes_on = _what_helps(state, entity, pending, asks)
        case "error":
            entity.errors += 1
            entity.verdict = Verdict.ERROR
            # Labels of nodes can put Pods that run in the wrong domain; all other faults are its own.
            entity.wakes_on = Stir.RULE if _is_constrained(state, entity) else Stir.OWN
        case _:
            raise CorruptLog(f"unknown outcome {outcome!r}")


def _what_helps(state: State, entity: Entity, pods: Iterable[Pod], asks: Asks) -> Stir:
    """What could make room for `pods`, which were refused as `entity`.

    Pods of one shape fit as often as they fit, wherever they go, unless rules about other Pods tell
    them apart; a Pod with such rules can be helped by any Pod and any node. A single Pod can clear a
    node of somebody whose unit also keeps it away from elsewhere, once a Pod of the unit comes there.
    With topology constraints it also counts what is in use in each domain, and which node is in which.
    Without a node no filter has refused anybody, so that any node that comes is worth a look.
    """
    if any(shape.peer is not None for shape in asks.shapes) or _is_constrained(state, entity):
        return Stir.RULE
    if not state.node_records:
        return Stir.MOVE
    told_apart = state.has_terms
    if told_apart and entity.is_pod:
        return Stir.MOVE
    peers = {pod.spec.peer for pod in pods} if told_apart else ()
    return Stir.ROOM if len(asks.shapes) == 1 and len(peers) <= 1 else Stir.MOVE


def _is_constrained(state: State, entity: Entity) -> bool:
    """Whether some group of the tree has to stay within one domain of a label."""
    return not entity.is_pod and any(group.topology_key for group in state.tree_of(entity).groups())


def _show(state: State, attempt: ev.GroupAttempted, position: int) -> None:
    """Write the conditions that follow from an attempt (kube-scheduler 1.37, failure handler)."""
    at = attempt.at
    for found in attempt.groups:
        group = state.group_of(found.group)
        if group is not None and not (group.condition is not None and group.condition.status == "True"):
            before = group.condition
            if found.status == "Success":
                group.condition = Condition("True", "Scheduled", "", at)
            else:
                group.condition = _condition(before, reason_of(found.status), found.message, at)
            if group.condition != before:
                group.revision = position
    for keys, reason, message in told(attempt):
        made: dict[tuple[Condition | None, int], Condition] = {}
        for key in keys:
            pod = state.pods.get(key)
            if pod is not None and pod.node is None:
                was = pod.condition
                after = made.get((was, pod.generation))
                if after is None:
                    after = _condition(was, reason, message, at, pod.generation)
                    made[was, pod.generation] = after
                if after != was:
                    pod.condition, pod.revision = after, position


def _condition(
    before: Condition | None, reason: str, message: str, at: int, generation: int = 0
) -> Condition:
    """The condition that is False for `reason`; `before` if it says that already."""
    if before is None or before.status != "False":
        return Condition("False", reason, message, at, generation)
    if (before.reason, before.message) == (reason, message):
        return before
    return Condition("False", reason, message, before.since, generation)


# Nodes


def _node_added(state: State, added: ev.NodeAdded, position: int, at: int) -> None:
    if added.key in state.node_records:
        raise CorruptLog(f"Node {added.key} exists already")
    metadata = read_metadata(added.object)
    state.node_records[added.key] = NodeRecord(
        added.key, metadata.uid, position, position, position, moment(metadata.creation_timestamp, at)
    )
    state.nodes.put(read_node(added.object))
    hints.node_came(state, added.key, position)


def _node_updated(state: State, updated: ev.NodeUpdated, position: int, _: int) -> None:
    record = state.node_records.get(updated.key)
    if record is None:
        raise CorruptLog(f"there is no Node {updated.key}")
    if updated.object is not UNSET:
        record.manifest = record.revision = position
        before = state.nodes.facts(updated.key)
        state.nodes.put(read_node(updated.object))
        hints.node_changed(state, before, position)


def _node_deleted(state: State, deleted: ev.NodeDeleted, position: int, _: int) -> None:
    record = state.node_records.pop(deleted.key, None)
    if record is None:
        raise CorruptLog(f"there is no Node {deleted.key}")
    state.nodes.remove(deleted.key)
    hints.node_went(state, deleted.key, position)


# Groups


def _group_added(state: State, added: ev.Added, position: int, at: int) -> None:
    kind = ev.kind_of(added)
    if added.key in state.groups_of(kind):
        raise CorruptLog(f"{kind} {added.key} exists already")
    metadata = read_metadata(added.object)
    created = moment(metadata.creation_timestamp, at)
    group = read_group(added.object, kind, arrival=position, created_us=created)
    group.deletion = _deletion_in(metadata, at)
    _put_group(state, group, position, at)
    _rank_changed(state, group, position)


def _group_updated(state: State, updated: ev.Updated, position: int, at: int) -> None:
    kind = ev.kind_of(updated)
    group = state.groups_of(kind).get(updated.key)
    if group is None:
        raise CorruptLog(f"there is no {kind} {updated.key}")
    if updated.object is not UNSET:
        new = read_group(updated.object, kind, arrival=group.arrival, created_us=group.created_us)
        if new.uid != group.uid:
            raise CorruptLog(f"{kind} {updated.key} has uid {group.uid}, not {new.uid}")
        if (new.priority, new.disrupted_whole) != (group.priority, group.disrupted_whole):
            _rank_changed(state, group, position)
        new.manifest, new.condition, new.disruption = position, group.condition, group.disruption
        new.deletion = _deletion_in(read_metadata(updated.object), at) or group.deletion
        group = new
    if updated.deletion is not None:
        group.deletion = updated.deletion
    group.revision = position
    _put_group(state, group, position, at)


def _put_group(state: State, group: Group, position: int, at: int) -> None:
    _keep_what_was_said(state, _waiting_below(state, group.kind, group.key), position, at)
    concerned = state.put_group(group)
    if group.kind == POD_GROUP and group.deletion is not None:
        state.released[group.key] = None
    for name in concerned:
        _review_group(state, name, state.waiting_as(name), position, at)


def _group_deleted(state: State, deleted: ev.Deleted, position: int, at: int) -> None:
    kind = ev.kind_of(deleted)
    group = state.groups_of(kind).get(deleted.key)
    if group is None or group.uid != deleted.uid:
        raise CorruptLog(f"there is no {kind} {deleted.key} with uid {deleted.uid}")
    _keep_what_was_said(state, _waiting_below(state, kind, deleted.key), position, at)
    concerned = state.drop_group(kind, deleted.key)
    _rank_changed(state, group, position)
    if kind == POD_GROUP:
        state.released.pop(deleted.key, None)
    for name in concerned:
        _review_group(state, name, state.waiting_as(name), position, at)


def _waiting_below(state: State, kind: str, key: str) -> Iterator[str]:
    """The keys of Pods that wait below a group."""
    for leaf in state.leaves_of(kind, key):
        yield from state.members_of(leaf).pending


def _keep_what_was_said(state: State, pods: Iterable[str], position: int, at: int) -> None:
    """Those of `pods` that have said that their tree is incomplete do not take it back."""
    for key in pods:
        if _keep_what_it_said(state, state.pods[key], at):
            state.pods[key].revision = position


def _keep_what_it_said(state: State, pod: Pod, at: int) -> bool:
    """Keep it if `pod` has said that its tree is incomplete, whatever becomes of it now; whether it has."""
    entity = None if pod.group is None else state.entity_of(pod)
    if entity is None or not speaks(entity, at):
        return False
    pod.condition = spoken(state, entity, pod)
    return True


def _rank_changed(state: State, group: Group, position: int) -> None:
    """Members that run take their priority as victims from their root while it exists."""
    if any(state.members_of(leaf).bound for leaf in state.leaves_of(group.kind, group.key)):
        state.queue.stir(Stir.ROOM, position)


# The rest


def _configured(state: State, config: ev.SchedulerConfigured, position: int, at: int) -> None:
    before = [(pod, state.standing(pod)) for pod in state.pods.values()]
    for pod, _ in before:
        _keep_what_it_said(state, pod, at)
        state.delist(pod)
    state.config = config
    state.queue.by_clock = config.retry == "byClock"
    for pod, _ in before:
        state.enlist(pod)
    state.queue.stir(Stir.ROOM, position)
    for pod, standing in before:
        if standing is not state.standing(pod):
            _look_again(state, pod, position, at)
    for entity in list(state.queue.entities.values()):
        if entity.wakes_on is not Stir.OWN:
            entity.woken = position  # also those that were not asleep by the clock
        state.queue.put(entity)


def _kept_added(state: State, added: ev.Added, position: int, at: int) -> None:
    kind = ev.kind_of(added)
    objects = state.kept.setdefault(kind, {})
    if added.key in objects:
        raise CorruptLog(f"{kind} {added.key} exists already")
    metadata = read_metadata(added.object)
    created = moment(metadata.creation_timestamp, at)
    kept = objects[added.key] = Kept(added.key, metadata.uid, position, position, position, created)
    kept.deletion = _deletion_in(metadata, at)
    _read_kept(state, kind, added.key, added.object, position)


def _read_kept(state: State, kind: str, key: str, manifest: msgspec.Raw, position: int) -> None:
    """Take in what the manifest of an object of the other kinds means for scheduling."""
    if kind == "PriorityClass":
        state.priority_classes[key] = read_priority_class(manifest)
    if kind == "PodDisruptionBudget":
        state.budgets[key] = read_budget(key, manifest)
    if kind == "Namespace":
        _label_namespace(state, key, read_namespace(manifest), position)


def _label_namespace(state: State, name: str, labels: dict[str, str], position: int) -> None:
    """Rules that select namespaces may be about other Pods now."""
    if state.nodes.crowd.namespaces.get(name, {}) != labels:
        if labels:
            state.nodes.crowd.namespaces[name] = labels
        else:
            del state.nodes.crowd.namespaces[name]
        state.queue.stir(Stir.ROOM if state.has_terms else Stir.RULE, position)


def _kept_updated(state: State, updated: ev.Updated, position: int, _: int) -> None:
    kind = ev.kind_of(updated)
    kept = state.kept.get(kind, {}).get(updated.key)
    if kept is None:
        raise CorruptLog(f"there is no {kind} {updated.key}")
    kept.revision = position
    if updated.object is not UNSET:
        kept.manifest = position
        _read_kept(state, kind, updated.key, updated.object, position)
    if updated.deletion is not None:
        kept.deletion = updated.deletion


def _kept_deleted(state: State, deleted: ev.Deleted, position: int, _: int) -> None:
    kind = ev.kind_of(deleted)
    if state.kept.get(kind, {}).pop(deleted.key, None) is None:
        raise CorruptLog(f"there is no {kind} {deleted.key}")
    if kind == "PriorityClass":
        del state.priority_classes[deleted.key]
    if kind == "PodDisruptionBudget":
        del state.budgets[deleted.key]
    if kind == "Namespace":
        _label_namespace(state, deleted.key, {}, position)


_Change: TypeAlias = Callable[[State, Any, int, int], None]
_CHANGES: Mapping[type[ev.Fact], _Change] = {
    ev.NodeAdded: _node_added,
    ev.NodeUpdated: _node_updated,
    ev.NodeDeleted: _node_deleted,
    ev.PodAdded: _pod_added,
    ev.PodUpdated: _pod_updated,
    ev.PodDeleted: _pod_deleted,
    ev.PodGroupAdded: _group_added,
    ev.PodGroupUpdated: _group_updated,
    ev.PodGroupDeleted: _group_deleted,
    ev.CompositePodGroupAdded: _group_added,
    ev.CompositePodGroupUpdated: _group_updated,
    ev.CompositePodGroupDeleted: _group_deleted,
    ev.WorkloadAdded: _kept_added,
    ev.WorkloadUpdated: _kept_updated,
    ev.WorkloadDeleted: _kept_deleted,
    ev.PriorityClassAdded: _kept_added,
    ev.PriorityClassUpdated: _kept_updated,
    ev.PriorityClassDeleted: _kept_deleted,
    ev.PodDisruptionBudgetAdded: _kept_added,
    ev.PodDisruptionBudgetUpdated: _kept_updated,
    ev.PodDisruptionBudgetDeleted: _kept_deleted,
    ev.NamespaceAdded: _kept_added,
    ev.NamespaceUpdated: _kept_updated,
    ev.NamespaceDeleted: _kept_deleted,
    ev.SchedulerConfigured: _configured,
    ev.BindingFailed: _binding_failed,
    ev.GroupAttempted: _attempted,
    ev.PodBound: _pod_bound,
    ev.PodNominated: _pod_nominated,
    ev.PodEvicted: _pod_evicted,
}
"""What each type of event does, given its position and time; a test holds it to the closed set."""
