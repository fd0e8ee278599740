"""Query parameters that several routes take."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Path, Query

from api.errors import bad_value
from domain.errors import Expired
from domain.state import State
from worker.cluster import Cluster
from worker.moments import FORMS, Moment, moment_of, time_of

AT = f"as of {FORMS}; now if left out"

MOST_INT64 = 2**63 - 1
"""The largest number that Kubernetes' API has."""

At = Annotated[str | None, Query(description=AT)]
After = Annotated[int, Query(ge=0, description="only events after this position")]
Position = Annotated[int, Path(ge=0, description="a position of the log")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="at most so many")]
Since = Annotated[str | None, Query(description=f"from this moment on: {FORMS}")]
Until = Annotated[str | None, Query(description=f"up to and with this moment: {FORMS}")]


def moment(cluster: Cluster, at: str, field: str = "at") -> Moment:
    """The moment that the parameter `field` names. Raises BadRequest if none, Expired for the future."""
    try:
        return moment_of(cluster, at)
    except ValueError as error:
        raise bad_value(field, at, str(error)) from error


def check_reached(cluster: Cluster, position: int, field: str) -> None:
    """Raise Expired if the parameter `field` is a position in the future."""
    head = cluster.log.head().position
    if position > head:
        raise Expired(f"{field} {position} is in the future: the log ends at {head}")


@contextmanager
def looking(cluster: Cluster, at: str | None) -> Iterator[tuple[State, int]]:
    """The State as of `at`, and the time at which it is looked at, in microseconds; nobody moves it on
    meanwhile. Raises as `moment` does."""
    if at is not None:
        then = moment(cluster, at)
        yield cluster.state_at(then.position), then.now
        return
    with cluster.lock:
        cluster.refresh()
        yield cluster.state, cluster.present()


def time(cluster: Cluster, field: str, text: str | None) -> int | None:
    """The time that the parameter `field` names, in microseconds. Raises as `moment` does."""
    if text is None:
        return None
    try:
        return time_of(cluster, text)
    except ValueError as error:
        raise bad_value(field, text, str(error)) from error
