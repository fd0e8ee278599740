"""The product beside the reference model on thousands of random small clusters.

After every batch: who is bound and where, who hopes for which node, who has to go and in which order, how
many nodes each reason has, all conditions with their texts, and which entity may be tried next. At rest:
in which lane everybody waits, and that nobody does who could start or make room for itself.
"""

from collections import Counter
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from beside import WatchedBook
from books import Book
from domain import events as ev
from small_clusters import play

_CASES = settings().max_examples ** 2 // 16
"""2500 in CI, and a few while one works."""


@settings(max_examples=_CASES)
@given(seed=st.integers(0, 2**32 - 1))
@example(seed=16_954_250)  # a gang that evicts the last Pod with a rule about others
def test_every_decision_is_that_of_the_model(seed: int) -> None:
    play(Random(seed), WatchedBook())


def test_the_clusters_are_worth_it() -> None:
    """All that can be decided comes up among some of them."""
    seen = Counter[str]()
    for seed in range(80):
        book = Book()
        play(Random(seed), book)
        for event in book.events:
            seen[type(event.payload).__name__] += 1
            if isinstance(event.payload, ev.GroupAttempted):
                seen[f"{event.payload.entity.partition('/')[0]} {event.payload.outcome}"] += 1
                for found in event.payload.groups:
                    seen.update(text for text in _TEXTS if text in found.message)
    assert [what for what in (*_EVENTS, *_OUTCOMES, *_TEXTS) if not seen[what]] == []


_EVENTS = ("PodBound", "PodEvicted", "PodNominated", "PodDeleted", "NodeUpdated", "NodeDeleted")
_OUTCOMES = [
    f"{kind} {outcome}"
    for kind in ("Pod", "PodGroup", "CompositePodGroup")
    for outcome in ("scheduled", "unschedulable", "waitingOnPreemption")
] + ["PodGroup error", "CompositePodGroup error"]
_TEXTS = (
    "minCount (",
    "minGroupCount (",
    "parent composite pod group",
    "ancestor composite pod group",
    "first placement status: ",
    "0/2 placements are available",
    "no feasible placements found",
    "cannot determine domain",
    "composite pod group evaluation failed due to child error",
    "hierarchy depth 5 exceeds maximum allowed depth 4",
    "pod group preemption: found a placement for podgroup",
    "pod group preemption: ongoing preemption on nominated nodes",
    "pod group preemption: No preemption victims found",
    "pod group preemption: not eligible due to preemptionPolicy=Never.",
    "pod group preemption: pod group is unschedulable, 0/",
    "should have the same priority",
)
