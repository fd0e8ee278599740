"""How Pods and counts are said in a sentence."""

from collections.abc import Iterable

from domain.objects import Pod

_SHOWN = 3


def pods_named(pods: Iterable[Pod]) -> str:
    """`Pod a`, or `4 Pods (a, b, c and 1 more)`, by name."""
    names = [pod.name for pod in pods]
    return f"Pod {names[0]}" if len(names) == 1 else f"{len(names)} Pods ({named(names)})"


def named(names: Iterable[str]) -> str:
    """The first few of `names`, and how many more there are."""
    every = list(names)
    shown = ", ".join(every[:_SHOWN])
    return f"{shown} and {len(every) - _SHOWN} more" if len(every) > _SHOWN else shown


def so_many(count: int, what: str) -> str:
    """`1 Pod`, `3 Pods`."""
    return f"{count} {number_of(count, what, f'{what}s')}"


def number_of(count: int, one: str, many: str) -> str:
    """`one` or `many`, whichever goes with so many."""
    return one if count == 1 else many
