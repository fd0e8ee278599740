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


def in_good_company_at(company: Company, row: int) -> bool:
    """Whether `inter_pod_affinity` does not rule out the node in `row`."""
    if any(tally.at(row) > 0 for tally in (*company.avoided, *company.repelled.values())):
        return False
    begins = _begins(company)
    return all(tally.domains[row] >= 0 if begins else tally.at(row) > 0 for tally in company.needed)


def _near_enough(company: Company, count: int) -> Mask:
    """The nodes that are near what is required, or where a series may begin."""
    fit = np.ones(count, dtype=np.bool_)
    begins = _begins(company)
    for tally in company.needed:
        fit &= (tally.domains >= 0) if begins else (tally.around > 0)
    return fit


def _begins(company: Company) -> bool:
    """Whether the Pod is the first of a series: while no Pod that it requires is in any domain, one that
    would be near itself may go wherever there are the labels."""
    return company.first and not any(tally.by_domain.any() for tally in company.needed)


def _some(tallies: Iterable[Tally], count: int) -> Mask:
    """The nodes around which there is some of one of `tallies`."""
    some = np.zeros(count, dtype=np.bool_)
    for tally in tallies:
        some |= tally.around > 0
    return some
