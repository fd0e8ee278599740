"""Reprieve: of the units that were taken away for a preemptor, who can stay after all.

Source: kube-scheduler 1.37, framework/preemption.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import takewhile
from typing import TypeAlias

from domain.host_ports import HostPort, collide
from domain.objects import Pod, PodSpec
from domain.peers import Peer
from domain.resources import PODS
from domain.room import Room
from domain.scheduling.company import company_of
from domain.scheduling.evaluate import welcome_at
from domain.scheduling.rules import shape_now
from domain.scheduling.units import Unit
from domain.shapes import PodShape
from domain.state import State

Placed: TypeAlias = Sequence[tuple[PodShape, int]]
"""Shapes of Pods with the rows of their nodes, in the order of the cycle if they were placed in one."""


def clear(state: State, room: Room, units: Iterable[Unit], *, rules: bool) -> None:
    """Take the Pods of `units` out of `room`; with `rules` about other Pods, these see it."""
    for shape, by_row in _by_shape(state, room, units, rules=rules):
        room.forget_all(by_row, shape)


def bring_back(state: State, room: Room, units: Iterable[Unit], *, rules: bool) -> None:
    """Undo `clear`."""
    for shape, by_row in _by_shape(state, room, units, rules=rules):
        room.assume_all(list(by_row.elements()), shape)


def _by_shape(
    state: State, room: Room, units: Iterable[Unit], *, rules: bool
) -> list[tuple[PodShape, Counter[int]]]:
    """The shapes of the Pods of `units`, and how many of each are on which row."""
    rows = room.roster.row
    alike: dict[PodSpec | tuple[PodSpec, bool], list[Pod]] = {}
    for unit in units:
        for pod in unit.pods:
            if pod.node in rows:
                alike.setdefault((pod.spec, pod.deletion is None) if rules else pod.spec, []).append(pod)
    return [
        (shape_now(state, pods[0], rules=rules), Counter([rows[str(pod.node)] for pod in pods]))
        for pods in alike.values()
    ]


class Sites:
    """What is left on the nodes that Pods are placed on, of all that these ask for.

    Pods that come beside them may ask for more: it stands in nobody's way.
    """

    def __init__(self, room: Room, placed: Placed) -> None:
        self._room = room
        self._spare: dict[int, dict[int, int]] = {}
        """By row, then by column of a resource."""
        self._ports: dict[int, list[HostPort]] = {}
        self._clash = False
        self._asked: dict[PodShape, list[tuple[int, int]]] = {}
        free: dict[int, list[int]] = {}
        for shape, row in placed:
            spare = self._spare.setdefault(row, {})
            for column, amount in self._asked_by(shape):
                if column not in free:
                    free[column] = room.free(column).tolist()
                spare[column] = spare.get(column, free[column][row]) - amount
            if ports := self._ports_of(shape):
                taken = self._ports.setdefault(row, [])
                self._clash |= collide(ports, taken)
                taken.extend(ports)
        self._names = {room.names[row] for row in self._spare}

    def hold_all(self) -> bool:
        """Whether there is room for all that are placed at once."""
        return not self._clash and all(left >= 0 for spare in self._spare.values() for left in spare.values())

    def concern(self, unit: Unit) -> bool:
        """Whether a Pod of `unit` is on one of these nodes."""
        return unit.is_on(self._names)

    def admit(self, pods: Placed) -> bool:
        """Let `pods` in if there is room for all of them that are on one of these nodes."""
        left: dict[int, dict[int, int]] = {}
        for shape, row in pods:
            if row not in self._spare:
                continue
            if (ports := self._ports_of(shape)) and collide(ports, self._ports.get(row, ())):
                return False
            spare = left.get(row)
            if spare is None:
                spare = left[row] = self._spare[row].copy()
            for column, amount in self._asked_by(shape):
                if column in spare:
                    spare[column] -= amount
                    if spare[column] < 0:
                        return False
        self._spare.update(left)
        return True

    def dismiss(self, pods: Placed) -> None:
        """Undo `admit` that let `pods` in."""
        for shape, row in pods:
            spare = self._spare.get(row, {})
            for column, amount in self._asked_by(shape):
                if column in spare:
                    spare[column] += amount

    def _asked_by(self, shape: PodShape) -> list[tuple[int, int]]:
        """What a Pod of `shape` takes, by column; nothing if no filter looks at it."""
        asked = self._asked.get(shape)
        if asked is None:
            room, asked = self._room, []
            if room.profile.filters_by("NodeResourcesFit"):
                asked = [(room.roster.column[PODS], 1), *room.ask(shape).columns]
            self._asked[shape] = asked
        return asked

    def _ports_of(self, shape: PodShape) -> Sequence[HostPort]:
        """The host ports that a Pod of `shape` wants; none if no filter looks at them."""
        return shape.host_ports if self._room.profile.filters_by("NodePorts") else ()


class Neighbours:
    """The Pods that are placed, by the rules about other Pods, their own and those of others.

    In the room are the Pods that were let in, but not those that are placed.
    """

    def __init__(self, room: Room, placed: Placed) -> None:
        self._room = room
        self._placed = placed
        self._companies = {shape: company_of(room, shape) for shape, _ in placed}
        self._inside: list[tuple[PodShape, int]] = []

    def mind(self, peer: Peer) -> bool:
        """Whether a Pod like `peer` can make a difference to one of them."""
        return any(company.minds(peer) for company in self._companies.values())

    def admit(self, pods: Placed) -> bool:
        """Let `pods` in if everyone who is placed is welcome on its node after those placed before."""
        for shape, row in pods:
            self._room.assume(row, shape)
        if self.agree():
            self._inside += pods
            return True
        for shape, row in pods:
            self._room.forget(row, shape)
        return False

    def leave(self) -> None:
        """Take out again whoever was let in."""
        for shape, row in self._inside:
            self._room.forget(row, shape)
        self._inside.clear()

    def agree(self) -> bool:
        """Whether everyone who is placed is welcome on its node after those placed before."""
        welcome = list(takewhile(self._is_seated, self._placed))
        for shape, row in welcome:
            self._room.forget(row, shape)
        return len(welcome) == len(self._placed)

    def _is_seated(self, one: tuple[PodShape, int]) -> bool:
        """Put one of the placed into the room if it is welcome there."""
        shape, row = one
        welcome = welcome_at(self._companies[shape], self._room, row)
        if welcome:
            self._room.assume(row, shape)
        return welcome


def without_reprieve(
    state: State, room: Room, units: Iterable[Unit], broken: Collection[str], placed: Placed, *, rules: bool
) -> list[Unit]:
    """Which of `units` cannot stay beside the Pods that are `placed`, the most important first.

    In `room` are neither the units nor the placed Pods, nor are they afterwards. Units on other nodes
    can stay in any case unless `rules` about other Pods make a difference to those that are placed.
    Nobody can stay if those cannot all be there at once, as it may be with Pods of a PodGroup that failed.
    """
    sites = Sites(room, placed)
    if not sites.hold_all():
        return sorted(units, key=Unit.importance)
    if rules:
        neighbours = Neighbours(room, placed)
        if not neighbours.agree():
            return sorted(units, key=Unit.importance)
        return _among_rules(state, room, units, broken, sites, neighbours)
    near = [unit for unit in units if sites.concern(unit)]
    return left_out(near, broken, lambda unit: sites.admit(_standing(state, room, unit)))


def _among_rules(
    state: State,
    room: Room,
    units: Iterable[Unit],
    broken: Collection[str],
    sites: Sites,
    neighbours: Neighbours,
) -> list[Unit]:
    minded = {unit.name for unit in units if any(neighbours.mind(state.peer(pod)) for pod in unit.pods)}

    def admit(unit: Unit) -> bool:
        pods = _standing(state, room, unit, rules=True)
        if not sites.admit(pods):
            return False
        if unit.name not in minded or neighbours.admit(pods):
            return True
        sites.dismiss(pods)
        return False

    gone = left_out([unit for unit in units if unit.name in minded or sites.concern(unit)], broken, admit)
    neighbours.leave()
    return gone


def left_out(units: Iterable[Unit], broken: Collection[str], admit: Callable[[Unit], bool]) -> list[Unit]:
    """Which of `units` cannot stay, the most important first, if `admit` lets in who can.

    Those named in `broken` get the first chance, then the others, each in order of importance.
    """
    ranked = sorted(units, key=Unit.importance)
    chances = sorted(ranked, key=lambda unit: unit.name not in broken) if broken else ranked
    gone = {unit.name for unit in chances if not admit(unit)}
    return [unit for unit in ranked if unit.name in gone]


def _standing(state: State, room: Room, unit: Unit, *, rules: bool = False) -> Placed:
    """The Pods of `unit` that are on nodes of `room`, as `clear` takes them out."""
    rows = room.roster.row
    return [
        (shape_now(state, pod, rules=rules), rows[pod.node])
        for pod in unit.pods
        if pod.node is not None and pod.node in rows
    ]
