"""The cycle: from a State and a moment to one decision. Sources: kube-scheduler 1.37; KEP-4671."""

from build import START, Story, fact, group, node, pod
from domain import events as ev
from domain.scheduling.cycle import Decision, decide
from domain.times import SECOND
from domain.version import SCHEDULER


def decided(story: Story) -> Decision:
    decision = decide(story.state, story.now)
    assert decision is not None
    return decision


def members(count: int, first: int = 0, **spec: object) -> list[dict]:
    return [pod(f"g-{number}", group="g", **spec) for number in range(first, first + count)]


def bindings(decision: Decision) -> dict[str, str]:
    return {bound.pod: bound.node for bound in decision.payloads if isinstance(bound, ev.PodBound)}


def test_nothing_is_due() -> None:
    assert decide(Story().state, START) is None
    assert decide(Story(node("n"), group("g", 1)).state, START) is None


def test_a_single_pod_goes_to_the_best_node() -> None:
    story = Story(node("n1", cpu="4"), node("n2", cpu="8"), pod("a", cpu="1"))
    decision = decided(story)
    assert decision.payloads == (
        ev.GroupAttempted(
            at=START, entity="Pod/default/a", number=1, outcome="scheduled", scheduler=SCHEDULER, snapshot=3
        ),
        ev.PodBound(pod="default/a", uid="uid-of-a", node="n2"),
    )
    assert (decision.snapshot, decision.at, decision.cause) == (3, START, 3)
    assert (decision.pods, decision.nodes, decision.groups) == ({"default/a"}, {"n2"}, frozenset())


def test_equal_nodes_are_taken_by_name() -> None:
    story = Story(node("b"), node("c"), node("a"), group("g", 3), *members(3, cpu="1"))
    assert bindings(decided(story)) == {"default/g-0": "a", "default/g-1": "b", "default/g-2": "c"}


def test_a_gang_is_one_decision() -> None:
    story = Story(node("n1", cpu="2"), node("n2", cpu="2"), group("g", 3), *members(3, cpu="1"))
    decision = decided(story)
    attempt = decision.attempt
    assert [type(payload).__name__ for payload in decision.payloads] == ["GroupAttempted"] + ["PodBound"] * 3
    assert attempt.outcome == "scheduled"
    assert attempt.groups == (
        ev.GroupFinding(
            created=3,
            group="PodGroup/default/g",
            minimum=3,
            placed=3,
            policy="gang",
            remaining=0,
            scheduled=3,
            status="Success",
        ),
    )
    assert decision.groups == {"PodGroup/default/g"}
    assert {bound.group for bound in decision.payloads[1:] if isinstance(bound, ev.PodBound)} == {"default/g"}


def test_a_gang_that_lacks_one_place_gets_none() -> None:
    story = Story(node("n", cpu="2"), group("g", 3), *members(3, cpu="1"))
    decision = decided(story)
    (found,) = decision.attempt.groups
    assert len(decision.payloads) == 1
    assert (decision.attempt.outcome, found.status) == ("unschedulable", "Unschedulable")
    assert (found.created, found.minimum, found.placed, found.scheduled, found.remaining) == (3, 3, 2, 2, 0)
    assert found.fitted == ("default/g-0", "default/g-1")
    (shape,) = decision.attempt.shapes
    assert (shape.pods, shape.total) == (("default/g-2",), 1)
    assert shape.requests == (("cpu", 1000),)
    assert shape.resources == (
        ev.ResourceFinding(asked=1000, free_in_cluster=0, free_on_best_node=0, name="cpu"),
    )
    assert decision.nodes == frozenset()


def test_what_exceeds_the_minimum_is_placed_as_far_as_it_fits() -> None:
    story = Story(node("n", cpu="3"), group("g", 2), *members(5, cpu="1"))
    decision = decided(story)
    assert list(bindings(decision)) == ["default/g-0", "default/g-1", "default/g-2"]
    assert decision.attempt.shapes[0].pods == ("default/g-3", "default/g-4")
    story.append(*decision.payloads)
    again = decided(story)  # at once, and without backoff
    assert again.attempt.outcome == "unschedulable"
    assert again.attempt.groups[0].text == "pod group is unschedulable"
    assert again.attempt.number == 2


def test_running_members_count_toward_the_minimum() -> None:
    story = Story(
        node("n", cpu="1"), group("g", 3), pod("x", group="g", node="n"), pod("y", group="g", node="n")
    )
    decision = decided(story.add(*members(1, cpu="1")))
    assert bindings(decision) == {"default/g-0": "n"}
    assert decision.attempt.groups[0].scheduled == 3


def test_a_basic_group_needs_one() -> None:
    story = Story(node("n", cpu="2"), group("g"), *members(4, cpu="1"))
    assert len(bindings(decided(story))) == 2
    empty = Story(node("n", cpu="2"), group("g"), *members(2, cpu="3"))
    (found,) = decided(empty).attempt.groups
    assert found.text == "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining"
    assert (found.policy, found.minimum) == ("basic", 1)


def test_members_are_tried_in_the_order_in_which_they_came() -> None:
    story = Story(
        node("n", cpu="2"), group("g", 1), pod("g-b", cpu="2", group="g"), pod("g-a", cpu="2", group="g")
    )
    assert bindings(decided(story)) == {"default/g-b": "n"}


def test_members_that_failed_more_often_are_tried_first() -> None:
    story = Story(node("n", cpu="1"), group("g", 1), pod("g-old", cpu="2", group="g"))
    story.decide().append(fact(pod("g-new", cpu="2", group="g"))).append(fact(node("n", cpu="2"), "Updated"))
    assert bindings(decided(story.wait(2))) == {"default/g-old": "n"}
    story.state.pods["default/g-new"].attempts = 9
    assert bindings(decided(story)) == {"default/g-new": "n"}


def test_an_attempt_that_finds_the_same_says_so() -> None:
    story = Story(node("n", cpu="1"), group("g", 1), *members(1, cpu="2")).decide()
    story.add(node("m", cpu="1", unschedulable=True)).append(ev.SchedulerConfigured()).wait(2)
    changed = decided(story)
    assert changed.attempt.same_as is None  # there is a node more
    story.append(*changed.payloads).append(ev.SchedulerConfigured()).wait(3)
    same = decided(story).attempt
    assert (same.same_as, same.number, same.outcome) == (story.state.position - 1, 3, "unschedulable")
    assert (same.groups, same.shapes) == ((), ())


def test_an_attempt_after_a_change_of_its_own_says_it_all_again() -> None:
    story = Story(node("n", cpu="1"), pod("a", cpu="2")).decide()
    story.append(fact(pod("a", cpu="2"), "Updated"))
    assert decided(story).attempt.same_as is None


def test_the_cause_is_what_woke_it() -> None:
    story = Story(node("n", cpu="1"), pod("a", cpu="2")).decide()
    story.add(group("other", 1)).add(node("m", cpu="4"))
    assert decided(story).cause == story.state.position
    story.add(group("third", 1))
    assert decided(story).cause == story.state.position - 1


def test_higher_priority_goes_first_and_takes_the_room() -> None:
    story = Story(node("n", cpu="1"), pod("low", cpu="1"), pod("high", cpu="1", priority=5)).decide()
    assert story.state.pods["default/high"].node == "n"
    assert story.state.pods["default/low"].node is None


def test_a_gang_that_waits_does_not_hold_up_a_smaller_one() -> None:
    story = Story(
        node("n", cpu="2"), group("g", 3), *members(3, cpu="1"), group("s", 1), pod("s-0", cpu="1", group="s")
    ).decide()
    assert [each.key for each in story.state.pods.values() if each.node] == ["default/s-0"]


def test_two_gangs_that_each_fit_alone_do_not_block_each_other() -> None:
    gangs = [
        made
        for name in ("a", "b")
        for made in (group(name, 3), *[pod(f"{name}-{n}", cpu="1", group=name) for n in range(3)])
    ]
    story = Story(node("n", cpu="4"), *gangs).decide()
    assert {each.group for each in story.state.pods.values() if each.node} == {"default/a"}
    for number in range(3):
        gone = ev.PodDeleted(key=f"default/a-{number}", uid=f"uid-of-a-{number}", group="default/a", node="n")
        story.append(gone)
    story.wait(30).decide()
    assert {each.group for each in story.state.pods.values() if each.node} == {"default/b"}


def test_without_any_node_a_group_is_unschedulable_like_any_other() -> None:
    decision = decided(Story(group("g", 2), *members(2)))
    (found,) = decision.attempt.groups
    assert found.message == (
        "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, "
        "pod group preemption: No preemption victims found for incoming preemptor"
    )
    assert decision.attempt.shapes[0].message == "no nodes available to schedule pods"
    assert found.untried == ("default/g-1",)


def test_a_later_moment_changes_nothing_but_the_time() -> None:
    story = Story(node("n"), pod("a"))
    now, later = decided(story), decided(story.wait(10))
    assert later.attempt.at == now.attempt.at + 10 * SECOND
    assert later.payloads[1:] == now.payloads[1:]
