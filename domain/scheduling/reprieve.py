"""Reprieve: of the units that were taken away for a preemptor, who can stay after all.

Source: kube-scheduler 1.37, framework/preemption.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from domain.room import Room
from domain.scheduling.evaluate import fits
from domain.scheduling.units import Unit
from domain.shapes import PodShape
from domain.state import State

Placed = Iterable[tuple[PodShape, int]]
"""Shapes of Pods with the rows they were placed on, in the order of the cycle."""


def clear(state: State, room: Room, units: Iterable[Unit]) -> None:
    """Take the Pods of `units` out of `room`."""
    rows, specs = room.roster.row, state.specs.all
    counts: dict[int, Counter[int]] = {}
    for unit in units:
        for pod in unit.pods:
            row = rows.get(str(pod.node))
            if row is not None:
                counts.setdefault(pod.spec, Counter())[row] += 1
    for spec, by_row in counts.items():
        room.forget_all(by_row, specs[spec].shape)


def without_reprieve(
    state: State, room: Room, units: Iterable[Unit], broken: set[str], placed: Placed
) -> list[Unit]:
    """Which of `units` cannot stay beside the Pods that are `placed`, the most important first.

    In `room` are neither the units nor the placed Pods. Those named in `broken` get the first chance
    to stay, then the others, each in order of importance. No filter looks at other nodes than
    the one a Pod is placed on, so that units elsewhere can stay in any case.
    """
    by_row: dict[int, list[PodShape]] = {}
    for shape, row in placed:
        by_row.setdefault(row, []).append(shape)
    touched = {room.names[row] for row in by_row}
    ranked = sorted((unit for unit in units if unit.is_on(touched)), key=Unit.importance)
    chances = sorted(ranked, key=lambda unit: unit.name not in broken)
    gone = {unit.name for unit in chances if not _put_back(state, room, unit, by_row)}
    return [unit for unit in ranked if unit.name in gone]


def _put_back(state: State, room: Room, unit: Unit, placed: Mapping[int, Sequence[PodShape]]) -> bool:
    """Put `unit` back into `room` if whoever is placed on its nodes still fits there."""
    rows = room.roster.row
    back = [
        (row, state.spec(pod).shape) for pod in unit.pods if (row := rows.get(str(pod.node), -1)) in placed
    ]
    for row, shape in back:
        room.assume(row, shape)
    if all(_all_fit(room, row, placed[row]) for row in dict.fromkeys(row for row, _ in back)):
        return True
    for row, shape in back:
        room.forget(row, shape)
    return False


def _all_fit(room: Room, row: int, shapes: Sequence[PodShape]) -> bool:
    """Whether Pods of `shapes` pass the filters on the node in `row` one after the other."""
    taken = 0
    fit = True
    while fit and taken < len(shapes):
        fit = fits(room, shapes[taken], row)
        if fit and taken + 1 < len(shapes):
            room.assume(row, shapes[taken])
        taken += 1
    for shape in shapes[: taken - 1]:
        room.forget(row, shape)
    return fit
