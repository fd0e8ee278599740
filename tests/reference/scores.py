"""The scores of the default profile over the nodes that passed the filters.

Source: kube-scheduler 1.37, NodeResourcesFit (LeastAllocated), NodeResourcesBalancedAllocation,
TaintToleration, NodeAffinity, ImageLocality and, in `neighbours`, the two that look at other pods. Every
function returns one whole number from 0 to 100 for each feasible host, in their order. Divisions cut
toward zero; every dividend here is at least zero.
"""

import itertools
import math
from fractions import Fraction

from reference.amounts import Manifest, offered, requested, requested_when_scored
from reference.filters import Host, term_matches, tolerates
from reference.neighbours import score_inter_pod_affinity, score_topology_spread

MEBIBYTE = 2**20


def totals(pod: Manifest, feasible: list[Host], cluster: list[Host]) -> list[int]:
    """The weighted total of each feasible host."""
    columns = [
        (1, least_allocated(pod, feasible)),
        (1, balanced_allocation(pod, feasible)),
        (3, taint_toleration(pod, feasible)),
        (2, node_affinity(pod, feasible)),
        (2, score_topology_spread(pod, feasible, cluster)),
        (2, score_inter_pod_affinity(pod, feasible, cluster)),
        (1, image_locality(pod, feasible, cluster)),
    ]
    return [sum(weight * scores[row] for weight, scores in columns) for row in range(len(feasible))]


def least_allocated(pod: Manifest, feasible: list[Host]) -> list[int]:
    return [_least_allocated(pod, host) for host in feasible]


def _least_allocated(pod: Manifest, host: Host) -> int:
    has = offered(host.node)
    asked = [requested_when_scored(other) for other in [*host.pods, pod]]
    parts = []
    for resource in ("cpu", "memory"):
        whole = has.get(resource, 0)
        if whole == 0:
            continue
        free = whole - sum(amounts[resource] for amounts in asked)
        parts.append(max(free, 0) * 100 // whole)
    return sum(parts) // len(parts) if parts else 0


def by_strategy(
    pod: Manifest,
    feasible: list[Host],
    strategy: str,
    resources: list[tuple[str, int]],
    curve: list[tuple[int, int]],
) -> list[int]:
    """NodeResourcesFit by any strategy: `resources` with weights, `curve` as utilization and score."""
    return [_by_strategy(pod, host, strategy, resources, curve) for host in feasible]


def _by_strategy(
    pod: Manifest,
    host: Host,
    strategy: str,
    resources: list[tuple[str, int]],
    curve: list[tuple[int, int]],
) -> int:
    has = offered(host.node)
    points = weights = 0
    for resource, weight in resources:
        whole, asked = has.get(resource, 0), _asked_when_scored(resource, pod, host)
        if whole == 0 or asked is None:
            continue
        full = min(asked, whole) * 100 // whole
        match strategy:
            case "LeastAllocated":
                score = max(whole - asked, 0) * 100 // whole
            case "MostAllocated":
                score = full
            case _:
                score = _on_curve(curve, full)
                if score == 0:
                    continue
        points += score * weight
        weights += weight
    if not weights:
        return 0
    if strategy == "RequestedToCapacityRatio":
        return math.floor(Fraction(points, weights) + Fraction(1, 2))
    return points // weights


def _asked_when_scored(resource: str, pod: Manifest, host: Host) -> int | None:
    """What is in use on `host` with `pod` there; None for a resource that is not looked at for it."""
    if resource in ("cpu", "memory"):
        return sum(requested_when_scored(other)[resource] for other in [*host.pods, pod])
    if resource == "pods" or (resource != "ephemeral-storage" and resource not in requested(pod)):
        return None
    return sum(requested(other).get(resource, 0) for other in [*host.pods, pod])


def _on_curve(curve: list[tuple[int, int]], full: int) -> int:
    """Level outside the points, cut toward zero between them; a point of 10 is a score of 100."""
    if full <= curve[0][0]:
        return curve[0][1] * 10
    for (left, before), (right, after) in itertools.pairwise(curve):
        if full <= right:
            return before * 10 + math.trunc(Fraction((after - before) * 10 * (full - left), right - left))
    return curve[-1][1] * 10


def balanced_allocation(pod: Manifest, feasible: list[Host]) -> list[int]:
    """A pod that requests neither cpu nor memory is not scored: 0 everywhere."""
    if not {"cpu", "memory"} & requested(pod).keys():
        return [0] * len(feasible)
    return [
        50 + (50 + balance(host.node, [*host.pods, pod]) - balance(host.node, host.pods)) // 2
        for host in feasible
    ]


def balance(node: Manifest, pods: list[Manifest]) -> int:
    """100 where cpu and memory are used in equal shares, less the more their shares differ."""
    has = offered(node)
    shares = []
    for resource in ("cpu", "memory"):
        if has.get(resource, 0) > 0:
            used = sum(requested(pod).get(resource, 0) for pod in pods)
            shares.append(min(Fraction(1), Fraction(used, has[resource])))
    deviation = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else Fraction(0)
    return math.floor((1 - deviation) * 100)


def taint_toleration(pod: Manifest, feasible: list[Host]) -> list[int]:
    bad = [
        sum(
            taint["effect"] == "PreferNoSchedule" and not tolerates(pod, taint)
            for taint in host.node.get("spec", {}).get("taints", [])
        )
        for host in feasible
    ]
    most = max(bad)
    return [100 - count * 100 // most if most else 100 for count in bad]


def node_affinity(pod: Manifest, feasible: list[Host]) -> list[int]:
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    raw = [
        sum(wish["weight"] for wish in preferred if term_matches(wish["preference"], host))
        for host in feasible
    ]
    most = max(raw)
    return [weight * 100 // most if most else 0 for weight in raw]


def image_locality(pod: Manifest, feasible: list[Host], cluster: list[Host]) -> list[int]:
    return [_image_locality(pod, host, cluster) for host in feasible]


def _image_locality(pod: Manifest, host: Host, cluster: list[Host]) -> int:
    """An image counts for more the more nodes have it, so that pods do not crowd where one happens to be."""
    containers = pod["spec"].get("containers", []) + pod["spec"].get("initContainers", [])
    low, high = 23 * MEBIBYTE, 1000 * MEBIBYTE * len(containers)
    total = 0
    for container in containers:
        image = _full_name(container.get("image", ""))
        spread = sum(image in _images(other) for other in cluster)
        total += _images(host).get(image, 0) * spread // len(cluster)
    return 100 * (min(max(total, low), high) - low) // (high - low)


def _images(host: Host) -> dict[str, int]:
    """Name to size in bytes."""
    images = host.node.get("status", {}).get("images", [])
    return {name: image.get("sizeBytes", 0) for image in images for name in image.get("names", [])}


def _full_name(image: str) -> str:
    """An image without a tag is the latest one; a colon before the last slash is a registry's port."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
