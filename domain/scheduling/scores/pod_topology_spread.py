"""PodTopologySpread as a score: the fewer Pods of a kind a node's domains have, the better."""

from decimal import Context, Decimal
from functools import cache

import numpy as np
from numpy.typing import NDArray

from domain.roster import Rows
from domain.scheduling.company import HOSTNAME, Company, SpreadTally

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
    if not company.soft:
        return scores
    keyed = company.soft[0].keyed[rows]
    compared = rows[keyed]
    if len(compared) == 0:
        return scores
    crowding = np.full(len(compared), _HALF, dtype=np.int64)
    for spread in company.soft:
        count = spread.tally.around[compared]
        crowding += count * _weight(_domains(spread, compared))
        crowding += (spread.constraint.max_skew - 1) << _FRACTION_BITS
    crowding >>= _FRACTION_BITS
    most, least = int(crowding.max()), int(crowding.min())
    scores[keyed] = 100 * (most + least - crowding) // most if most else 100
    return scores


def _domains(spread: SpreadTally, rows: Rows) -> int:
    """How many domains `rows` are in; every host counts."""
    if spread.constraint.topology_key == HOSTNAME:
        return len(rows)
    found = np.zeros(spread.tally.size, dtype=np.bool_)
    found[spread.tally.domains[rows]] = True
    return int(np.count_nonzero(found))


@cache
def _weight(domains: int) -> int:
    """ln(domains + 2) in steps of 2⁻³², rounded to the nearest."""
    logarithm = Decimal(domains + 2).ln(_CONTEXT)
    return int(_CONTEXT.to_integral_value(_CONTEXT.multiply(logarithm, Decimal(1 << _FRACTION_BITS))))
