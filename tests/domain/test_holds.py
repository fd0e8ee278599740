"""What keeps an entity out of the active lane, and the words. Source: kube-scheduler 1.37, PreEnqueue."""

import pytest

from build import Story, composite, fact, group, node, pod
from domain import events as ev
from domain.queue import Hold, Lane
from domain.scheduling.cycle import decide

QUORUM = Hold(
    Lane.GATED, "GangScheduling", "waiting for minCount pods from a gang to appear in scheduling queue"
)
NO_GROUP = Hold(
    Lane.INCOMPLETE, "GangScheduling", 'waiting for pods\'s pod group "g" to appear in scheduling queue'
)


def gates(*names: str) -> Hold:
    return Hold(Lane.GATED, "SchedulingGates", f"waiting for scheduling gates: [{' '.join(names)}]")


def members(count: int, **spec: object) -> list[dict]:
    return [pod(f"g-{number}", group="g", **spec) for number in range(count)]


ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]
    }
}
SPREAD = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
TOPOLOGY = {"topology": [{"key": "rack"}]}


@pytest.mark.parametrize(
    ("objects", "hold"),
    [
        pytest.param([group("g", 2), *members(2)], None, id="a gang that is complete"),
        pytest.param([group("g", 3), *members(2)], QUORUM, id="a member short"),
        pytest.param(
            [group("g", 3), *members(1), pod("x", group="g", node="n"), pod("y", group="g", node="n")],
            None,
            id="running members count",
        ),
        pytest.param(
            [group("g", 2), *members(1), pod("x", group="g", gates=["a/b"])],
            gates("a/b"),
            id="a gated sibling holds all",
        ),
        pytest.param([group("g"), *members(1)], None, id="basic, one member"),
        pytest.param(
            [group("g"), *members(1), pod("x", group="g", gates=["a/b", "c/d"])],
            gates("a/b", "c/d"),
            id="basic, a gated sibling",
        ),
        pytest.param(members(2), NO_GROUP, id="no group"),
        pytest.param(
            [*members(1), pod("x", group="g", gates=["a/b"])],
            gates("a/b"),
            id="no group either, but gates first",
        ),
        pytest.param(
            [group("g", 9), pod("x", group="g", gates=["a/b"])], gates("a/b"), id="gates before quorum"
        ),
        pytest.param(
            [group("g", 2), *members(1), pod("x", group="g", schedulerName="other")],
            QUORUM,
            id="another scheduler's member does not count",
        ),
        pytest.param(
            [group("g", 2), *members(1), {**pod("x", group="g", node="n"), "status": {"phase": "Succeeded"}}],
            QUORUM,
            id="an ended member does not count",
        ),
        pytest.param(
            [composite("tree"), group("g", 1, parentCompositePodGroupName="tree"), *members(1)],
            None,
            id="a tree with its quorum",
        ),
        pytest.param(
            [group("g", 1, schedulingConstraints=TOPOLOGY), *members(1)], None, id="topology holds nobody"
        ),
        pytest.param(
            [group("g", 1), *members(1), *[pod("x", group="g", affinity=ANTI_AFFINITY)]],
            None,
            id="rules between Pods hold nobody",
        ),
    ],
)
def test_what_holds_a_group(objects: list[dict], hold: Hold | None) -> None:
    state = Story(node("n"), *objects).state
    (entity,) = state.queue.entities.values()
    assert entity.hold == hold
    assert state.queue.lane(entity, 0) is (Lane.ACTIVE if hold is None else hold.lane)
    assert (decide(state, 0) is None) is (hold is not None)


@pytest.mark.parametrize(
    ("made", "hold"),
    [
        pytest.param(pod("p"), None, id="nothing"),
        pytest.param(pod("p", gates=["a/b"]), gates("a/b"), id="a gate"),
        pytest.param(pod("p", gates=["b", "a"]), gates("b", "a"), id="gates in their own order"),
        pytest.param(pod("p", affinity=ANTI_AFFINITY), None, id="anti-affinity holds nobody"),
        pytest.param(pod("p", topologySpreadConstraints=SPREAD), None, id="spread holds nobody"),
        pytest.param(
            pod("p", gates=["a/b"], topologySpreadConstraints=SPREAD), gates("a/b"), id="gates first"
        ),
    ],
)
def test_what_holds_a_pod(made: dict, hold: Hold | None) -> None:
    state = Story(node("n"), made).state
    assert state.queue.entities["Pod/default/p"].hold == hold
    assert (decide(state, 0) is None) is (hold is not None)


def test_whoever_is_being_deleted_is_not_tried() -> None:
    story = Story(node("n"), pod("p"), group("g", 1), pod("g-0", group="g"))
    for name, of in (("p", None), ("g-0", "default/g")):
        story.append(ev.PodUpdated(key=f"default/{name}", group=of, deletion=ev.Deletion(at=0, grace=0)))
    held = {name: entity.hold for name, entity in story.state.queue.entities.items()}
    assert held == {
        "Pod/default/p": Hold(Lane.GATED, "ganger", "skip schedule deleting pod: default/p"),
        "PodGroup/default/g": Hold(Lane.GATED, "ganger", "skip schedule deleting pod: default/g-0"),
    }


def test_a_member_that_is_being_deleted_counts_for_the_gate_and_is_skipped_by_the_cycle() -> None:
    story = Story(node("n"), group("g", 2), *members(2))
    story.append(ev.PodUpdated(key="default/g-0", group="default/g", deletion=ev.Deletion(at=0, grace=0)))
    assert story.state.queue.entities["PodGroup/default/g"].hold is None
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.attempt.skipped == ("default/g-0",)
    assert decision.attempt.outcome == "unschedulable"
    assert decision.attempt.groups[0].text == (
        "pod group is unschedulable, minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    )


@pytest.mark.parametrize(
    ("before", "change"),
    [
        pytest.param([group("g", 2), *members(1)], fact(pod("g-9", group="g")), id="a member comes"),
        pytest.param(
            [group("g", 2), *members(1)], fact(pod("g-9", group="g", node="n")), id="a member comes bound"
        ),
        pytest.param([group("g", 2), *members(1)], fact(group("g", 1), "Updated"), id="minCount lowered"),
        pytest.param(members(1), fact(group("g", 1)), id="the group comes"),
        pytest.param(
            [group("g", 1), pod("g-0", group="g", gates=["a/b"])],
            fact(pod("g-0", group="g"), "Updated"),
            id="gates go",
        ),
    ],
)
def test_what_lets_go_of_a_group(before: list[dict], change: ev.Payload) -> None:
    story = Story(node("n"), *before)
    assert decide(story.state, 0) is None
    story.append(change)
    assert decide(story.state, 0) is not None


@pytest.mark.parametrize(
    ("objects", "change", "hold"),
    [
        pytest.param(
            [group("g", 2), *members(2)],
            ev.PodDeleted(key="default/g-0", uid="uid-of-g-0", group="default/g"),
            QUORUM,
            id="a member goes",
        ),
        pytest.param(
            [group("g", 2), *members(2)], fact(group("g", 3), "Updated"), QUORUM, id="minCount raised"
        ),
        pytest.param(
            [group("g", 2), *members(2)],
            fact(pod("g-9", group="g", gates=["a/b"])),
            gates("a/b"),
            id="a gated member comes",
        ),
        pytest.param(
            [group("g", 2), *members(2)],
            ev.PodGroupDeleted(key="default/g", uid="uid-of-g"),
            NO_GROUP,
            id="the group goes",
        ),
    ],
)
def test_what_holds_a_group_again(objects: list[dict], change: ev.Payload, hold: Hold) -> None:
    story = Story(node("n"), *objects)
    assert decide(story.state, 0) is not None
    story.append(change)
    assert story.state.queue.entities["PodGroup/default/g"].hold == hold
    assert decide(story.state, 0) is None
