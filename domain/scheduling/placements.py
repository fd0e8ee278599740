"""Placements: the sets of nodes among which a group with a topology constraint has to choose.

Each value of the label that the constraint names is one placement. Source: kube-scheduler 1.37,
plugins TopologyPlacementGenerator, PodGroupPodsCount and NodeResourcesFit; KEP-5732.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from domain.objects import Pod
from domain.room import SCORED, Kept, Room
from domain.roster import CPU_AND_MEMORY, LARGEST, NO_DOMAIN, Roster, Whole, whole_numbers
from domain.scheduling import texts

_FEW = 8
"""Domains with less than one node in so many are added up sooner one by one than all together."""


class Running(NamedTuple):
    """A member on a node: its name, and the labels of the node; none if the node is not there any more."""

    name: str
    labels: Mapping[str, str]


class UndeterminedDomain(Exception):
    """Members that run do not tell one domain; the message is Kubernetes' text."""


def candidates(roster: Roster, key: str, running: Iterable[Running]) -> list[int]:
    """The numbers of the domains of `key` in `roster` that a group can have, by name.

    Members that run leave only theirs, whether it has room or not. Raises UndeterminedDomain if they
    are in several, or on a node in none.
    """
    domains = roster.domains(key)
    pinned: set[str] = set()
    for pod, labels in running:
        if key not in labels:
            raise UndeterminedDomain(texts.no_domain(pod))
        pinned.add(labels[key])
    if len(pinned) > 1:
        first, second, *_ = sorted(pinned)
        raise UndeterminedDomain(texts.several_domains(first, second))
    if not pinned:
        return list(range(len(domains)))
    return [number for number, name in enumerate(domains.names) if name in pinned]


def most_nominated(roster: Roster, key: str, pods: Iterable[Pod], numbers: Sequence[int]) -> int | None:
    """Which of `numbers`, at least one, has the most of the nodes that `pods` are nominated to; None if
    none has any."""
    domains = roster.domains(key)
    votes = Counter(
        roster.facts[roster.row[pod.nominated]].labels.get(key)
        for pod in pods
        if pod.nominated is not None and pod.nominated in roster.row
    )
    if not votes:
        return None
    best = max(numbers, key=lambda number: votes[domains.names[number]])
    return best if votes[domains.names[best]] else None


def best_placement(
    placed: Sequence[int] | NDArray[np.int64], allocatable: Whole, used: Whole, weight: int = 1
) -> int:
    """Which placement is the best, of equals the first: more Pods placed, and fuller.

    `placed` has the number of Pods by placement; `allocatable` and `used` are as for `percent_used`,
    of which a point counts `weight`.
    """
    counts = np.array(placed, dtype=np.int64)
    totals = counts * 100 // max(counts.max(), 1) + percent_used(allocatable, used) * weight
    return int(totals.argmax())


def percent_used(allocatable: Whole, used: Whole) -> Whole:
    """MostAllocated of D placements, each as if it were one node, shape (D,).

    `allocatable` and `used` are of shape (2, D): cpu and memory. A resource that a placement has none
    of is left out, one of which more is in use than there is counts 0.
    """
    cpu, memory = np.where(used <= allocatable, used * 100 // np.maximum(allocatable, 1), 0)
    mean: Whole = (cpu + memory) >> (allocatable > 0).all(axis=0).astype(np.int64)
    return mean


def use_of_rooms(rooms: Iterable[Room]) -> tuple[Whole, Whole]:
    """Allocatable and used amounts for `percent_used`, of placements that are a room each."""
    rooms = list(rooms)
    allocatable = [[sum(column.tolist()) for column in room.allocatable[CPU_AND_MEMORY]] for room in rooms]
    used = [[sum(column.tolist()) for column in room.used[SCORED]] for room in rooms]
    return _by_resource(allocatable), _by_resource(used)


def _by_resource(amounts: list[list[int]]) -> Whole:
    turned: Whole = whole_numbers(amounts).T
    return turned


class UseOfDomains(Kept):
    """What is in use in the domains of `key` in a room, as scores count it."""

    def __init__(self, room: Room, key: str) -> None:
        super().__init__(room)
        self._domains = room.roster.domains(key)
        self.used = self._add_up(room)
        """cpu and memory by domain, shape (2, D); to be read only."""

    def _look_again(self, room: Room, touched: list[int]) -> None:
        numbers = sorted({int(self._domains.of[row]) for row in touched} - {NO_DOMAIN})
        domains = {number: self._domains.rows_of(number) for number in numbers}
        if sum(map(len, domains.values())) * _FEW > len(room):
            self.used = self._add_up(room)
            return
        for number, rows in domains.items():
            used = [sum(column.take(rows).tolist()) for column in room.used[SCORED]]
            if max(used) > LARGEST:
                self.used = self._add_up(room)
                return
            self.used[:, number] = used

    def _part(self) -> None:
        self.used = self.used.copy()

    def _add_up(self, room: Room) -> Whole:
        return np.array([self._domains.sums(column) for column in room.used[SCORED]])


def use_of_domains(room: Room, key: str) -> tuple[Whole, Whole]:
    """Allocatable and used amounts for `percent_used`, of all domains of `key` in `room`."""
    return room.roster.offered(key)[CPU_AND_MEMORY], room.kept(UseOfDomains, key).used
