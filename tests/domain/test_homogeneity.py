"""What members of a group have to agree on. Texts: kube-scheduler 1.37, PodGroup cycle."""

import pytest

from build import Story, group, node, pod
from domain import events as ev
from domain.scheduling.cycle import decide

SAME = "all pods in a single pod group should have the same"


def priority(pod: int, group: int) -> str:
    return f"{SAME} priority as the pod group's priority, got {pod} and {group}"


def policy(pod: str, group: str) -> str:
    return f"{SAME} preemption policy as the pod group's preemption policy, got {pod} and {group}"


def scheduler(this: str, first: str) -> str:
    return f'{SAME} .spec.schedulerName set, got: "{this}" and "{first}"'


def member(name: str, **spec: object) -> dict:
    return pod(f"g-{name}", group="g", **spec)


@pytest.mark.parametrize(
    ("objects", "fault"),
    [
        pytest.param([group("g", 1, priority=5), member("a", priority=5)], None, id="all alike"),
        pytest.param(
            [group("g", 1), member("a", cpu="1"), member("b", gpu=1)], None, id="requests may differ"
        ),
        pytest.param([group("g", 1, priority=5), member("a")], priority(0, 5), id="priority below"),
        pytest.param([group("g", 1), member("a"), member("b", priority=7)], priority(7, 0), id="one above"),
        pytest.param(
            [
                group("g", 1, priority=5),
                member("a", priority=5),
                member("b", priority=5, node="n"),
                member("c", priority=9, node="n"),
            ],
            priority(9, 5),
            id="a running member's priority",
        ),
        pytest.param(
            [group("g", 1), member("a", preemptionPolicy="Never")],
            policy("Never", "PreemptLowerPriority"),
            id="policy",
        ),
        pytest.param(
            [group("g", 1, preemptionPolicy="Never"), member("a", preemptionPolicy="Never"), member("b")],
            policy("PreemptLowerPriority", "Never"),
            id="policy of one",
        ),
        pytest.param(
            [group("g", 1), member("a"), member("b", node="n", schedulerName="other")],
            scheduler("other", "default-scheduler"),
            id="a running member's scheduler",
        ),
        pytest.param(
            [group("g", 1), member("a"), member("b", schedulerName="other")],
            None,
            id="a waiting member of another scheduler is not asked",
        ),
        pytest.param(
            [group("g", 1), member("a"), member("b", priority=7, preemptionPolicy="Never")],
            priority(7, 0),
            id="priority before policy",
        ),
        pytest.param(
            [group("g", 1), member("a", priority=3), member("b", node="n", schedulerName="other")],
            priority(3, 0),
            id="waiting members before running ones",
        ),
        pytest.param(
            [group("g", 1), member("a", priority=3), member("b", priority=4)], priority(3, 0), id="the first"
        ),
    ],
)
def test_the_first_fault(objects: list[dict], fault: str | None) -> None:
    decision = decide(Story(node("n"), *objects).state, 0)
    assert decision is not None
    attempt = decision.attempt
    if fault is None:
        assert attempt.outcome == "scheduled"
        return
    (found,) = attempt.groups
    assert (attempt.outcome, found.status, found.message, found.text) == ("error", "Error", fault, fault)
    assert len(decision.payloads) == 1
    assert set(found.untried) == decision.pods


def test_one_that_does_not_agree_stops_everybody_though_there_is_room() -> None:
    story = Story(node("n"), group("g", 1), member("a"), member("b"), member("c", priority=1)).decide()
    assert [each.node for each in story.state.pods.values()] == [None, None, None]


def test_members_of_several_of_our_schedulers_do_not_agree() -> None:
    story = Story(node("n")).append(ev.SchedulerConfigured(scheduler_names=("default-scheduler", "mine")))
    story.add(group("g", 1), member("a", schedulerName="mine"), member("b"))
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.attempt.groups[0].text == scheduler("default-scheduler", "mine")


def test_a_member_that_is_being_deleted_has_to_agree_too() -> None:
    """Who is skipped is found out only after that."""
    story = Story(node("n"), group("g", 1), member("a"), member("b", priority=9))
    story.append(ev.PodUpdated(key="default/g-b", group="default/g", deletion=ev.Deletion(at=0, grace=0)))
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.attempt.skipped == ()
    assert decision.attempt.groups[0].text == priority(9, 0)
