"""Moments as people name them: a position of the log, an RFC 3339 time, or an age such as `-2h`."""

import re
from typing import NamedTuple

from domain.errors import Expired
from domain.times import SECOND, parse_rfc3339, rfc3339_micro
from worker.cluster import Cluster

FORMS = "a position (120), an RFC 3339 time (2026-01-01T00:00:00Z) or an age (-2h)"

_AGE = re.compile(r"-(?P<count>\d+)(?P<unit>[smhd])")
_UNITS = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND}
_LONGEST_D = 36_500


class Moment(NamedTuple):
    """A position and the time it is looked at, in microseconds.

    A named position is looked at when its event came, a named time when it says: with the same log
    a backoff may be over at the one and not at the other.
    """

    position: int
    now: int


def moment_of(cluster: Cluster, text: str) -> Moment:
    """The moment that `text` names. Raises ValueError if it names none, Expired for the future."""
    if text.isascii() and text.isdecimal():
        return Moment(int(text), _time_at(cluster, int(text)))
    now = _time_named(cluster, text)
    position = cluster.log.position_at(now)
    beginning = cluster.log.beginning() if position == cluster.log.begins_after() else None
    if beginning is not None and now < beginning.head.at:
        begins = rfc3339_micro(beginning.head.at)
        raise Expired(f"the log begins after position {position}, at {begins}, which is later than {text}")
    return Moment(position, now)


def span_of(text: str) -> int:
    """The length of time that `text` names, such as `90s` or `2h`, in microseconds. Raises ValueError."""
    span = _AGE.fullmatch(f"-{text}")
    if span is None:
        raise ValueError("must be a length of time, such as 90s, 15m or 2h")
    return _length(span)


def time_of(cluster: Cluster, text: str) -> int:
    """The time of `moment_of`, in microseconds. Raises as it does."""
    if text.isascii() and text.isdecimal():
        return _time_at(cluster, int(text))
    return _time_named(cluster, text)


def _time_at(cluster: Cluster, position: int) -> int:
    head = cluster.log.head()
    if position > head.position:
        raise Expired(f"position {position} is in the future: the log ends at {head.position}")
    stored = cluster.log.get(position) if position else None
    return 0 if stored is None else stored.at


def _time_named(cluster: Cluster, text: str) -> int:
    age = _AGE.fullmatch(text)
    if age is not None:
        return max(cluster.clock.now() - _length(age), 0)
    try:
        return parse_rfc3339(text)
    except ValueError as error:
        raise ValueError(f"must be {FORMS}") from error


def _length(found: re.Match[str]) -> int:
    """The microseconds of what `_AGE` has found. Raises ValueError for more than a hundred years."""
    length = int(found["count"]) * _UNITS[found["unit"]]
    if length > _LONGEST_D * _UNITS["d"]:
        raise ValueError(f"must be at most {_LONGEST_D}d")
    return length
