"""The node table: which nodes there are, and what the Pods on them use."""

from collections.abc import Mapping

import numpy as np

from domain.crowd import Crowd
from domain.errors import CorruptLog
from domain.host_ports import HostPorts
from domain.node_facts import NodeFacts
from domain.peers import Peer
from domain.profile import DEFAULT_PROFILE, Profile
from domain.resources import CPU, MEMORY, PODS
from domain.room import Room, ask_of
from domain.roster import Roster, Whole, whole_numbers
from domain.shapes import PodShape

_TOUCHED = 4
"""Rooms are made anew once every node was touched so many times: none remembers all that ever was."""


class NodeTable:
    """Nodes by name, and the Pods on them by shape; mutable, owned by one State.

    A name may have Pods without being a node: they count as soon as the node comes (back). What is
    told of single Pods is only noted; columns are brought up to date when a cycle asks for them.
    """

    def __init__(self) -> None:
        self._facts: dict[str, NodeFacts] = {}
        self._pods: dict[str, dict[PodShape, int]] = {}
        self._ports = HostPorts()
        self.crowd = Crowd()
        self._roster = Roster(())
        self._outdated = False
        """Whether `_facts` have changed since `_roster` was made of them."""
        self._used: Whole = _nothing_used(self._roster)
        """As `Room.used`, for the rows of `_roster`, but for the nodes in `_stale`."""
        self._stale: set[str] = set()
        self._rooms: dict[Profile, Room] = {}
        """What is free, by the profile that looks at it: `_used` with what cycles have found out about it."""

    def __len__(self) -> int:
        return len(self._facts)

    def __contains__(self, name: str) -> bool:
        return name in self._facts

    def names(self) -> list[str]:
        """The names of the nodes, sorted."""
        return sorted(self._facts)

    def facts(self, name: str) -> NodeFacts:
        """What is known of a node. Raises KeyError if there is none of this name."""
        return self._facts[name]

    def put(self, facts: NodeFacts) -> None:
        """Add a node, or change the one of this name."""
        if self._facts.get(facts.name) != facts:
            self._facts[facts.name] = facts
            self._outdated = True

    def remove(self, name: str) -> None:
        """Take a node away; its Pods stay counted under its name. Raises KeyError if there is none."""
        del self._facts[name]
        self._outdated = True

    def take(self, node: str, shape: PodShape, peer: Peer | None = None, count: int = 1) -> None:
        """Count `count` Pods of `shape` on `node`, whether there is such a node or not.

        `peer` is what rules of other Pods see of each; None for one that no rule can see.
        """
        pods = self._pods.get(node)
        if pods is None:
            pods = self._pods[node] = {}
        pods[shape] = pods.get(shape, 0) + count
        self._stale.add(node)
        if shape.host_ports:
            self._ports.take(node, shape.host_ports, count)
        if peer is not None:
            self.crowd.take(node, peer, count)

    def give_back(self, node: str, shape: PodShape, peer: Peer | None = None) -> None:
        """Undo `take`. Raises CorruptLog if no Pod of `shape` is on `node`."""
        pods = self._pods.get(node, {})
        left = pods.get(shape, 0) - 1
        if left > 0:
            pods[shape] = left
        elif left == 0:
            del pods[shape]
            if not pods:
                del self._pods[node]
        else:
            raise CorruptLog(f"no Pod of this shape is on node {node!r}: {shape}")
        self._stale.add(node)
        if shape.host_ports:
            self._ports.give_back(node, shape.host_ports)
        if peer is not None:
            self.crowd.give_back(node, peer)

    def pods(self, node: str) -> Mapping[PodShape, int]:
        """How many Pods of each shape are on `node`."""
        return self._pods.get(node, {})

    def used(self, node: str) -> dict[str, int]:
        """What the Pods on `node` use, by resource in base units, `pods` first."""
        used = {PODS: 0, CPU: 0, MEMORY: 0}
        for shape, count in self.pods(node).items():
            used[PODS] += count
            for resource, amount in shape.requests:
                used[resource] = used.get(resource, 0) + count * int(amount)
        return used

    def for_cycle(self, profile: Profile = DEFAULT_PROFILE) -> Room:
        """What is free now, for one cycle by `profile` to play with."""
        self.arrange()
        room = self._rooms.get(profile)
        if room is None:
            room = self._rooms[profile] = Room(self._roster, self._used, self._ports, self.crowd, profile)
        return room.for_cycle()

    def arrange(self) -> None:
        """Bring the columns up to date, so that the next cycle need not."""
        if self._outdated:
            self._rearrange()
        self._refresh()

    def copy(self) -> "NodeTable":
        """An independent copy."""
        copy = NodeTable()
        copy._facts = self._facts.copy()
        copy._pods = {node: pods.copy() for node, pods in self._pods.items()}
        copy._ports = self._ports.copy()
        copy.crowd = self.crowd.copy()
        copy._roster = self._roster
        copy._outdated = self._outdated
        copy._used = self._used.copy()
        copy._stale = self._stale.copy()
        return copy

    def _rearrange(self) -> None:
        """Make the columns anew for the nodes of today, keeping what is known of their use."""
        old, self._roster = self._roster, Roster(self._facts.values())
        kept = np.array([old.row.get(name, -1) for name in self._roster.names], dtype=np.intp)
        if old.resources != self._roster.resources:
            kept = np.full_like(kept, -1)
        known = kept >= 0
        used: Whole = _nothing_used(self._roster)
        if self._used.dtype == np.object_:
            used = used.astype(np.object_)
        if known.any():
            used[:, known] = self._used[:, kept[known]]
        self._used = used
        self._rooms.clear()
        self._stale.update(self._roster.names[row] for row in np.flatnonzero(~known))
        self._outdated = False

    def _refresh(self) -> None:
        """Bring the columns of stale nodes up to date."""
        row_of = self._roster.row
        empty = [row_of[node] for node in self._stale if node in row_of and node not in self._pods]
        stale = [node for node in self._stale if node in row_of and node in self._pods]
        self._stale.clear()
        if empty:
            self._used[:, empty] = 0
        rows = [row_of[node] for node in stale]
        if stale:
            amounts = whole_numbers([self._amounts(node) for node in stale])
            if amounts.dtype == np.object_:
                self._used = self._used.astype(np.object_)
            self._used[:, rows] = amounts.T
        for profile, room in list(self._rooms.items()):
            if len(room.touched) > _TOUCHED * len(self._roster):
                del self._rooms[profile]
            elif empty or rows:
                room.follow(self._used, [*empty, *rows])

    def _amounts(self, node: str) -> list[int]:
        """What the Pods on `node` use: a column of `Room.used`."""
        amounts = [0] * len(self._used)
        for shape, count in self.pods(node).items():
            taken = self._roster.remembered(ask_of, shape).amounts
            amounts = [amount + count * each for amount, each in zip(amounts, taken, strict=True)]
        return amounts


def _nothing_used(roster: Roster) -> Whole:
    return np.zeros((len(roster.resources) + 2, len(roster)), dtype=np.int64)
