"""Moments: whole microseconds since 1970 inside, RFC 3339 at the edges."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""The last moment that RFC 3339 can write: the end of the year 9999. What comes later never comes."""


@lru_cache(maxsize=4096)
def parse_rfc3339(text: str) -> int:
    """The moment that `text` names, in microseconds. Raises ValueError if it names none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def rfc3339(at: int) -> str:
    """The moment in whole seconds, as Kubernetes writes times: `2026-01-01T00:03:10Z`.

    One that RFC 3339 cannot write is written as the last or the first that it can.
    """
    return _second(_writable(at) // SECOND)


@lru_cache(maxsize=4096)
def _second(seconds: int) -> str:
    return _written(timedelta(seconds=seconds), "seconds")


def rfc3339_micro(at: int) -> str:
    """The moment with its microseconds: `2026-01-01T00:03:10.000000Z`."""
    return _written(timedelta(microseconds=_writable(at)), "microseconds")


def _written(since: timedelta, precision: str) -> str:
    """Not by strftime, which on some systems writes a year before 1000 with fewer than four digits."""
    return (_EPOCH + since).isoformat(timespec=precision).removesuffix("+00:00") + "Z"


def _writable(at: int) -> int:
    return min(max(at, EARLIEST), LATEST)


def in_seconds(moment: str) -> str:
    """An RFC 3339 time in whole seconds. Raises ValueError if it is none."""
    return rfc3339(parse_rfc3339(moment))


def without_zeros(moment: str) -> str:
    """An RFC 3339 time without microseconds that say nothing."""
    return moment.replace(".000000Z", "Z")
