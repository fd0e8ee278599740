"""PodTopologySpread as a score: the fewer Pods of a kind a node's domains have, the better."""

from decimal import Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from domain.roster import Mask, Rows
from domain.scheduling.company import HOSTNAME, Company, SpreadTally
from domain.scheduling.scores.normalise import mapped

_FRACTION_BITS = 32
_HALF = 1 << (_FRACTION_BITS - 1)
_CONTEXT = Context(prec=40)


def pod_topology_spread(company: Company, rows: Rows) -> NDArray[np.int64]:
    """The scores of the feasible nodes in `rows`; 0 for all if there is no soft constraint.

    A domain's Pods weigh ln(number of domains + 2), in steps of 2⁻³², where Kubernetes has floating
    point. Nodes that lack a label of some constraint score 0 and are not compared with.
    Source: kube-scheduler 1.37, PodTopologySpread.
    """
    scores = np.zeros(len(rows), dtype=np.int64)
    if company.soft:
        compared = company.soft[0].keyed[rows]
        scores[compared] = compare(company, rows[compared], domain_weights(company, rows[compared]))
    return scores


def domain_weights(company: Company, compared: Rows) -> list[int]:
    """What a Pod in a domain weighs for each soft constraint, where the nodes in `compared` are all
    that are feasible and have the labels of all of them."""
    return [_weight(_domains(spread, compared)) for spread in company.soft]


def compare(company: Company, compared: Rows, weights: list[int]) -> NDArray[np.int64]:
    """The scores of the nodes in `compared`, given their `domain_weights`."""
    crowding = np.full(len(compared), _HALF, dtype=np.int64)
    for spread, weight in zip(company.soft, weights, strict=True):
        crowding += spread.tally.around.take(compared) * weight
        crowding += (spread.constraint.max_skew - 1) << _FRACTION_BITS
    crowding >>= _FRACTION_BITS
    return mapped(crowding, _score)


def _score(crowding: NDArray[np.int64], least: int, most: int) -> NDArray[np.int64]:
    return 100 * (most + least - crowding) // most if most else np.full_like(crowding, 100)


def _domains(spread: SpreadTally, rows: Rows) -> int:
    """How many domains `rows` are in; every host counts."""
    if spread.constraint.topology_key == HOSTNAME:
        return len(rows)
    found: Mask = np.zeros(spread.tally.size, dtype=np.bool_)
    found[spread.tally.domains[rows]] = True
    return int(np.count_nonzero(found))


@lru_cache(maxsize=1024)
def _weight(domains: int) -> int:
    """ln(domains + 2) in steps of 2⁻³², rounded to the nearest."""
    logarithm = Decimal(domains + 2).ln(_CONTEXT)
    return int(_CONTEXT.to_integral_value(_CONTEXT.multiply(logarithm, Decimal(1 << _FRACTION_BITS))))
