"""Reprieve: of the units that were taken away for a preemptor, who can stay after all.

Source: kube-scheduler 1.37, framework/preemption.
"""

from collections.abc import Sequence

from domain.room import Room
from domain.scheduling.evaluate import fits
from domain.scheduling.units import Unit
from domain.shapes import PodShape
from domain.state import State

Placed = Sequence[tuple[PodShape, int]]
"""Shapes of Pods with the rows they were placed on, in the order of the cycle."""


def clear(state: State, room: Room, units: Sequence[Unit]) -> None:
    """Take the Pods of `units` out of `room`."""
    for unit in units:
        for row, shape in _on_rows(state, room, unit):
            room.forget(row, shape)


def without_reprieve(
    state: State, room: Room, units: Sequence[Unit], broken: set[int], placed: Placed
) -> list[int]:
    """Which of `units` cannot stay beside the Pods that are `placed` in `room`, by their places.

    `units` are in order of importance and cleared from `room`; those in `broken` (places too) get
    the first chance. Who can stay is put back into `room`.
    """
    order = [*sorted(broken), *(place for place in range(len(units)) if place not in broken)]
    return sorted(place for place in order if not _put_back(state, room, units[place], placed))


def _put_back(state: State, room: Room, unit: Unit, placed: Placed) -> bool:
    """Put `unit` back into `room` if whoever is placed on its nodes still fits there."""
    back = _on_rows(state, room, unit)
    for row, shape in back:
        room.assume(row, shape)
    touched = {row for row, _ in back}
    if _all_fit(room, [(shape, row) for shape, row in placed if row in touched]):
        return True
    for row, shape in back:
        room.forget(row, shape)
    return False


def _all_fit(room: Room, placed: Placed) -> bool:
    """Whether Pods that are placed in `room` pass the filters there one after the other."""
    for shape, row in placed:
        room.forget(row, shape)
    fit = True
    for shape, row in placed:
        fit = fit and fits(room, shape, row)
        room.assume(row, shape)
    return fit


def _on_rows(state: State, room: Room, unit: Unit) -> list[tuple[int, PodShape]]:
    """The Pods of `unit` on nodes that exist, as rows and shapes."""
    rows = room.roster.row
    return [(rows[pod.node], state.spec(pod).shape) for pod in unit.pods if pod.node in rows]
