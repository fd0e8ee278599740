"""How long a refused entity backs off. Times and durations are whole microseconds.

Source: kube-scheduler 1.37, backoff_queue.go: 1 s doubled with every failure, at most 10 s times the
root of the number of queued pods, looked at once a second on whole seconds.
"""

from math import isqrt

SECOND = 1_000_000


def backoff_us(failures: int, queued_pods: int) -> int:
    longest = isqrt((10 * SECOND) ** 2 * max(queued_pods, 1))
    return min(SECOND << (failures - 1), longest)


def due_us(timestamp: int, failures: int, queued_pods: int) -> int:
    """When the backoff that began at `timestamp` is over: the whole second after the one it ends in."""
    ends = timestamp + backoff_us(failures, queued_pods)
    return (ends // SECOND + 1) * SECOND
