"""The queue as people read it."""

import pytest

from build import START, Story, group, node, pod
from domain.queue import Entity, Lane, Stir
from domain.times import SECOND
from domain.waiting import waiting_line, waits_for


def test_the_line_is_in_the_order_of_trying() -> None:
    story = Story(node("n1", gpu=1), pod("big", gpu=2)).decide()
    story.wait(5).add(group("g", 2), pod("g-0", group="g"), pod("held", gates=["quota"]))
    story.wait(5).add(pod("late"), pod("soon", priority=7))

    line = waiting_line(story.state, story.now)

    assert (line.position, line.time) == (story.state.position, "2026-01-01T00:00:10.000000Z")
    told = [(each.entity, each.lane, each.place, each.priority) for each in line.waiters]
    assert told == [
        ("Pod/default/soon", "active", 1, 7),
        ("Pod/default/late", "active", 2, 0),
        ("Pod/default/big", "unschedulable", 1, 0),
        ("PodGroup/default/g", "gated", 1, 0),
        ("Pod/default/held", "gated", 2, 0),
    ]


def test_what_is_told_of_one() -> None:
    members = [pod(f"g-{number}", gpu=1, group="g") for number in range(2)]
    story = Story(node("n1", gpu=1), group("g", 2), *members).decide()

    (waiter,) = waiting_line(story.state, START).waiters

    assert (waiter.lane, waiter.place, waiter.pods, waiter.attempts) == ("backoff", 1, 2, 1)
    assert waiter.since == "2026-01-01T00:00:00.000000Z"
    assert waiter.due == "2026-01-01T00:00:02.000000Z"
    (later,) = waiting_line(story.state, START + 60 * SECOND).waiters
    assert (later.lane, later.due) == ("unschedulable", None)


@pytest.mark.parametrize(
    ("lane", "wakes_on", "text"),
    [
        pytest.param(Lane.ACTIVE, Stir.OWN, "its turn", id="active"),
        pytest.param(Lane.BACKOFF, Stir.ROOM, "the end of its backoff", id="backoff"),
        pytest.param(Lane.UNSCHEDULABLE, Stir.OWN, "a change of its own Pods or groups", id="its own"),
        pytest.param(
            Lane.UNSCHEDULABLE, Stir.ROOM, "a node that comes or changes, or a Pod that leaves one", id="room"
        ),
        pytest.param(
            Lane.UNSCHEDULABLE, Stir.MOVE, "any change of the nodes or of the Pods on them", id="any move"
        ),
    ],
)
def test_what_it_waits_for(lane: Lane, wakes_on: Stir, text: str) -> None:
    entity = Entity(
        name="Pod/default/a", uid="u", priority=0, timestamp=0, arrival=1, is_pod=True, wakes_on=wakes_on
    )

    assert waits_for(entity, lane) == text
