"""What the facts of nodes alone say about a shape, whatever runs on them."""

from collections.abc import Container
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domain.node_facts import NodeFacts
from domain.resources import PODS
from domain.room import Room
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

_FILTERS = {
    "NodeUnschedulable": node_unschedulable,
    "NodeName": node_name,
    "TaintToleration": taint_toleration,
    "NodeAffinity": node_affinity,
}
"""In the order of the default profile."""


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


def eligibility(room: Room, shape: PodShape) -> Eligibility:
    """What the facts of the nodes say about `shape`, by the filters that are on in `room`.

    Remembered as long as the nodes stay as they are.
    """
    return room.roster.remembered(_assess, shape, room.profile.disabled_filters)


def could_have(node: NodeFacts, shape: PodShape, disabled: Container[str] = ()) -> bool:
    """Whether a Pod of `shape` could be on `node` if nothing else were there, without the filters `disabled`.

    For one node, without making a Roster of it where that can be helped.
    """
    if "NodeResourcesFit" not in disabled and not _is_large_enough(node, shape):
        return False
    if "TaintToleration" not in disabled and node.taints and repelled(node.taints, shape):
        return False
    if "NodeUnschedulable" not in disabled and node.unschedulable and minds_cordons(shape):
        return False
    if "NodeAffinity" not in disabled and any(
        node.labels.get(key) != value for key, value in shape.node_selector
    ):
        return False
    if shape.required is None and shape.node_name is None:
        return True
    off = tuple(name for name in _FILTERS if name in disabled)
    return bool(_assess(Roster((node,)), shape, off).allowed[0])


def _is_large_enough(node: NodeFacts, shape: PodShape) -> bool:
    allocatable = node.allocatable
    if int(allocatable.get(PODS, 0)) < 1:
        return False
    return all(int(allocatable.get(resource, 0)) >= int(amount) for resource, amount in shape.requests)


def _assess(roster: Roster, shape: PodShape, disabled: tuple[str, ...]) -> Eligibility:
    names = None if "NodeAffinity" in disabled else named_nodes(shape)
    verdicts = [check(roster, shape) for name, check in _FILTERS.items() if name not in disabled]
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
