"""What is asked about an object, and what explanations of Pods and groups have in common."""

from collections import Counter
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from domain.events import PodEvicted
from domain.explaining.feasibility import feasibility
from domain.explaining.findings import Recorded, attempt_part, finding_of, preemption_part
from domain.explaining.outlook import line_of, missing, missing_below, next_try_us, whose_end, woken_by
from domain.explanation import Explanation, Fate, Hold, Moment, ObjectRef, Quorum
from domain.forest import Flaw, Tree
from domain.objects import POD_GROUP, Group
from domain.queue import Entity, Verdict
from domain.state import State
from domain.times import rfc3339_micro


class Binding(NamedTuple):
    """Where and when the log says that a Pod was bound; `at` in microseconds."""

    position: int
    at: int
    node: str


class Evicted(NamedTuple):
    """An eviction as it stands in the log at `position`, and the attempt that decided on it."""

    position: int
    event: PodEvicted
    attempt: Recorded


class Question(NamedTuple):
    """A State, a moment in microseconds, and what the log adds to them; `brief` leaves out the tree."""

    state: State
    now: int
    attempt: Recorded | None
    binding: Binding | None
    eviction: Evicted | None = None
    brief: bool = False

    @property
    def at(self) -> Moment:
        return Moment(position=self.state.position, time=rfc3339_micro(self.now))


def ref_of(kind: str, key: str, uid: str) -> ObjectRef:
    """The object of this kind, key and uid, as an explanation names it."""
    namespace, _, name = key.rpartition("/")
    return ObjectRef(kind=kind, namespace=namespace or None, name=name, uid=uid)


def quorum_part(question: Question, group: Group) -> Quorum:
    """How many members `group` needs and has; those of a composite are the groups right below it."""
    state = question.state
    created, scheduled = _counts(state, group)
    entity = state.entity_with(group.kind, group.key)
    lacking: tuple[str, ...] = ()
    placeable = None
    if entity is not None:
        lacking = missing(state, entity, group)
        found = finding_of(question.attempt, group.subject)
        if found is not None and found.status == "Unschedulable":
            placeable = found.placed
    elif not created:
        lacking = missing_below(state, group)
    return Quorum(
        policy=group.policy,
        min_count=group.min_count,
        created=created,
        scheduled=scheduled,
        placeable=placeable,
        missing=lacking,
        ready=UNSET if group.kind == POD_GROUP else _ready_below(state, group),
    )


def _counts(state: State, group: Group) -> tuple[int, int]:
    """How many members of `group` exist, and how many of them are on nodes or have been started."""
    if group.kind == POD_GROUP:
        members = state.members_of(group.key)
        return members.created, len(members.bound)
    children = state.forest.tree(group).children
    return len(children), sum(is_started(state, child) for child in children)


def _ready_below(state: State, composite: Group) -> int:
    """How many groups right below a composite have their quorum: none in a ring, which can have none."""
    in_ring = state.forest.chain(composite.kind, composite.key).flaw is Flaw.RING
    return 0 if in_ring else state.forest.ready_below(composite.key)


def is_started(state: State, tree: Tree) -> bool:
    """Whether as many members as a group needs are on nodes or, those of a composite, have been started."""
    if tree.group.kind == POD_GROUP:
        started = len(state.members_of(tree.group.key).bound)
    else:
        started = sum(is_started(state, child) for child in tree.children)
    return started >= tree.group.min_count


def group_verdict(
    question: Question, group: Group, entity: Entity | None, ended: Counter[str | None]
) -> Fate:
    """What has become of `group`, of which Pods wait as `entity` if any do, and others have `ended`."""
    state = question.state
    leaves = state.leaves_of(group.kind, group.key)
    bound = any(state.members_of(leaf).bound for leaf in leaves)
    if entity is None:
        return Fate.SCHEDULED if bound or any(ended[leaf] for leaf in leaves) else Fate.GATED
    if bound:
        return Fate.PARTLY_SCHEDULED
    if entity.hold is not None:
        return Fate.GATED
    return _FATES[entity.verdict]


_FATES = {
    Verdict.UNTRIED: Fate.PENDING,
    Verdict.REJECTED: Fate.UNSCHEDULABLE,
    Verdict.WAITING: Fate.WAITING_ON_PREEMPTION,
    Verdict.ERROR: Fate.SCHEDULER_ERROR,
}


def ended_below(state: State) -> Counter[str | None]:
    """How many Pods have ended, by the key of the PodGroup that they name."""
    return Counter(pod.group for pod in state.pods.values() if pod.terminal)


def in_queue(question: Question, told: Explanation, entity: Entity) -> Explanation:
    """`told` with how `entity` waits."""
    state, now = question.state, question.now
    due = next_try_us(state, entity, now)
    hold = entity.hold
    return replace(
        told,
        entity=entity.name,
        lane=state.queue.lane(entity, now).value,
        attempts=entity.attempts,
        next_try=None if due is None else rfc3339_micro(due),
        woken_by=woken_by(state, entity),
        hold=None if hold is None else Hold(plugin=hold.plugin, text=hold.text),
        line=line_of(state, entity, now),
        attempt=None if question.attempt is None else attempt_part(question.attempt),
    )


def refused(question: Question, told: Explanation, entity: Entity) -> Explanation:
    """`told` with what else is known if `entity` was refused: preemption, and whether it could be placed."""
    attempt = question.attempt
    if attempt is None or not entity.rejected:
        return told
    shown = feasibility(question.state, entity)
    group = None if entity.is_pod else entity.name
    awaited = whose_end(question.state, attempt.findings.victims)
    return replace(
        told,
        note=f"{awaited}; {told.note}" if awaited else told.note,
        preemption=preemption_part(attempt, finding_of(attempt, group)),
        proof=shown.proof,
        proof_by=shown.by,
        missed=shown.missed,
    )
