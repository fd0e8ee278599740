"""Changes that are offered, made by a user of a real cluster."""

from domain.whathelps.changes import Proved
from domain.whathelps.goal import goal_for
from worker.batch import Request
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker
from worker.proving import LONGEST, make


def starts(cluster: Cluster, clock: VirtualClock, kind: str, key: str, proved: Proved) -> bool:
    """Whether the object starts once a user has made the change."""
    goal = goal_for(cluster.state, kind, key)
    (made,) = cluster.answer([Request(lambda batch: [make(batch, edit) for edit in proved.candidate.edits])])
    assert isinstance(made, list), f"the change is refused: {made}"
    worker, end = Worker(cluster), clock.now() + LONGEST
    while not goal.reached(cluster.state):
        if not worker.step():
            due = worker.next_due()
            if due is None or due > end:
                return False
            clock.advance_to(due)
    return True
