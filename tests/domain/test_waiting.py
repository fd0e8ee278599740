"""The queue as people read it."""

import pytest

from build import START, Manifest, Story, composite, group, node, pod
from domain.times import SECOND
from domain.waiting import waiting_line
from trees import leaf, rack


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


TIGHT = node("n", cpu="1", memory="1Gi", gpu=1)
NEAR = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
]}}  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param(
            [TIGHT, pod("p", cpu="2")],
            "a node that could have it, or cpu or a place for a Pod set free on one",
            id="a Pod",
        ),
        pytest.param(
            [TIGHT, group("g", 1), pod("g-0", cpu="1", gpu=2, group="g", ports=[{"hostPort": 80}])],
            "a node that could have its Pods, or cpu, nvidia.com/gpu, a host port or a place for a Pod "
            "set free on one",
            id="a group",
        ),
        pytest.param(
            [TIGHT, group("g", 2), pod("g-0", cpu="2", group="g"), pod("g-1", cpu="3", group="g")],
            "a node that comes or goes, or any change on one that could have its Pods",
            id="members that differ",
        ),
        pytest.param(
            [TIGHT, *leaf("g", 1, [2], **rack())],
            "a node that comes or changes, or any change on one that could have its Pods",
            id="a group that has to be in one domain",
        ),
        pytest.param(
            [TIGHT, composite("t", 1), *leaf("g", 1, [2], parent="t", **rack())],
            "any change of the nodes or of what is on them",
            id="a tree with a group that chooses a domain",
        ),
        pytest.param(
            [TIGHT, pod("p", affinity=NEAR)],
            "a node that comes, goes or changes, a place for a Pod set free on one that could have it, or a "
            "Pod or namespace that its rules are about",
            id="rules about other Pods",
        ),
        pytest.param(
            [TIGHT, pod("low", cpu="1", node="n"), pod("p", cpu="1", priority=9)],
            "a change on its nominated node, a node that could have it, or cpu or a place for a Pod set free "
            "on one",
            id="preemption",
        ),
        pytest.param(
            [TIGHT, group("g", 1), pod("g-0", group="g", priority=4)],
            "a change of its own Pods or groups",
            id="an error",
        ),
    ],
)
def test_what_it_waits_for(objects: list[Manifest], text: str) -> None:
    story = Story(*objects).decide()
    (waiter,) = waiting_line(story.state, story.now + 60 * SECOND).waiters
    assert (waiter.lane, waiter.waits_for) == ("unschedulable", text)


def test_what_is_due_waits_for_its_turn_and_backoff_for_its_end() -> None:
    story = Story(TIGHT, group("g", 1), pod("g-0", cpu="2", group="g")).decide().add(pod("p"))
    told = {waiter.lane: waiter.waits_for for waiter in waiting_line(story.state, story.now).waiters}
    assert told == {"active": "its turn", "backoff": "the end of its backoff"}
