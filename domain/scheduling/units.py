"""Disruption units: the Pods that preemption evicts together or not at all, and their order.

Source: kube-scheduler 1.37, framework/preemption; KEP-5710.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from domain.budgets import Budget, allowance
from domain.objects import Group, Pod, Standing
from domain.state import State


class UnitKind(enum.IntEnum):
    """What a unit belongs to; of equal priority the smaller number is more important."""

    COMPOSITE = 0
    GROUP = 1
    POD = 2


@dataclass(frozen=True)
class Unit:
    """`pods`, oldest first, all on nodes. `priority` is that of their root group, if they have one."""

    kind: UnitKind
    priority: int
    pods: tuple[Pod, ...]

    @property
    def started_us(self) -> float:
        """When the first of its Pods started; infinite if none has."""
        return min(_started(pod) for pod in self.pods)

    def importance(self) -> tuple[int, int, int, float, str]:
        """The smaller key is more important."""
        return (-self.priority, self.kind, -len(self.pods), self.started_us, self.pods[0].uid)


def units_below(state: State, priority: int) -> list[Unit]:
    """All units that a preemptor of `priority` may evict, the most important first.

    Pods that are being deleted are among them: they will be gone without anybody's doing.
    """
    lowest = min((*state.bound_priorities, *state.group_priorities), default=priority)
    if lowest >= priority:
        return []
    return sorted((unit for unit in _units(state) if unit.priority < priority), key=Unit.importance)


def unit_priority(state: State, pod: Pod) -> int:
    """The priority at which `pod` can be a victim."""
    group = _group_of(state, pod)
    return state.spec(pod).priority if group is None else group.priority


def violating(units: Iterable[Unit], budgets: Sequence[Budget], state: State) -> set[int]:
    """Which of `units`, by place in their order of importance, would break a budget.

    Each Pod takes one from every budget that protects it and does not count it as disrupted yet.
    """
    if not budgets:
        return set()
    left = {budget.key: allowance(budget, state.pods) for budget in budgets}
    broken = set()
    for place, unit in enumerate(units):
        for pod in unit.pods:
            for budget in _charged(budgets, pod):
                left[budget.key] -= 1
                if left[budget.key] < 0:
                    broken.add(place)
    return broken


def _charged(budgets: Sequence[Budget], pod: Pod) -> Iterator[Budget]:
    name = pod.key.partition("/")[2]
    for budget in budgets:
        counted = budget.observed is not None and name in budget.observed.disrupted
        if not counted and budget.protects(pod):
            yield budget


def _units(state: State) -> Iterator[Unit]:
    for pod in state.pods.values():
        if state.standing(pod) is Standing.BOUND:
            group = _group_of(state, pod)
            if group is None:
                yield Unit(UnitKind.POD, state.spec(pod).priority, (pod,))
            elif not group.disrupted_whole:
                yield Unit(UnitKind.GROUP, group.priority, (pod,))
    for group in state.groups.values():
        if group.disrupted_whole and (bound := state.members_of(group.key).bound):
            pods = sorted((state.pods[key] for key in bound), key=lambda pod: pod.arrival)
            yield Unit(UnitKind.GROUP, group.priority, tuple(pods))


def _group_of(state: State, pod: Pod) -> Group | None:
    return None if pod.group is None else state.groups.get(pod.group)


def _started(pod: Pod) -> float:
    return float("inf") if pod.started_us is None else pod.started_us
