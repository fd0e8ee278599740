"""Resource lists: which names and amounts containers, Pods and nodes may give.

Source: Kubernetes 1.37, pkg/apis/core/validation and pkg/apis/core/helper.
"""

from collections.abc import Mapping
from functools import lru_cache

from domain.admission import faults, names
from domain.admission.core import ResourceRequirements
from domain.errors import Cause
from domain.quantities import parse_quantity

_CACHED = 4096

_HUGE_PAGES = "hugepages-"
_CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_POD_LEVEL_RESOURCES = ("cpu", _HUGE_PAGES, "memory")
_OBJECT_COUNTS = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_STANDARD_RESOURCES = frozenset(
    (
        *_CONTAINER_RESOURCES,
        *_OBJECT_COUNTS,
        *(f"requests.{name}" for name in (*_CONTAINER_RESOURCES, "storage")),
        *(f"limits.{name}" for name in _CONTAINER_RESOURCES),
        "storage",
    )
)


def requirements_faults(path: str, required: ResourceRequirements) -> list[Cause]:
    """The faults of a container's limits and requests at `path`, each in the order of names."""
    limits, requests = required.limits or {}, required.requests or {}
    found: list[Cause] = []
    for name in sorted(limits):
        at = f"{path}.limits[{name}]"
        found += _container_name_faults(at, name) + _amount_faults(at, name, limits[name])
    for name in sorted(requests):
        at = f"{path}.requests[{name}]"
        found += _container_name_faults(at, name) + _amount_faults(at, name, requests[name])
        found += _over_limit(path, name, requests[name], limits.get(name))
    if _asks_for_huge_pages_alone({*limits, *requests}):
        found.append(faults.forbidden(path, "HugePages require cpu or memory"))
    return found


def pod_level_faults(path: str, required: ResourceRequirements) -> list[Cause]:
    """The faults of the requirements of a Pod as a whole, at `path`."""
    limits, requests = required.limits or {}, required.requests or {}
    found: list[Cause] = []
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name in sorted(amounts):
            at = f"{path}.{field}[{name}]"
            if name not in _POD_LEVEL_RESOURCES and not name.startswith(_HUGE_PAGES):
                found.append(faults.not_supported(at, name, _POD_LEVEL_RESOURCES))
            found += _amount_faults(at, name, amounts[name])
            if field == "requests" and name in limits:
                found += _over_limit(path, name, amounts[name], limits[name])
    return found


def node_faults(path: str, amounts: Mapping[str, str] | None) -> list[Cause]:
    """The faults of a node's capacity or allocatable at `path`."""
    found: list[Cause] = []
    for name in sorted(amounts or {}):
        found += _amount_faults(f"{path}.{name}", name, (amounts or {})[name])
    return found


def _container_name_faults(path: str, name: str) -> list[Cause]:
    return [faults.invalid(path, name, text) for text in _wrong_for_containers(name)]


@lru_cache(maxsize=_CACHED)
def _wrong_for_containers(name: str) -> tuple[str, ...]:
    wrong = list(names.qualified(name))
    if "/" not in name:
        if not wrong and name not in _STANDARD_RESOURCES and not name.startswith(_HUGE_PAGES):
            wrong.append("must be a standard resource type or fully qualified")
        if name not in _CONTAINER_RESOURCES and not name.startswith(_HUGE_PAGES):
            wrong.append("must be a standard resource for containers")
    elif not _is_native(name) and not _is_extended(name):
        wrong.append("doesn't follow extended resource name standard")
    return tuple(wrong)


def _amount_faults(path: str, name: str, amount: str) -> list[Cause]:
    return [faults.invalid(path, amount, text) for text in _wrong_amount(name, amount)]


@lru_cache(maxsize=_CACHED)
def _wrong_amount(name: str, amount: str) -> tuple[str, ...]:
    exact = parse_quantity(amount)
    wrong = []
    if exact < 0:
        wrong.append("must be greater than or equal to 0")
    if exact.denominator != 1 and (name in _OBJECT_COUNTS or _is_extended(name)):
        wrong.append("must be an integer")
    return tuple(wrong)


def _over_limit(path: str, name: str, request: str, limit: str | None) -> list[Cause]:
    overcommitted = _is_native(name) and not name.startswith(_HUGE_PAGES)
    if limit is None:
        if overcommitted:
            return []
        text = "Limit must be set for non overcommitable resources"
        return [faults.required(f"{path}.limits", text)]
    asked, most = parse_quantity(request), parse_quantity(limit)
    if asked != most and not overcommitted:
        return [faults.invalid(f"{path}.requests", request, f"must be equal to {name} limit of {limit}")]
    if asked > most:
        text = f"must be less than or equal to {name} limit of {limit}"
        return [faults.invalid(f"{path}.requests", request, text)]
    return []


def _asks_for_huge_pages_alone(asked: set[str]) -> bool:
    return not asked & {"cpu", "memory"} and any(name.startswith(_HUGE_PAGES) for name in asked)


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified(f"requests.{name}")
