"""Resources by name: their units, and how much of each a Pod asks for.

Amounts are whole numbers: cpu in millicores, everything else in its own unit. They have no upper
bound, since Kubernetes quantities have none here.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from domain.quantities import Number, milli

PODS = "pods"
CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"

Amount: TypeAlias = int | str
"""An amount at rest: as text where 64 bits cannot hold it, for msgpack has no larger integers.

`int(amount)` reads either.
"""

UNSTATED = {CPU: "100m", MEMORY: "200Mi"}
"""What a container that requests nothing of these counts as in scores.

Source: kube-scheduler 1.37, DefaultMilliCPURequest and DefaultMemoryRequest.
"""

_LARGEST_INTEGER = 2**63 - 1

Quantities: TypeAlias = Mapping[str, Number]


def at_rest(amount: int) -> Amount:
    """`amount` in the form in which it is kept."""
    return amount if amount <= _LARGEST_INTEGER else str(amount)


def shortage(resource: str) -> str:
    """Kubernetes' words for a node without enough of `resource`."""
    return "Too many pods" if resource == PODS else f"Insufficient {resource}"


def amounts_of(quantities: Quantities) -> dict[str, int]:
    """A resource list in base units, sorted by name, fractions rounded up."""
    return _in_base_units(_thousandths(quantities))


def effective_requests(spec: Mapping[str, Any], *, unstated: Quantities | None = None) -> dict[str, int]:
    """What a Pod with `spec` asks for, by resource in base units, sorted by name, without zeros.

    Containers and sidecars run together; an ordinary init container runs alone with the sidecars
    listed before it, and the larger need counts. What the Pod itself requests replaces the sum,
    overhead comes on top. Containers that do not name a resource of `unstated` request that much.
    Sources: k8s.io/component-helpers, PodRequests; KEP-753 (sidecars); KEP-2837 (pod level).
    """
    defaults = _thousandths(unstated or {})
    running = _sum({}, (defaults | _requests(container) for container in spec.get("containers") or ()))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        asked = defaults | _requests(container)
        if is_sidecar(container):
            running = _sum(running, [asked])
            sidecars = _sum(sidecars, [asked])
            peak = _larger(peak, sidecars)
        else:
            peak = _larger(peak, _sum(asked, [sidecars]))
    total = _larger(running, peak)
    total |= {name: asked for name, asked in _requests(spec).items() if _is_pod_level(name)}
    total = _sum(total, [_thousandths(spec.get("overhead") or {})])
    return {name: amount for name, amount in _in_base_units(total).items() if amount}


def is_sidecar(container: Mapping[str, Any]) -> bool:
    """Whether an init container keeps running beside the containers (KEP-753)."""
    return container.get("restartPolicy") == "Always"


def _requests(holder: Mapping[str, Any]) -> dict[str, int]:
    """The requests of a container, or those of a Pod spec at pod level, in thousandths."""
    return _thousandths((holder.get("resources") or {}).get("requests") or {})


def _thousandths(quantities: Quantities) -> dict[str, int]:
    """A resource list in thousandths of a unit: the finest that a stored one has."""
    return {name: milli(quantity) for name, quantity in quantities.items()}


def _in_base_units(thousandths: Mapping[str, int]) -> dict[str, int]:
    return {
        name: amount if name == CPU else -(-amount // 1000) for name, amount in sorted(thousandths.items())
    }


def _sum(first: Mapping[str, int], others: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total = dict(first)
    for other in others:
        for name, amount in other.items():
            total[name] = total.get(name, 0) + amount
    return total


def _larger(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _is_pod_level(resource: str) -> bool:
    return resource in (CPU, MEMORY) or resource.startswith("hugepages-")
