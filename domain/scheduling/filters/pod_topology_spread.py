"""PodTopologySpread: Pods must not lie too unevenly over racks, zones or hosts."""

import numpy as np

from domain.roster import Mask
from domain.scheduling.company import Company, SpreadTally
from domain.scheduling.verdict import Verdict

NAME = "PodTopologySpread"
REASON = "node(s) didn't match pod topology spread constraints"
UNLABELLED = f"{REASON} (missing required label)"


def pod_topology_spread(company: Company, count: int) -> Verdict:
    """Rule out nodes, of `count`, where a hard constraint would be broken or that lack its label.

    The first constraint that a node fails gives the reason. Source: kube-scheduler 1.37,
    PodTopologySpread; KEP-895, KEP-3022, KEP-3094.
    """
    uneven, unlabelled = np.zeros((2, count), dtype=np.bool_)
    for spread in company.hard:
        left = ~(uneven | unlabelled)
        lacking = spread.tally.domains < 0
        unlabelled |= left & lacking
        uneven |= left & ~lacking & _too_many(spread)
    return Verdict(NAME, {REASON: uneven, UNLABELLED: unlabelled}, unlabelled)


def spread_evenly(company: Company, count: int) -> Mask:
    """The nodes that `pod_topology_spread` does not rule out."""
    uneven = np.zeros(count, dtype=np.bool_)
    for spread in company.hard:
        uneven |= _too_many(spread)
    return ~uneven


def spread_evenly_at(company: Company, row: int) -> bool:
    """Whether `pod_topology_spread` does not rule out the node in `row`."""
    return not any(_crowded(spread)[spread.tally.domains[row]] for spread in company.hard)


def _too_many(spread: SpreadTally) -> Mask:
    """The nodes with more Pods in their domain than may be once this one is there, or in none."""
    return _crowded(spread).take(spread.tally.domains)


def _crowded(spread: SpreadTally) -> Mask:
    """The domains with more Pods than may be once this one is there; after them True, for none."""
    constraint, tally = spread.constraint, spread.tally
    found = tally.by_domain.take(spread.eligible)
    fewest = 0 if len(found) < constraint.least_domains else int(found.min(initial=2**62))
    crowded = np.ones(tally.size + 1, dtype=np.bool_)
    np.greater(tally.by_domain + (spread.own - fewest), constraint.max_skew, out=crowded[:-1])
    return crowded
