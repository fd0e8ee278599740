"""Moments as people name them."""

import pytest

from build import START, pod
from domain.errors import Expired
from domain.times import SECOND
from store.engine import Store
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.moments import moment_of

HOUR = 3600 * SECOND


@pytest.fixture
def cluster(sqlite_store: Store) -> Cluster:
    """A Pod at each full hour from 2026-01-01T00:00:00Z on, three in all; now the third has come."""
    clock = VirtualClock(START)
    cluster = Cluster.open(sqlite_store, "c", clock=clock)
    for number in range(3):
        clock.advance_to(START + number * HOUR)
        cluster.apply([pod(f"p{number}")])
    return cluster


@pytest.mark.parametrize(
    ("text", "position", "now"),
    [
        pytest.param("2", 2, START + HOUR, id="a position"),
        pytest.param("0", 0, 0, id="before the first"),
        pytest.param("2026-01-01T00:00:00Z", 1, START, id="the time of the first"),
        pytest.param("2026-01-01T00:59:59Z", 1, START + HOUR - SECOND, id="between"),
        pytest.param("2026-01-01T01:00:00+00:00", 2, START + HOUR, id="the time of the second"),
        pytest.param("-1h", 2, START + HOUR, id="an age"),
        pytest.param("-61m", 1, START + HOUR - 60 * SECOND, id="an older one"),
        pytest.param("-3600s", 2, START + HOUR, id="in seconds"),
        pytest.param("-1d", 0, START - 22 * HOUR, id="in days"),
    ],
)
def test_what_a_text_names(text: str, position: int, now: int, cluster: Cluster) -> None:
    assert moment_of(cluster, text) == (position, now)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "-2w", "-h", "2026-01-01", "2026-01-01T00:00:00", "1.5", "--2h"]
)
def test_what_names_no_moment(text: str, cluster: Cluster) -> None:
    with pytest.raises(ValueError, match=r"position \(120\)"):
        moment_of(cluster, text)


def test_the_future_is_not_in_the_log(cluster: Cluster) -> None:
    with pytest.raises(Expired, match=f"position {2**70} is in the future: the log ends at 3"):
        moment_of(cluster, str(2**70))
    with pytest.raises(Expired, match="position 4 is in the future: the log ends at 3"):
        moment_of(cluster, "4")
