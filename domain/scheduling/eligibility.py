"""What the facts of nodes alone say about a shape, whatever runs on them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from domain.room import Room
from domain.roster import Mask, Roster, compact
from domain.scheduling.filters.node_affinity import CONFLICT, named_nodes, node_affinity, not_named
from domain.scheduling.filters.node_name import node_name
from domain.scheduling.filters.node_unschedulable import node_unschedulable
from domain.scheduling.filters.taint_toleration import taint_toleration
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
