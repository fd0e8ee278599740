"""InterPodAffinity: the Pods that a Pod insists on having near, or not having near."""

from collections.abc import Iterable

import numpy as np

from domain.roster import Mask
from domain.scheduling.company import Company, Tally
from domain.scheduling.verdict import Verdict

NAME = "InterPodAffinity"
FAR = "node(s) didn't match pod affinity rules"
AVOIDED = "node(s) didn't match pod anti-affinity rules"
REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"


def inter_pod_affinity(company: Company, count: int) -> Verdict:
    """Rule out nodes, of `count`, by the affinity and anti-affinity that are required, in that order,
    and then by the anti-affinity of Pods that run. Source: kube-scheduler 1.37, InterPodAffinity."""
    far = ~_near_enough(company, count)
    avoided = _some(company.avoided, count) & ~far
    repelled = _some(company.repelled.values(), count) & ~far & ~avoided
    return Verdict(NAME, {FAR: far, AVOIDED: avoided, REPELLED: repelled}, far)


def in_good_company(company: Company, count: int) -> Mask:
    """The nodes that `inter_pod_affinity` does not rule out."""
    bad = _some([*company.avoided, *company.repelled.values()], count)
    return _near_enough(company, count) & ~bad if company.needed else ~bad


def _near_enough(company: Company, count: int) -> Mask:
    """The nodes that are near what is required. While there is no such Pod in any domain, the first
    of a series, which would be near itself, may go wherever there are the labels."""
    fit = np.ones(count, dtype=np.bool_)
    begins = company.first and not any(tally.by_domain.any() for tally in company.needed)
    for tally in company.needed:
        fit &= (tally.domains >= 0) if begins else (tally.around > 0)
    return fit


def _some(tallies: Iterable[Tally], count: int) -> Mask:
    """The nodes around which there is some of one of `tallies`."""
    some = np.zeros(count, dtype=np.bool_)
    for tally in tallies:
        some |= tally.around > 0
    return some
