"""The clusters in memory of `ganger_testing` under the names that the tests use."""

from collections.abc import Iterable

from domain.kube_events import KubeEvent
from ganger_testing.book import Book, fresh_attempt, lost_wake_ups
from ganger_testing.lines import Lines, lines_of

__all__ = ["Book", "Lines", "fresh_attempt", "lines_of", "lost_wake_ups", "times_told"]


def times_told(events: Iterable[KubeEvent]) -> dict[tuple[str, str, str], int]:
    """How often each thing happened to each Pod, by its uid; which repeats are one Event is left aside."""
    sums: dict[tuple[str, str, str], int] = {}
    for event in events:
        what = (event.first.regarding.uid, event.first.what.reason, event.first.note)
        sums[what] = sums.get(what, 0) + event.count
    return sums
