"""Disruption units: the Pods that preemption evicts together or not at all, and their order.

Source: kube-scheduler 1.37, framework/preemption; KEP-5710.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from domain.budgets import Budget, allowance
from domain.objects import TERMINAL_PHASES, Pod
from domain.state import State

Allowances: TypeAlias = Sequence[tuple[Budget, int]]
"""Budgets, each with how many more disruptions it allows."""


_node = attrgetter("node")


class UnitKind(enum.IntEnum):
    """What a unit belongs to; of equal priority the smaller number is more important."""

    COMPOSITE = 0
    GROUP = 1
    POD = 2


class Unit(NamedTuple):
    """`pods`, oldest first, all on nodes. `priority` is that of their root group, if they have one."""

    kind: UnitKind
    priority: int
    pods: tuple[Pod, ...]

    @property
    def name(self) -> str:
        """What tells it apart: the key of its first Pod."""
        return self.pods[0].key

    @property
    def started_us(self) -> float:
        """When the first of its Pods started; infinite if none has."""
        return min(map(_started, self.pods))

    def is_on(self, nodes: AbstractSet[str]) -> bool:
        """Whether one of its Pods is on one of `nodes`."""
        return not nodes.isdisjoint(map(_node, self.pods))

    def importance(self) -> tuple[int, int, int, float, str]:
        """The smaller key is more important."""
        return (-self.priority, self.kind, -len(self.pods), self.started_us, self.pods[0].uid)


def units_below(state: State, priority: int) -> list[Unit]:
    """All units that a preemptor of `priority` may evict, in no order that means anything.

    Pods that are being deleted are among them: they will be gone without anybody's doing. Whoever is
    only on nodes that have left stands in nobody's way.
    """
    lowest = min((*state.bound_priorities, *state.group_priorities), default=priority)
    if lowest >= priority:
        return []
    return list(_units(state, priority))


def unit_priority(state: State, pod: Pod) -> int:
    """The priority at which `pod` can be a victim."""
    group = None if pod.group is None else state.groups.get(pod.group)
    return state.spec(pod).priority if group is None else group.priority


def allowances(state: State) -> Allowances:
    """What every budget allows."""
    return [(budget, allowance(budget, state.pods)) for budget in state.budgets.values()]


def violating(allowed: Allowances, units: Iterable[Unit]) -> set[str]:
    """Which of `units`, by name, would break a budget if all of them went, the most important first.

    Each Pod takes one from every budget that protects it and does not count it as disrupted yet.
    """
    if not allowed:
        return set()
    budgets = [budget for budget, _ in allowed]
    left = {budget.key: disruptions for budget, disruptions in allowed}
    broken = set()
    for unit in sorted(units, key=Unit.importance):
        for pod in unit.pods:
            for budget in _charged(budgets, pod):
                left[budget.key] -= 1
                if left[budget.key] < 0:
                    broken.add(unit.name)
    return broken


def _charged(budgets: Sequence[Budget], pod: Pod) -> Iterator[Budget]:
    name = pod.key.partition("/")[2]
    for budget in budgets:
        counted = budget.observed is not None and name in budget.observed.disrupted
        if not counted and budget.protects(pod):
            yield budget


def _units(state: State, below: int) -> Iterator[Unit]:
    priorities = [spec.priority for spec in state.specs.all]
    nodes = state.node_records
    for pod in state.pods.values():
        if pod.node not in nodes or pod.phase in TERMINAL_PHASES:
            continue
        group = None if pod.group is None else state.groups.get(pod.group)
        if group is None:
            priority = priorities[pod.spec]
            if priority < below:
                yield Unit(UnitKind.POD, priority, (pod,))
        elif group.priority < below and not group.disrupted_whole:
            yield Unit(UnitKind.GROUP, group.priority, (pod,))
    for group in state.groups.values():
        whole = group.disrupted_whole and group.priority < below
        if whole and (bound := state.members_of(group.key).bound):
            pods = sorted((state.pods[key] for key in bound), key=lambda pod: pod.arrival)
            unit = Unit(UnitKind.GROUP, group.priority, tuple(pods))
            if unit.is_on(nodes.keys()):
                yield unit


def _started(pod: Pod) -> float:
    return float("inf") if pod.started_us is None else pod.started_us
