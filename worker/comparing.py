"""What differs between two moments of a cluster."""

from domain.difference import Difference, difference
from worker.cluster import Cluster
from worker.moments import Moment


def compare(cluster: Cluster, since: Moment, until: Moment | None = None) -> Difference:
    """What is otherwise at `until` (None: now) than at `since`. Raises Expired for the future."""
    before = cluster.state_at(since.position)
    if until is not None:
        after, now = cluster.state_at(until.position), until.now
        return difference(before, after, then=since.now, now=now)
    with cluster.lock:
        cluster.refresh()
        now = cluster.present()
        return difference(before, cluster.state, then=since.now, now=now)
