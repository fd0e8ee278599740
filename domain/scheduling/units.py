"""Disruption units: the Pods that preemption evicts together or not at all, and their order.

Source: kube-scheduler 1.37, framework/preemption; KEP-5710.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from domain.budgets import Budget, allowance
from domain.objects import POD_GROUP, TERMINAL_PHASES, Group, Pod
from domain.state import State
from domain.times import LATEST

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
    def started_us(self) -> int:
        """When the first of its Pods started; later than any moment if none has."""
        return min(map(_started, self.pods))

    def is_on(self, nodes: AbstractSet[str]) -> bool:
        """Whether one of its Pods is on one of `nodes`."""
        return not nodes.isdisjoint(map(_node, self.pods))

    def importance(self) -> tuple[int, int, int, int, str]:
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
    rank = None if pod.group is None else _rank(state, pod.group)
    return pod.spec.priority if rank is None else rank.priority


def subject_of(state: State, unit: Unit) -> str:
    """The subject of the Pod or the group that `unit` belongs to as a whole."""
    first = unit.pods[0]
    rank = None if first.group is None else _rank(state, first.group)
    return first.subject if rank is None or rank.whole is None else rank.whole.subject


def allowances(state: State) -> Allowances:
    """What every budget allows."""
    return [(budget, allowance(budget, state.pods)) for budget in state.budgets.values()]


def violating(allowed: Allowances, units: Iterable[Unit]) -> dict[str, int]:
    """Which of `units`, by name, would break a budget if all of them went, the most important first, and
    with how many of their Pods.

    Each Pod takes one from every budget that protects it and does not count it as disrupted yet.
    """
    if not allowed:
        return {}
    budgets = [budget for budget, _ in allowed]
    left = {budget.key: disruptions for budget, disruptions in allowed}
    broken: dict[str, int] = {}
    for unit in sorted(units, key=Unit.importance):
        for pod in unit.pods:
            charged = [budget.key for budget in _charged(budgets, pod)]
            for key in charged:
                left[key] -= 1
            if any(left[key] < 0 for key in charged):
                broken[unit.name] = broken.get(unit.name, 0) + 1
    return broken


def _charged(budgets: Sequence[Budget], pod: Pod) -> Iterator[Budget]:
    for budget in budgets:
        counted = budget.observed is not None and pod.name in budget.observed.disrupted
        if not counted and budget.protects(pod):
            yield budget


class _Rank(NamedTuple):
    """What the groups above a Pod make of it: the `priority` of the root, and the highest of them whose
    Pods are evicted together or not at all, if there is one."""

    priority: int
    whole: Group | None


def _rank(state: State, group: str) -> _Rank | None:
    """The rank of the Pods that name the PodGroup `group`; None if it does not exist.

    Where the way to the root ends early, the last group on it counts as the root.
    """
    groups = state.root_of(group).groups
    if not groups:
        return None
    whole = [above for above in groups if above.disrupted_whole]
    return _Rank(groups[-1].priority, whole[-1] if whole else None)


def _units(state: State, below: int) -> Iterator[Unit]:
    nodes = state.node_records
    ranks: dict[str | None, _Rank | None] = {None: None}
    wholes: dict[str, tuple[Group, int]] = {}
    for pod in state.pods.values():
        if pod.node not in nodes or pod.phase in TERMINAL_PHASES:
            continue
        if pod.group is not None and pod.group not in ranks:
            ranks[pod.group] = _rank(state, pod.group)
        rank = ranks[pod.group]
        priority = pod.spec.priority if rank is None else rank.priority
        if priority >= below:
            continue
        if rank is not None and rank.whole is not None:
            wholes[rank.whole.subject] = (rank.whole, priority)
        else:
            yield Unit(UnitKind.POD if pod.group is None else UnitKind.GROUP, priority, (pod,))
    for group, priority in wholes.values():
        kind = UnitKind.GROUP if group.kind == POD_GROUP else UnitKind.COMPOSITE
        yield Unit(kind, priority, tuple(state.bound_below(group.kind, group.key)))


def _started(pod: Pod) -> int:
    return LATEST + 1 if pod.started_us is None else pod.started_us
