"""What changes from event to event: each object as a user reads it, before and after."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from domain import events as ev
from domain.budgets import Counted
from domain.incomplete import speaks
from domain.objects import COMPOSITE, POD_GROUP
from domain.reducer import fold
from domain.refusals import told
from domain.state import State
from domain.upcast import CURRENT
from worker.cluster import Cluster
from worker.shown import SystemClass, Visible, as_shown, body_of, counts_of, record_at, visible_of

POD = "Pod"


@dataclass(frozen=True)
class Change:
    """An object as it was before the event at `position` and as it is after it; None: it is not there."""

    kind: str
    key: str
    position: int
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True)
class Remembered:
    """What a State knows of an object, and what is counted for it."""

    record: Visible
    count: Counted | None


@dataclass(frozen=True)
class Step:
    """A change, as far as the State knows the object."""

    kind: str
    key: str
    position: int
    before: Remembered | None
    after: Remembered | None

    def sides(self) -> Iterator[Remembered]:
        """What there was before and what is after, as far as there is something."""
        yield from (side for side in (self.before, self.after) if side is not None)


class Changes:
    """Reads the log of `cluster` from behind `position` on, in a State of its own; for one thread at a time.

    Raises Expired if the log does not reach so far, or back.
    """

    def __init__(self, cluster: Cluster, position: int) -> None:
        self._cluster = cluster
        self._state = cluster.state_at(position)

    @property
    def position(self) -> int:
        """Up to where it has read."""
        return self._state.position

    def read(self, most: int) -> list[Change]:
        """What the next events changed, at most so many events, in their order."""
        steps = [
            step
            for each in self._cluster.log.read(self.position, self.position + most)
            for step in fold_and_compare(self._state, CURRENT.event(each.type, each.line))
        ]
        manifests = self._cluster.manifests_at(
            {
                side.record.manifest
                for step in steps
                for side in step.sides()
                if not isinstance(side.record, SystemClass)
            }
        )
        return [_shown(step, manifests) for step in steps]


def fold_and_compare(state: State, event: ev.Event) -> list[Step]:
    """Move `state` on by `event`; the objects that it changed, which keep their records as they were.

    What a PodDisruptionBudget counts, and what time alone makes Pods say, changes without an event about the
    object, and is not a change here.
    """
    concerned = [(kind, key, _remember(state, kind, key, event.at)) for kind, key in concerns(state, event)]
    fold(state, (event,))
    steps = []
    for kind, key, before in concerned:
        after = _remember(state, kind, key, event.at)
        if _differs(before, after, event.position):
            steps.append(Step(kind, key, event.position, before, after))
    return steps


def concerns(state: State, event: ev.Event) -> list[tuple[str, str]]:
    """Kind and key, each once, of all objects that `event` may change in `state`."""
    match event.payload:
        case ev.GroupAttempted() as attempt:
            found = [_split(group.group) for group in attempt.groups]
            found += [(POD, pod) for pods, _, _ in told(attempt) for pod in pods]
        case ev.PodEvicted(pod=pod, group=group):
            above = () if group is None else state.root_of(group).groups
            found = [(POD, pod), *((each.kind, each.key) for each in above)]
        case ev.PodBound(pod=pod) | ev.PodNominated(pod=pod) | ev.BindingFailed(pod=pod):
            found = [(POD, pod)]
        case ev.SchedulerConfigured():
            found = []
        case fact:
            kind = ev.kind_of(fact)
            found = [(kind, fact.key)]
            if kind in (POD_GROUP, COMPOSITE):
                found += [(POD, pod) for pod in _that_have_spoken(state, kind, fact.key, event.at)]
    return list(dict.fromkeys(found))


def _that_have_spoken(state: State, kind: str, key: str, at: int) -> Iterator[str]:
    """The Pods below a group that say that their tree is incomplete: they keep saying so."""
    for leaf in state.leaves_of(kind, key):
        entity = state.queue.entities.get(state.forest.waits_as(leaf))
        if entity is not None and speaks(entity, at):
            yield from state.members_of(leaf).pending


def _remember(state: State, kind: str, key: str, now: int) -> Remembered | None:
    record = visible_of(state, kind, key)
    if record is None:
        return None
    count = counts_of(state, kind, (key,)).get(key)
    return Remembered(copy.copy(record_at(state, record, now)), count)


def _differs(before: Remembered | None, after: Remembered | None, position: int) -> bool:
    """Whether the event at `position` changed what a user can see of the object."""
    return before is not None if after is None else after.record.revision == position


def _split(subject: str) -> tuple[str, str]:
    kind, _, key = subject.partition("/")
    return kind, key


def _shown(step: Step, manifests: Mapping[int, Mapping[str, Any]]) -> Change:
    before, after = (
        None if side is None else _as_shown(side, manifests) for side in (step.before, step.after)
    )
    return Change(step.kind, step.key, step.position, before, after)


def _as_shown(side: Remembered, manifests: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    return as_shown(side.record, body_of(side.record, manifests.__getitem__), side.count)
