"""InterPodAffinity as a score: the more liked Pods and the fewer disliked ones near, the better."""

import numpy as np
from numpy.typing import NDArray

from domain.roster import Rows
from domain.scheduling.company import Company
from domain.scheduling.scores.normalise import mapped


def inter_pod_affinity(company: Company, rows: Rows) -> NDArray[np.int64]:
    """The scores of the feasible nodes in `rows`: 0 for the least liked, 100 for the most.

    Source: kube-scheduler 1.37, InterPodAffinity.
    """
    liked = np.zeros(len(rows), dtype=np.int64)
    for tally in company.liking.values():
        liked += tally.around.take(rows)
    return mapped(liked, _score)


def _score(liked: NDArray[np.int64], least: int, most: int) -> NDArray[np.int64]:
    return 100 * (liked - least) // (most - least) if most > least else np.zeros_like(liked)
