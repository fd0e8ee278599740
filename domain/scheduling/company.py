"""The company that a node would be for Pods of one shape: what runs near, by the rules of both sides.

Everything that InterPodAffinity and PodTopologySpread read of other Pods comes down to tallies: how
much there is of something in each domain, a domain being the nodes with one value of a label. A
Pod that is placed changes few numbers of each tally, so that they are counted once in a cycle.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from domain.crowd import Crowd, Places
from domain.peers import Namespaces, Peer, PodTerm, PodTerms, SpreadConstraint, near, spread_over
from domain.profile import DEFAULT_PROFILE, Profile
from domain.room import Room
from domain.roster import Mask, Roster, Rows
from domain.scheduling.filters.node_affinity import node_affinity
from domain.scheduling.filters.taint_toleration import taint_toleration
from domain.shapes import PodShape

HOSTNAME = "kubernetes.io/hostname"

_NO_TERMS = PodTerms()

Numbers = NDArray[np.int64]


def company(room: Room, shape: PodShape) -> "Company | None":
    """The company for `shape` in `room` as it is; None if no rule is in play for it."""
    if shape.peer is None:
        return None
    found = company_of(room, shape)
    return found if found.matters or found.minds_any(room.expected) else None


def company_of(room: Room, shape: PodShape) -> "Company":
    """The company for `shape`, which has a peer, in `room` as it is now and as it will be."""
    return room.watching(_count, shape)


def _count(room: Room, shape: PodShape) -> "Company":
    if room.outer is None:
        return Company(room.roster, room.crowd, shape, room.profile)
    outer, rows = room.outer
    return company_of(outer, shape).part(rows)


class Tally:
    """How much there is of something in each of D domains, and so around each of N nodes.

    `domains` are indices of domains by node, -1 for nodes in none. Only what is on nodes of
    `counted` counts; None stands for all.
    """

    def __init__(self, domains: NDArray[np.intp], size: int, counted: Mask | None = None) -> None:
        self.domains = domains
        self.size = size
        self._target = domains if counted is None else np.where(counted, domains, -1)
        self._sums = np.zeros(size + 1, dtype=np.int64)  # the last is for nodes in no domain, and stays 0
        self._around: Numbers | None = None

    def part(self, rows: Rows) -> "Tally":
        """The tally as it stands, seen from the nodes in `rows` alone; the sums are of all."""
        part = copy(self)
        part.domains, part._target = self.domains[rows], self._target[rows]
        part._sums, part._around = self._sums.copy(), None
        return part

    @property
    def by_domain(self) -> Numbers:
        """The sums, shape (D,)."""
        return self._sums[:-1]

    @property
    def around(self) -> Numbers:
        """The sum of each node's domain, 0 for nodes in none, shape (N,); not to be written to."""
        if self._around is None:
            self._around = self._sums.take(self.domains)
        return self._around

    def add(self, places: Places, weight: int) -> None:
        """Count what is at `places`, each Pod with `weight`."""
        np.add.at(self._sums, self._target[places.rows], places.counts * weight)
        self._sums[-1] = 0
        self._around = None

    def at(self, row: int) -> int:
        """The sum around the node in `row`."""
        return int(self._sums[self.domains[row]])

    def add_one(self, row: int, amount: int) -> None:
        """Count `amount` on the node in `row`."""
        domain = self._target[row]
        if domain >= 0:
            self._sums[domain] += amount
            self._around = None


class SpreadTally(NamedTuple):
    """A constraint and the Pods it is about; `keyed` are the nodes with the keys of all constraints
    of its kind, `eligible` the domains with a node that counts, `own` is 1 if the Pod counts itself."""

    constraint: SpreadConstraint
    tally: Tally
    keyed: Mask
    eligible: NDArray[np.intp]
    own: int

    def part(self, rows: Rows) -> "SpreadTally":
        """The same as it stands, seen from the nodes in `rows` alone."""
        return self._replace(tally=self.tally.part(rows), keyed=self.keyed[rows])


class Company:
    """The tallies for Pods of one shape among the Pods of a crowd and those assumed on top of it.

    `needed` has a tally for each required affinity term, `avoided` one for each anti-affinity term.
    `repelled` counts, by topology key, the anti-affinity terms of others that are about this shape;
    `liking` adds up, by topology key, the preferences of both sides. `first` is whether the shape
    meets its own affinity, so that it may begin a series. What only a filter would ask for that is off
    in `profile` is not there.
    """

    def __init__(
        self, roster: Roster, crowd: Crowd, shape: PodShape, profile: Profile = DEFAULT_PROFILE
    ) -> None:
        assert shape.peer is not None
        self._roster = roster
        self._rows: Rows | None = None
        """The nodes that are seen, None for all; those that count are all of the roster's."""
        self._namespaces: Namespaces = crowd.namespaces
        self._peer = shape.peer
        self._hard_weight = profile.hard_pod_affinity_weight
        self._keeps_off = profile.filters_by("InterPodAffinity")
        self._terms = shape.peer.terms or _NO_TERMS
        if not self._keeps_off:
            self._terms = replace(self._terms, affinity=(), anti_affinity=())
        spreads = profile.filters_by("PodTopologySpread")
        self.needed = [self._by_key(term.topology_key) for term in self._terms.affinity]
        self.avoided = [self._by_key(term.topology_key) for term in self._terms.anti_affinity]
        self.repelled: dict[str, Tally] = {}
        self.liking: dict[str, Tally] = {}
        self.hard = _spread_tallies(roster, shape, [one for one in shape.spread if one.hard and spreads])
        self.soft = _spread_tallies(roster, shape, [one for one in shape.spread if not one.hard])
        self.first = self._all_near(self._terms.affinity, shape.peer)
        self._shares: dict[Peer, list[tuple[Tally, int]]] = {}
        looks_at_all = bool(shape.spread) or shape.peer.terms is not None
        for peer in crowd.peers(with_terms=not looks_at_all):
            shares = self._share(peer)
            if shares:
                places = crowd.places(peer, roster)
                for tally, weight in shares:
                    tally.add(places, weight)

    def part(self, rows: Rows) -> "Company":
        """The company as it stands, seen from the nodes in `rows` alone, which then are rows 0, 1, …

        Pods on other nodes go on to count. Source: kube-scheduler 1.37, PodTopologySpread and
        InterPodAffinity within a placement (KEP-5732).
        """
        part = copy(self)
        part._rows = rows if self._rows is None else self._rows[rows]
        part.needed = [tally.part(rows) for tally in self.needed]
        part.avoided = [tally.part(rows) for tally in self.avoided]
        part.repelled = {key: tally.part(rows) for key, tally in self.repelled.items()}
        part.liking = {key: tally.part(rows) for key, tally in self.liking.items()}
        part.hard = [spread.part(rows) for spread in self.hard]
        part.soft = [spread.part(rows) for spread in self.soft]
        part._shares = {}
        return part

    def note(self, peer: Peer, row: int, times: int) -> None:
        """Count `times` more Pods like `peer` on the node in `row`."""
        for tally, weight in self._share(peer):
            tally.add_one(row, weight * times)

    def minds(self, peer: Peer) -> bool:
        """Whether a Pod like `peer` can make a difference to the shape."""
        return bool(self._share(peer))

    def minds_any(self, expected: Mapping[int, Iterable[Peer]]) -> bool:
        """Whether one of the Pods that are `expected` on nodes can make a difference to the shape."""
        return any(self.minds(peer) for peers in expected.values() for peer in peers)

    @property
    def matters(self) -> bool:
        """Whether it keeps the shape off some node or makes nodes differ, now or after a placement
        of the shape itself."""
        tallies = [*self.repelled.values(), *self.liking.values()]
        own = bool(self.hard or self.soft or self.needed or self.avoided)
        return own or any(tally.by_domain.any() for tally in tallies) or bool(self._share(self._peer))

    def _share(self, peer: Peer) -> list[tuple[Tally, int]]:
        """What a Pod like `peer` adds to which tallies."""
        shares = self._shares.get(peer)
        if shares is None:
            shares = self._shares[peer] = [*self._ruled(peer), *self._ruling(peer)]
        return shares

    def _ruled(self, peer: Peer) -> Iterator[tuple[Tally, int]]:
        """What `peer` adds by the rules of this shape."""
        terms = self._terms
        if terms.affinity and self._all_near(terms.affinity, peer):
            yield from ((tally, 1) for tally in self.needed)
        for term, tally in zip(terms.anti_affinity, self.avoided, strict=True):
            if near(term, peer, self._namespaces):
                yield tally, 1
        for preference in terms.preferred:
            if near(preference.term, peer, self._namespaces):
                yield self._of(self.liking, preference.term), preference.weight
        for constraint, tally, *_ in (*self.hard, *self.soft):
            if spread_over(constraint, self._peer.namespace, peer):
                yield tally, 1

    def _ruling(self, peer: Peer) -> Iterator[tuple[Tally, int]]:
        """What `peer` adds by its own rules. A required affinity that is about this shape counts as a
        preference of hardPodAffinityWeight."""
        terms = peer.terms or _NO_TERMS
        weighted = [(self._hard_weight, term) for term in terms.affinity if self._hard_weight]
        weighted += [(preference.weight, preference.term) for preference in terms.preferred]
        for weight, term in weighted:
            if near(term, self._peer, self._namespaces):
                yield self._of(self.liking, term), weight
        for term in terms.anti_affinity if self._keeps_off else ():
            if near(term, self._peer, self._namespaces):
                yield self._of(self.repelled, term), 1

    def _all_near(self, terms: Iterable[PodTerm], peer: Peer) -> bool:
        return all(near(term, peer, self._namespaces) for term in terms)

    def _of(self, tallies: dict[str, Tally], term: PodTerm) -> Tally:
        tally = tallies.get(term.topology_key)
        if tally is None:
            tally = tallies[term.topology_key] = self._by_key(term.topology_key)
        return tally

    def _by_key(self, key: str) -> Tally:
        values, codes = self._roster.labels(key)
        return Tally(codes if self._rows is None else codes[self._rows], len(values))


def _spread_tallies(
    roster: Roster, shape: PodShape, constraints: list[SpreadConstraint]
) -> list[SpreadTally]:
    """Tallies for `constraints`, which are all the hard or all the soft ones of `shape`.

    Nodes without the key of one of them count for none. Of soft ones, hosts are counted each by
    itself, whether or not the Pod could have them. Source: kube-scheduler 1.37, PodTopologySpread.
    """
    assert shape.peer is not None
    keyed = np.ones(len(roster), dtype=np.bool_)
    for constraint in constraints:
        keyed &= roster.labels(constraint.topology_key).codes >= 0
    tallies = []
    for constraint in constraints:
        values, codes = roster.labels(constraint.topology_key)
        counted = keyed.copy()
        if constraint.honors_affinity:
            counted &= ~node_affinity(roster, shape).refused
        if constraint.honors_taints:
            counted &= ~taint_toleration(roster, shape).refused
        if not constraint.hard and constraint.topology_key == HOSTNAME:
            tally = Tally(np.where(codes >= 0, np.arange(len(roster)), -1), len(roster))
        else:
            tally = Tally(codes, len(values), counted)
        eligible = np.unique(codes[counted])
        own = int(spread_over(constraint, shape.peer.namespace, shape.peer))
        tallies.append(SpreadTally(constraint, tally, keyed, eligible, own))
    return tallies
