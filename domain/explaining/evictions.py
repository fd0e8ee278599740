"""Who made an object go: the eviction as the log has it."""

from domain.explaining.question import Question
from domain.explanation import Eviction
from domain.times import rfc3339_micro


def eviction_part(question: Question, *, whole: bool = True) -> Eviction | None:
    """Who preempted the object that is asked about, of a group not as a `whole` its newest victim; None if
    nobody did."""
    evicted = question.eviction
    if evicted is None:
        return None
    return Eviction(
        by=evicted.event.preemptor,
        attempt_position=evicted.attempt.position,
        position=evicted.position,
        time=rfc3339_micro(evicted.event.at),
        message=evicted.event.message,
        pod="" if whole else evicted.event.pod,
    )
