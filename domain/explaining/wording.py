"""How Pods and counts are said in a sentence."""

from collections.abc import Collection

from domain.objects import Pod

_SHOWN = 3


def pods_named(pods: Collection[Pod]) -> str:
    """`Pod a`, or `4 Pods (a, b, c and 1 more)`, by name."""
    every = [name_of(pod) for pod in pods]
    if len(every) == 1:
        return f"Pod {every[0]}"
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return f"{len(every)} Pods ({', '.join(every[:_SHOWN])}{more})"


def name_of(pod: Pod) -> str:
    """The name of a Pod without its namespace."""
    return pod.key.partition("/")[2]


def number_of(count: int, one: str, many: str) -> str:
    """`one` or `many`, whichever goes with so many."""
    return one if count == 1 else many
