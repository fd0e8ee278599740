"""Amounts in base units as people write them: whole numbers where possible, bytes in powers of two."""

from domain.quantities import canonical_quantity
from domain.resources import CPU, EPHEMERAL_STORAGE, MEMORY, Amount

_BYTES = (MEMORY, EPHEMERAL_STORAGE, "storage")


def quantity_of(resource: str, amount: Amount) -> str:
    """`amount` of `resource` as a Kubernetes quantity: `96` and `1500m` of cpu, `16Gi` of memory."""
    whole = int(amount)
    if resource == CPU:
        return str(whole // 1000) if whole % 1000 == 0 else f"{whole}m"
    if resource in _BYTES or resource.startswith("hugepages-"):
        return canonical_quantity(str(whole) if whole % 1024 else f"{whole // 1024}Ki")
    return str(whole)
