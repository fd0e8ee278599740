"""What a pod asks for, and what a node offers, read from manifests with exact fractions.

Sources: Kubernetes 1.37, resource.Quantity and the resource helpers of component-helpers; KEP-753 for
sidecars. Amounts come out as whole numbers: cpu in millicores, everything else in its unit, rounded up.
"""

import math
import re
from fractions import Fraction
from functools import cache
from typing import Any

Manifest = dict[str, Any]
Amounts = dict[str, int]

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}

# What a container that does not request cpu or memory counts as where nodes are scored.
UNSTATED = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 2**20)}


@cache
def quantity(written: str | float) -> Fraction:
    """The exact value of a Kubernetes quantity: `100m`, `1.5`, `1e3`, `4Gi`, or a bare number."""
    match = re.fullmatch(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([a-zA-Z]*))", str(written))
    if match is None:
        raise ValueError(f"not a quantity: {written!r}")
    number, exponent, suffix = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else SUFFIXES[suffix or ""]
    return Fraction(number) * scale


def offered(node: Manifest) -> Amounts:
    """The node's allocatable amounts."""
    allocatable = node.get("status", {}).get("allocatable", {})
    return {resource: _whole(resource, quantity(amount)) for resource, amount in allocatable.items()}


def requested(pod: Manifest) -> Amounts:
    """What the pod requests of each resource; a request of nothing is left out."""
    asked = {resource: _whole(resource, amount) for resource, amount in _asked(pod, {}).items()}
    return {resource: amount for resource, amount in asked.items() if amount > 0}


def requested_when_scored(pod: Manifest) -> Amounts:
    """The pod's cpu and memory, where a container that does not say counts as UNSTATED."""
    asked = _asked(pod, UNSTATED)
    return {resource: _whole(resource, asked.get(resource, Fraction(0))) for resource in UNSTATED}


def _asked(pod: Manifest, unstated: dict[str, Fraction]) -> dict[str, Fraction]:
    spec = pod["spec"]
    containers = spec.get("containers", [])
    initial = spec.get("initContainers", [])
    sidecars = [container for container in initial if is_sidecar(container)]

    total = _sum([_requests(container, unstated) for container in containers + sidecars])
    for index, container in enumerate(initial):
        earlier_sidecars = [earlier for earlier in initial[:index] if is_sidecar(earlier)]
        peak = _sum([_requests(other, unstated) for other in [container, *earlier_sidecars]])
        for resource, amount in peak.items():
            total[resource] = max(total.get(resource, Fraction(0)), amount)

    for resource, amount in spec.get("resources", {}).get("requests", {}).items():
        if resource in ("cpu", "memory") or resource.startswith("hugepages-"):
            total[resource] = quantity(amount)
    for resource, amount in spec.get("overhead", {}).items():
        total[resource] = total.get(resource, Fraction(0)) + quantity(amount)
    return total


def is_sidecar(init_container: Manifest) -> bool:
    return bool(init_container.get("restartPolicy") == "Always")


def _requests(container: Manifest, unstated: dict[str, Fraction]) -> dict[str, Fraction]:
    """A limit without a request is the request: the API server's default."""
    resources = container.get("resources", {})
    written = {**resources.get("limits", {}), **resources.get("requests", {})}
    return {**unstated, **{resource: quantity(amount) for resource, amount in written.items()}}


def _sum(parts: list[dict[str, Fraction]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, Fraction(0)) + amount
    return total


def _whole(resource: str, amount: Fraction) -> int:
    return math.ceil(amount * 1000) if resource == "cpu" else math.ceil(amount)
