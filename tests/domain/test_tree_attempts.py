"""How the fold takes attempts at trees, whoever made them: conditions, backoff, who is left."""

import pytest
from msgspec import structs

from build import START, Story, composite, fact, group, node, pod
from domain import events as ev
from domain.objects import Condition
from domain.queue import Verdict
from domain.times import SECOND

ROOT = "CompositePodGroup/default/root"


def under(parent: str) -> dict[str, str]:
    return {"parentCompositePodGroupName": parent}


def tree(*, pods: int = 1) -> Story:
    """A root of two PodGroups, `a` and `b`, each with so many Pods."""
    story = Story(node("n"), node("m"), composite("root", 1))
    story.add(group("a", 1, **under("root")), group("b", 1, **under("root")))
    for name in "ab":
        story.add(*(pod(f"{name}-{number}", group=name) for number in range(pods)))
    return story


def finding(subject: str, status: str, message: str = "", **fields: object) -> ev.GroupFinding:
    return ev.GroupFinding(
        group=subject, status=status, message=message, created=1, minimum=1, policy="gang", **fields
    )


def attempted(story: Story, outcome: str, *found: ev.GroupFinding) -> ev.GroupAttempted:
    entity = story.state.queue.entities[ROOT]
    return ev.GroupAttempted(
        at=story.now,
        entity=ROOT,
        groups=found,
        number=entity.attempts + 1,
        outcome=outcome,
        scheduler="s",
        snapshot=story.state.position,
    )


def bound(name: str, to: str = "n") -> ev.PodBound:
    return ev.PodBound(pod=f"default/{name}", uid=f"uid-of-{name}", group=f"default/{name[0]}", node=to)


def test_every_level_gets_its_condition() -> None:
    story = tree()
    why = finding("PodGroup/default/b", "Unschedulable", "why", untried=("default/b-0",), text="short")
    story.append(
        attempted(
            story,
            "scheduled",
            finding(ROOT, "Success"),
            finding("PodGroup/default/a", "Success"),
            why,
        ),
        bound("a-0"),
    )
    state = story.state
    scheduled = Condition("True", "Scheduled", "", START)
    assert state.composites["default/root"].condition == scheduled
    assert state.composites["default/root"].revision == story.state.position - 1
    assert state.groups["default/a"].condition == scheduled
    assert state.groups["default/b"].condition == Condition("False", "Unschedulable", "why", START)
    assert state.pods["default/b-0"].condition == Condition("False", "Unschedulable", "short", START)


def test_a_composite_that_was_scheduled_stays_so() -> None:
    story = tree()
    story.append(attempted(story, "scheduled", finding(ROOT, "Success")), bound("a-0"))
    story.append(attempted(story, "unschedulable", finding(ROOT, "Unschedulable", "no")))
    condition = story.state.composites["default/root"].condition
    assert condition is not None
    assert condition.status == "True"


@pytest.mark.parametrize(
    ("pods", "failures", "seconds"),
    [
        pytest.param(1, 1, 2, id="once"),
        pytest.param(1, 6, 15, id="two Pods, at most 10 s times the square root of 2"),
        pytest.param(2, 6, 21, id="four Pods"),
    ],
)
def test_a_tree_backs_off_for_all_its_pods(pods: int, failures: int, seconds: int) -> None:
    story = tree(pods=pods)
    for _ in range(failures):
        story.append(attempted(story, "unschedulable", finding(ROOT, "Unschedulable", "no")))
    entity = story.state.queue.entities[ROOT]
    assert (entity.unschedulable, entity.due_us) == (failures, story.now + seconds * SECOND)


def test_who_is_left_of_an_attempt_keeps_its_place() -> None:
    story = tree(pods=2).wait(5)
    before = story.state.queue.entities[ROOT]
    since, first = before.timestamp, before.arrival
    story.append(attempted(story, "scheduled"), bound("a-0"), bound("a-1"))
    entity = story.state.queue.entities[ROOT]
    assert (entity.verdict, entity.timestamp) == (Verdict.UNTRIED, since)
    assert entity.arrival == story.state.pods["default/b-0"].arrival > first
    story.append(bound("b-0"), bound("b-1"))
    assert not story.state.queue.entities


def test_who_came_to_any_group_while_the_attempt_was_made_is_a_new_entity() -> None:
    story = tree().wait(3)
    attempt = attempted(story, "scheduled")
    story.add(pod("b-9", group="b")).wait(4)
    story.append(attempt, bound("a-0"), bound("b-0"))
    entity = story.state.queue.entities[ROOT]
    assert (entity.attempts, entity.timestamp) == (0, story.now - 4 * SECOND)


def test_members_of_all_groups_count_the_attempts_they_were_in() -> None:
    story = tree()
    story.append(attempted(story, "unschedulable", finding(ROOT, "Unschedulable", "no")))
    assert [story.state.pods[f"default/{name}-0"].attempts for name in "ab"] == [1, 1]


@pytest.mark.parametrize(
    "change",
    [
        *(
            pytest.param(fact(group(name, 1, **under("root")), "Updated"), id=f"{name} is updated")
            for name in "ab"
        ),
        pytest.param(fact(group("c", 1, **under("root"))), id="a PodGroup without Pods comes"),
        pytest.param(fact(composite("more", 1, **under("inner"))), id="a composite without children comes"),
        pytest.param(
            ev.CompositePodGroupDeleted(key="default/inner", uid="uid-of-inner"),
            id="a composite without children goes",
        ),
    ],
)
def test_a_change_of_any_group_is_one_of_its_own(change: ev.Payload) -> None:
    story = tree().add(composite("inner", 1, **under("root")))
    story.append(attempted(story, "unschedulable", finding(ROOT, "Unschedulable", "no")))
    assert not story.state.queue.awake(story.state.queue.entities[ROOT])
    story.append(change)
    assert story.state.queue.awake(story.state.queue.entities[ROOT])


def test_a_nomination_of_one_member_does_not_wake_its_own_tree() -> None:
    story = tree()
    nominated = ev.PodNominated(pod="default/a-0", uid="uid-of-a-0", group="default/a", node="n")
    story.append(nominated)
    changed = story.state.queue.entities[ROOT].changed
    story.append(structs.replace(nominated, pod="default/b-0", uid="uid-of-b-0", group="default/b"))
    assert story.state.queue.entities[ROOT].changed == changed
    story.add(pod("other", node="n"))
    assert story.state.queue.entities[ROOT].changed == story.state.position


def test_all_groups_of_a_unit_say_that_it_goes_and_none_above_it() -> None:
    story = Story(node("n"), composite("top"), group("a", **under("root")))
    story.add(composite("root", disruptionMode={"all": {}}, **under("top")))
    story.add(pod("a-0", group="a", node="n"))
    story.append(
        ev.PodEvicted(
            at=START,
            grace=0,
            group="default/a",
            message="gone",
            node="n",
            pod="default/a-0",
            preemptor="Pod/default/x",
            uid="uid-of-a-0",
        )
    )
    goes = Condition("True", "PreemptionByScheduler", "gone", START)
    assert story.state.groups["default/a"].disruption == goes
    assert story.state.composites["default/root"].disruption == goes
    assert story.state.composites["default/top"].disruption is None
