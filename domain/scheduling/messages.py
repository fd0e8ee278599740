"""Kubernetes' words for a Pod that has no node."""

from collections.abc import Mapping

NO_NODES = "no nodes available to schedule pods"


def fit_error(
    total_nodes: int, counts: Mapping[str, int], prefilter: str | None = None, postfilter: str | None = None
) -> str:
    """The text of a Pod that fits none of `total_nodes`.

    `counts` is how many nodes gave each reason. `prefilter` is what refused the Pod for all nodes,
    `postfilter` what preemption had to say. The items are sorted as strings, their counts included.
    Source: kube-scheduler 1.37, FitError.Error.
    """
    if total_nodes == 0:
        return NO_NODES
    items = [prefilter] if prefilter else sorted(f"{count} {reason}" for reason, count in counts.items())
    parts = [f"0/{total_nodes} nodes are available:"]
    if items:
        parts.append(f"{', '.join(items)}.")
    if postfilter:
        parts.append(postfilter)
    return " ".join(parts)
