"""What the facts of nodes alone say about a shape, whatever runs on them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domain.node_facts import NodeFacts
from domain.resources import PODS
from domain.roster import Mask, Roster, compact
from domain.scheduling.filters.node_affinity import CONFLICT, named_nodes, node_affinity, not_named
from domain.scheduling.filters.node_name import node_name
from domain.scheduling.filters.node_unschedulable import minds_cordons, node_unschedulable
from domain.scheduling.filters.taint_toleration import repelled, taint_toleration
from domain.scheduling.scores.image_locality import image_locality
from domain.scheduling.scores.node_affinity import met_preferences
from domain.scheduling.scores.taint_toleration import untolerated_preferences
from domain.scheduling.verdict import Verdict
from domain.shapes import PodShape

_FILTERS = (node_unschedulable, node_name, taint_toleration, node_affinity)


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Verdicts and scores that no placement changes, for N nodes; arrays are of shape (N,).

    `prefilter` is the text with which PreFilter refuses the Pod for all nodes, else None. `allowed`
    are the nodes that none of `verdicts` rules out. `dislikes` and `likes` are the raw scores of
    TaintToleration and NodeAffinity, which are weighed against those of the other feasible nodes.
    `indifferent` is whether all of these are 0, so that only the use of nodes decides.
    """

    prefilter: str | None
    verdicts: tuple[Verdict, ...]
    allowed: Mask
    dislikes: NDArray[np.int64]
    likes: NDArray[np.int64]
    images: NDArray[np.int64]
    indifferent: bool


def eligibility(roster: Roster, shape: PodShape) -> Eligibility:
    """What the facts in `roster` say about `shape`; remembered as long as the nodes stay as they are."""
    return roster.remembered(_assess, shape)


def could_have(node: NodeFacts, shape: PodShape) -> bool:
    """Whether a Pod of `shape` could be on `node` if nothing else were there.

    For one node, without making a Roster of it where that can be helped.
    """
    allocatable = node.allocatable
    for resource, amount in shape.requests:
        if int(allocatable.get(resource, 0)) < int(amount):
            return False
    if int(allocatable.get(PODS, 0)) < 1:
        return False
    if node.taints and repelled(node.taints, shape):
        return False
    if node.unschedulable and minds_cordons(shape):
        return False
    for key, value in shape.node_selector:
        if node.labels.get(key) != value:
            return False
    if shape.required is None and shape.node_name is None:
        return True
    return bool(_assess(Roster((node,)), shape).allowed[0])


def _assess(roster: Roster, shape: PodShape) -> Eligibility:
    names = named_nodes(shape)
    verdicts = [check(roster, shape) for check in _FILTERS]
    if names:
        verdicts.insert(0, not_named(roster, names))
    allowed = np.full(len(roster), names != frozenset(), dtype=np.bool_)
    for verdict in verdicts:
        allowed &= ~verdict.refused
    dislikes = compact(untolerated_preferences(roster, shape))
    likes = compact(met_preferences(roster, shape))
    images = compact(image_locality(roster, shape))
    return Eligibility(
        prefilter=CONFLICT if names == frozenset() else None,
        verdicts=tuple(verdicts),
        allowed=allowed,
        dislikes=dislikes,
        likes=likes,
        images=images,
        indifferent=not (dislikes.any() or likes.any() or images.any()),
    )
