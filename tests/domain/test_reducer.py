"""The fold: what each event does to the objects, and what it refuses to believe."""

from collections.abc import Callable

import pytest
from msgspec import Raw, structs

from build import START, Story, fact, group, node, pod
from domain import events as ev
from domain.errors import CorruptLog
from domain.events import Event
from domain.objects import Condition
from domain.queue import Lane, Verdict
from domain.reducer import fold
from domain.scheduling.cycle import decide
from domain.scheduling.texts import GATED_MESSAGE
from domain.times import SECOND

GANG = "PodGroup/default/g"


def bound(name: str, to: str = "n", **fields: str) -> ev.PodBound:
    return ev.PodBound(pod=f"default/{name}", uid=f"uid-of-{name}", node=to, **fields)


def status(name: str, body: str, **fields: str) -> ev.PodUpdated:
    return ev.PodUpdated(key=f"default/{name}", status=Raw(body.encode()), **fields)


def attempted(
    entity: str, number: int = 1, outcome: str = "scheduled", **fields: object
) -> ev.GroupAttempted:
    return ev.GroupAttempted(
        at=START, entity=entity, number=number, outcome=outcome, scheduler="s", snapshot=1, **fields
    )


# What cannot have happened


def other_uid(manifest: dict) -> dict:
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "another"}}


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        pytest.param(lambda: fact(pod("a")), "Pod default/a exists already", id="a Pod twice"),
        pytest.param(lambda: fact(node("n")), "Node n exists already", id="a node twice"),
        pytest.param(lambda: fact(group("g", 1)), "PodGroup default/g exists already", id="a group twice"),
        pytest.param(lambda: fact(NAMESPACE), "Namespace prod exists already", id="a namespace twice"),
        pytest.param(lambda: fact(pod("x"), "Updated"), "there is no Pod default/x", id="no such Pod"),
        pytest.param(lambda: status("x", "{}"), "there is no Pod default/x", id="status of no such Pod"),
        pytest.param(lambda: fact(node("x"), "Updated"), "there is no Node x", id="no such node"),
        pytest.param(
            lambda: fact(group("x", 1), "Updated"), "there is no PodGroup default/x", id="no such group"
        ),
        pytest.param(
            lambda: fact({"kind": "Namespace", "metadata": {"name": "x"}}, "Updated"),
            "there is no Namespace x",
            id="no such namespace",
        ),
        pytest.param(
            lambda: fact(other_uid(pod("a")), "Updated"),
            "has uid uid-of-a, not another",
            id="another Pod's update",
        ),
        pytest.param(
            lambda: fact(other_uid(group("g", 1)), "Updated"),
            "has uid uid-of-g, not another",
            id="another group's update",
        ),
        pytest.param(
            lambda: ev.PodDeleted(key="default/a", uid="another"),
            "has uid uid-of-a, not another",
            id="another Pod's end",
        ),
        pytest.param(
            lambda: ev.PodDeleted(key="default/x", uid=""), "there is no Pod default/x", id="Pod gone twice"
        ),
        pytest.param(lambda: ev.NodeDeleted(key="x", uid=""), "there is no Node x", id="node gone twice"),
        pytest.param(
            lambda: ev.PodGroupDeleted(key="default/g", uid="another"),
            "there is no PodGroup default/g with uid another",
            id="another group's end",
        ),
        pytest.param(
            lambda: ev.NamespaceDeleted(key="x", uid=""), "there is no Namespace x", id="namespace gone"
        ),
        pytest.param(lambda: bound("x"), "there is no Pod default/x", id="binding of no Pod"),
        pytest.param(lambda: bound("a", "x"), "there is no such node", id="binding to no node"),
        pytest.param(lambda: bound("runs"), "it is on n", id="binding twice"),
        pytest.param(
            lambda: structs.replace(bound("a"), uid="another"),
            "has uid uid-of-a, not another",
            id="binding of another",
        ),
        pytest.param(
            lambda: ev.BindingFailed(pod="default/a", uid="uid-of-a", node="n", message=""),
            "binding of Pod default/a to n failed: it is on None",
            id="a binding failed that was not",
        ),
        pytest.param(lambda: attempted("Pod/default/x"), "does not wait", id="attempt at nothing"),
        pytest.param(
            lambda: attempted("Pod/default/a", number=3),
            "was attempted 0 times before, not 2",
            id="attempts skipped",
        ),
        pytest.param(
            lambda: attempted("Pod/default/a", outcome="fine"), "unknown outcome 'fine'", id="outcome"
        ),
        pytest.param(
            lambda: attempted("Pod/default/a", same_as=2), "same as the attempt at 2", id="same as nothing"
        ),
        pytest.param(lambda: ev.PodAdded(key="default/x", object=Raw(b"[]")), "not a Pod", id="no Pod in it"),
        pytest.param(lambda: status("runs", '{"phase":5}'), "not a Pod status", id="no status in it"),
        pytest.param(
            lambda: ev.NodeAdded(key="x", object=Raw(b'{"metadata":{}}')), "not an object", id="no object"
        ),
    ],
)
def test_what_cannot_have_happened_is_refused_with_its_position(
    payload: Callable[[], ev.Payload], text: str
) -> None:
    story = Story(node("n"), pod("a"), pod("runs", node="n"), group("g", 1), NAMESPACE)
    position = story.state.position + 1
    with pytest.raises(CorruptLog) as caught:
        fold(story.state, [Event(position, START, payload())])
    assert str(caught.value).startswith(f"position {position}: ")
    assert text in str(caught.value)
    assert caught.value.position == position


NAMESPACE = {"kind": "Namespace", "metadata": {"name": "prod"}}


@pytest.mark.parametrize("position", [1, 2, 4], ids=["again", "the same", "a gap"])
def test_positions_follow_each_other(position: int) -> None:
    story = Story(node("a"), node("b"))
    with pytest.raises(CorruptLog, match=f"position {position}: follows position 2"):
        fold(story.state, [Event(position, START, fact(node("c")))])


# Conditions


def condition(story: Story, name: str) -> Condition | None:
    return story.state.pods[f"default/{name}"].condition


def group_condition(story: Story) -> Condition | None:
    return story.state.groups["default/g"].condition


def test_a_new_pod_has_a_condition_only_if_it_is_gated_or_bound() -> None:
    story = Story(pod("a"), pod("gated", gates=["x/y"]), pod("runs", node="n"))
    assert condition(story, "a") is None
    assert condition(story, "gated") == Condition("False", "SchedulingGated", GATED_MESSAGE, START)
    assert condition(story, "runs") == Condition("True", "", "", START)


def test_a_refusal_names_what_became_of_each_member() -> None:
    """Two fit, one does not, and one is not tried any more; preemption's answer is for the group."""
    tail = ", pod group preemption: No preemption victims found for incoming preemptor"
    story = Story(
        node("n", cpu="2"),
        group("g", 4),
        *[pod(f"g-{number}", cpu=cpu, group="g") for number, cpu in enumerate(["1", "1", "2", "1"])],
    ).decide()
    stopped = "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining"
    assert [condition(story, f"g-{number}") for number in range(4)] == [
        Condition("False", "Unschedulable", f"pod group is unschedulable, {stopped}{tail}", START),
        Condition("False", "Unschedulable", f"pod group is unschedulable, {stopped}{tail}", START),
        Condition("False", "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.", START),
        Condition("False", "Unschedulable", stopped, START),
    ]
    assert group_condition(story) == Condition("False", "Unschedulable", stopped + tail, START)


def test_since_when_it_is_false_stays_while_it_is_false() -> None:
    story = Story(node("n", cpu="1"), pod("a", cpu="2")).decide()
    story.wait(5).add(node("m", cpu="2"), pod("full", cpu="1", node="m")).decide()
    told = condition(story, "a")
    assert told is not None
    assert told.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert told.since == START


def test_once_true_the_condition_of_a_group_stays_true() -> None:
    story = Story(node("n", cpu="1"), group("g", 1), pod("g-0", cpu="1", group="g")).decide()
    scheduled = Condition("True", "Scheduled", "", START)
    assert group_condition(story) == scheduled
    story.wait(1).add(pod("g-1", cpu="1", group="g")).decide()
    assert condition(story, "g-1") is not None
    story.append(ev.PodDeleted(key="default/g-0", uid="uid-of-g-0", group="default/g", node="n"))
    assert group_condition(story) == scheduled


def test_an_error_is_told_to_every_member_and_the_group() -> None:
    story = Story(node("n"), group("g", 1), pod("g-0", group="g"), pod("g-1", group="g", priority=5)).decide()
    same = "all pods in a single pod group should have the same priority as the pod group's priority"
    text = f"{same}, got 5 and 0"
    error = Condition("False", "SchedulerError", text, START)
    assert (condition(story, "g-0"), condition(story, "g-1"), group_condition(story)) == (error, error, error)


def test_the_same_findings_again_touch_nothing_a_user_sees() -> None:
    story = Story(node("n", cpu="1"), pod("a", cpu="2")).decide()
    revision = story.state.pods["default/a"].revision
    story.wait(5).append(ev.SchedulerConfigured()).decide()
    attempts = [event.payload for event in story.events if isinstance(event.payload, ev.GroupAttempted)]
    assert [attempt.same_as for attempt in attempts] == [None, 3]
    assert attempts[1].shapes == ()
    assert story.state.pods["default/a"].revision == revision


def test_who_came_while_all_others_were_placed_waits_as_if_it_had_come_after() -> None:
    story = Story(node("n", cpu="8"), group("g", 2), *[pod(f"g-{n}", cpu="1", group="g") for n in range(2)])
    story.wait(5)
    decision = decide(story.state, story.now)
    assert decision is not None
    story.wait(3).add(pod("g-late", cpu="1", group="g"))
    came = story.now
    story.wait(1).append(*decision.payloads)
    entity = story.state.queue.entities[GANG]
    assert (entity.attempts, entity.timestamp, entity.verdict) == (0, came, Verdict.UNTRIED)
    story.decide()
    assert story.state.pods["default/g-late"].node == "n"


def test_who_came_while_some_were_placed_joins_those_that_are_left() -> None:
    story = Story(node("n", cpu="1"), group("g", 1), *[pod(f"g-{n}", cpu="1", group="g") for n in range(2)])
    decision = decide(story.state, story.now)
    assert decision is not None
    story.wait(3).add(pod("g-late", cpu="1", group="g")).append(*decision.payloads)
    entity = story.state.queue.entities[GANG]
    assert (entity.attempts, entity.timestamp) == (1, START)


# Bindings that fail


def test_a_member_whose_binding_failed_waits_again_by_itself() -> None:
    story = Story(
        node("n", cpu="8"), group("g", 2), *[pod(f"g-{n}", cpu="1", group="g") for n in range(2)]
    ).decide()
    story.wait(3)
    story.append(
        ev.BindingFailed(pod="default/g-0", uid="uid-of-g-0", node="n", message="no route", group="default/g")
    )
    member, entity = story.state.pods["default/g-0"], story.state.queue.entities[GANG]
    assert (member.node, member.queued_us) == (None, story.now)
    assert member.condition == Condition("False", "SchedulerError", "no route", story.now)
    assert story.state.pods["default/g-1"].node == "n"
    assert (entity.verdict, entity.errors, entity.due_us) == (Verdict.ERROR, 1, story.now + 2 * SECOND)
    assert story.state.queue.lane(entity, story.now) is Lane.BACKOFF
    story.wait(2).decide()
    assert story.state.pods["default/g-0"].node == "n"
    assert not story.state.queue.entities


def test_a_binding_that_failed_gives_the_room_back() -> None:
    story = Story(node("n", cpu="1"), pod("a", cpu="1"), pod("b", cpu="1")).decide()
    placed = next(name for name in "ab" if story.state.pods[f"default/{name}"].node)
    story.append(
        ev.BindingFailed(pod=f"default/{placed}", uid=f"uid-of-{placed}", node="n", message="no")
    ).wait(1)
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.attempt.entity != f"Pod/default/{placed}"
    assert decision.attempt.outcome == "scheduled"


# Pods and nodes


def test_a_pod_counts_on_its_node_while_the_node_is_away() -> None:
    story = Story(node("n", cpu="2"), pod("runs", cpu="2", node="n"))
    story.append(ev.NodeDeleted(key="n", uid="uid-of-n")).add(node("n", cpu="2"), pod("a", cpu="1")).decide()
    assert story.state.pods["default/a"].node is None
    assert story.state.nodes.used("n")["cpu"] == 2000


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_uses_nothing_and_counts_for_nothing(phase: str) -> None:
    story = Story(
        node("n", cpu="1"), group("g", 1), pod("g-0", cpu="1", group="g", node="n"), pod("a", cpu="1")
    )
    story.decide().append(status("g-0", f'{{"phase":"{phase}"}}', node="n", group="default/g")).decide()
    assert story.state.pods["default/g-0"].phase == phase
    assert story.state.pods["default/a"].node == "n"
    assert "default/g" not in story.state.members


def test_a_pod_that_runs_on_wakes_nobody_and_decides_nothing_anew() -> None:
    story = Story(node("n", cpu="1"), pod("runs", cpu="1", node="n"), pod("a", cpu="1")).decide()
    stirred = list(story.state.queue.stirred)
    story.append(status("runs", '{"phase":"Running","startTime":"2026-01-01T00:00:07Z"}', node="n"))
    assert story.state.queue.stirred == stirred
    assert story.state.pods["default/runs"].started_us == START + 7 * SECOND


def test_gates_are_gone_with_the_update_that_removes_them() -> None:
    story = Story(
        node("n"), group("g", 2), pod("g-0", group="g"), pod("g-1", group="g", gates=["x/y"])
    ).decide()
    assert story.state.pods["default/g-0"].node is None
    story.append(fact(pod("g-1", group="g"), "Updated"))
    assert story.state.members_of("default/g").gated == {}
    story.decide()
    assert {each.node for each in story.state.pods.values()} == {"n"}


def test_a_lowered_minimum_is_felt_at_once_and_a_raised_one_too() -> None:
    story = Story(
        node("n", cpu="2"), group("g", 3), *[pod(f"g-{n}", cpu="1", group="g") for n in range(3)]
    ).decide()
    story.append(fact(group("g", 2), "Updated")).wait(2).decide()
    assert sum(each.node is not None for each in story.state.pods.values()) == 2
    story.append(fact(group("g", 9), "Updated"))
    assert story.state.queue.entities[GANG].hold is not None


def test_nominations_come_and_go() -> None:
    story = Story(node("n"), pod("a", gates=["x/y"]))
    story.append(ev.PodNominated(pod="default/a", uid="uid-of-a", node="n"))
    assert story.state.pods["default/a"].nominated == "n"
    story.append(ev.PodNominated(pod="default/a", uid="uid-of-a"))
    assert story.state.pods["default/a"].nominated is None


def test_an_evicted_pod_is_being_deleted() -> None:
    story = Story(node("n"), pod("a", node="n"))
    story.append(
        ev.PodEvicted(
            at=START,
            grace=7,
            message="",
            node="n",
            pod="default/a",
            preemptor="Pod/default/b",
            uid="uid-of-a",
        )
    )
    assert story.state.pods["default/a"].deletion == ev.Deletion(at=START, grace=7)


# Configuration


def test_pods_of_a_scheduler_are_ours_as_long_as_the_configuration_says_so() -> None:
    story = Story(
        node("n"), group("g", 1), pod("a", schedulerName="mine"), pod("g-0", group="g", schedulerName="mine")
    )
    assert story.state.queue.entities == {}
    story.append(ev.SchedulerConfigured(scheduler_names=("mine", "default-scheduler")))
    assert story.state.queue.entities.keys() == {"Pod/default/a", GANG}
    story.append(ev.SchedulerConfigured())
    assert story.state.queue.entities == {}
    story.append(ev.SchedulerConfigured(scheduler_names=("mine", "default-scheduler"))).decide()
    assert {each.node for each in story.state.pods.values()} == {"n"}


# Other objects


def test_kinds_that_are_only_kept() -> None:
    priority_class = {
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 7,
        "globalDefault": True,
    }
    story = Story(NAMESPACE, priority_class)
    assert story.state.kept["Namespace"]["prod"].uid == "uid-of-prod"
    assert story.state.priority_classes["high"].value == 7
    story.append(fact({**priority_class, "value": 8}, "Updated"))
    assert story.state.priority_classes["high"].value == 8
    assert story.state.kept["PriorityClass"]["high"].revision == 3
    story.append(ev.PriorityClassUpdated(key="high", deletion=ev.Deletion(at=1, grace=0)))
    assert story.state.kept["PriorityClass"]["high"].deletion == ev.Deletion(at=1, grace=0)
    story.append(ev.PriorityClassDeleted(key="high", uid="uid-of-high"))
    assert "high" not in story.state.priority_classes
