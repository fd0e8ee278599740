"""Ports of nodes that Pods take for themselves."""

from collections.abc import Iterable, Sequence

import msgspec

ANY_ADDRESS = "0.0.0.0"


class HostPort(msgspec.Struct, frozen=True, gc=False, array_like=True, order=True):
    """A port of the node itself, on one of its addresses or, for `0.0.0.0`, on all of them."""

    protocol: str
    port: int
    address: str


def collide(ports: Iterable[HostPort], others: Sequence[HostPort]) -> bool:
    """Whether no node can have both `ports` and `others`.

    Two Pods cannot have the same port and protocol on one address; `0.0.0.0` is every address.
    """
    return any(
        (one.protocol, one.port) == (other.protocol, other.port)
        and (one.address == other.address or ANY_ADDRESS in (one.address, other.address))
        for one in ports
        for other in others
    )


class HostPorts:
    """Which ports are taken on which nodes, and by how many Pods.

    Pods that were bound from outside may share a port, so takers are counted.
    """

    def __init__(self) -> None:
        self._takers: dict[tuple[str, int], dict[tuple[str, str], int]] = {}
        """By protocol and port, then by node and address."""

    def take(self, node: str, ports: Iterable[HostPort], count: int = 1) -> None:
        for wanted in ports:
            takers = self._takers.setdefault((wanted.protocol, wanted.port), {})
            place = (node, wanted.address)
            takers[place] = takers.get(place, 0) + count

    def give_back(self, node: str, ports: Iterable[HostPort]) -> None:
        """Undo `take`."""
        for wanted in ports:
            takers = self._takers[wanted.protocol, wanted.port]
            place = (node, wanted.address)
            takers[place] -= 1
            if not takers[place]:
                del takers[place]

    def conflicts(self, ports: Iterable[HostPort]) -> set[str]:
        """The nodes on which one of `ports` is taken."""
        return {
            node
            for wanted in ports
            for node, address in self._takers.get((wanted.protocol, wanted.port), ())
            if wanted.address == address or ANY_ADDRESS in (wanted.address, address)
        }

    def copy(self) -> "HostPorts":
        """An independent copy."""
        copy = HostPorts()
        copy._takers = {port: takers.copy() for port, takers in self._takers.items() if takers}
        return copy
