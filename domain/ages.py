"""How long ago, as kubectl writes it: `45s`, `5m30s`, `3h20m`, `2d4h`."""

from domain.times import SECOND, parse_rfc3339

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY

_SCALE = (
    # below this many seconds, so many of the larger unit, and of the smaller one if it is told
    (2 * _MINUTE, 1, "s", None),
    (10 * _MINUTE, _MINUTE, "m", (1, "s")),
    (3 * _HOUR, _MINUTE, "m", None),
    (8 * _HOUR, _HOUR, "h", (_MINUTE, "m")),
    (2 * _DAY, _HOUR, "h", None),
    (8 * _DAY, _DAY, "d", (_HOUR, "h")),
    (2 * _YEAR, _DAY, "d", None),
    (8 * _YEAR, _YEAR, "y", (_DAY, "d")),
)


def duration(microseconds: int) -> str:
    """A length of time in two units at most, rounded down; one below zero counts as none."""
    seconds = max(microseconds // SECOND, 0)
    for limit, unit, name, smaller in _SCALE:
        if seconds < limit:
            return f"{seconds // unit}{name}{_rest(seconds % unit, smaller)}"
    return f"{seconds // _YEAR}y"


def age(since: str | None, now: int) -> str:
    """The time from the RFC 3339 moment `since` to `now` (microseconds); `<unknown>` if there is none."""
    return "<unknown>" if since is None else duration(now - parse_rfc3339(since))


def _rest(seconds: int, smaller: tuple[int, str] | None) -> str:
    if smaller is None or seconds < smaller[0]:
        return ""
    return f"{seconds // smaller[0]}{smaller[1]}"
