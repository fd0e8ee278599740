"""What a filter says about the nodes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from domain.roster import Mask, compact


@dataclass(frozen=True, slots=True)
class Verdict:
    """The nodes that one filter rules out, and why.

    `reasons` are Kubernetes' texts with the nodes they are said of, masks of shape (N,); a node may
    have several. `unresolvable` are those of them where no preemption of Pods can help.
    """

    filter: str
    reasons: Mapping[str, Mask]
    unresolvable: Mask

    @property
    def refused(self) -> Mask:
        """The nodes that are ruled out for whatever reason."""
        refused = np.zeros_like(self.unresolvable)
        for nodes in self.reasons.values():
            refused |= nodes
        return refused

    def among(self, nodes: Mask) -> "Verdict":
        """The same verdict on `nodes` only."""
        return Verdict(
            self.filter,
            {reason: refused & nodes for reason, refused in self.reasons.items()},
            self.unresolvable & nodes,
        )


def hopeless(name: str, reason: str, refused: Mask) -> Verdict:
    """The verdict of filter `name` where it gives one reason and preemption helps nowhere."""
    refused = compact(refused)
    return Verdict(name, {reason: refused}, refused)
