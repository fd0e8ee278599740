"""The crowd: which Pods are on which nodes, counted by what rules of other Pods see of them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from domain.peers import Peer
from domain.roster import Roster, Rows


class Places(NamedTuple):
    """The nodes on which some Pods are, as rows of a roster, and how many are on each."""

    rows: Rows
    counts: NDArray[np.int64]


class Crowd:
    """The Pods on nodes by Peer, and the labels of namespaces; mutable, owned by one node table.

    As in the table, a node that Pods are on need not exist.
    """

    def __init__(self) -> None:
        self.namespaces: dict[str, dict[str, str]] = {}
        """Labels by name of the namespace, where it has more than its name."""
        self._nodes: dict[Peer, dict[str, int]] = {}
        self._with_terms: dict[Peer, None] = {}
        self._places: dict[Peer, tuple[Roster, Places]] = {}

    @property
    def has_terms(self) -> bool:
        """Whether some Pod on a node has rules for the Pods near it."""
        return bool(self._with_terms)

    def terms_on(self, node: str) -> bool:
        """Whether some Pod on `node` has rules for the Pods near it."""
        return any(node in self._nodes[peer] for peer in self._with_terms)

    def take(self, node: str, peer: Peer, count: int = 1) -> None:
        """Count `count` Pods like `peer` on `node`."""
        nodes = self._nodes.get(peer)
        if nodes is None:
            nodes = self._nodes[peer] = {}
            if peer.terms is not None:
                self._with_terms[peer] = None
        nodes[node] = nodes.get(node, 0) + count
        self._places.pop(peer, None)

    def give_back(self, node: str, peer: Peer) -> None:
        """Undo `take`."""
        nodes = self._nodes[peer]
        nodes[node] -= 1
        if not nodes[node]:
            del nodes[node]
            if not nodes:
                del self._nodes[peer]
                self._with_terms.pop(peer, None)
        self._places.pop(peer, None)

    def peers(self, *, with_terms: bool = False) -> Iterator[Peer]:
        """Every Peer of a Pod on some node, or only those with rules for others."""
        return iter(self._with_terms if with_terms else self._nodes)

    def places(self, peer: Peer, roster: Roster) -> Places:
        """Where in `roster` Pods like `peer` are; remembered until one comes or goes."""
        known = self._places.get(peer)
        if known is None or known[0] is not roster:
            known = self._places[peer] = (roster, _places(self._nodes[peer], roster))
        return known[1]

    def copy(self) -> "Crowd":
        """An independent copy."""
        copy = Crowd()
        copy.namespaces = self.namespaces.copy()
        copy._nodes = {peer: nodes.copy() for peer, nodes in self._nodes.items()}
        copy._with_terms = self._with_terms.copy()
        return copy


def _places(nodes: Mapping[str, int], roster: Roster) -> Places:
    row = roster.row
    found = [(row[node], count) for node, count in nodes.items() if node in row]
    return Places(
        np.array([row for row, _ in found], dtype=np.intp),
        np.array([count for _, count in found], dtype=np.int64),
    )
