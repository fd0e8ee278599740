"""Pods of incomplete trees: silent for five minutes, then they say what is wrong above them."""

from collections.abc import Sequence

import msgspec
import pytest

from build import START, Story, composite, fact, group, node, pod
from domain import events as ev
from domain.incomplete import as_of
from domain.objects import Condition
from domain.times import SECOND

SILENCE = 300 * SECOND


def under(parent: str) -> dict[str, str]:
    return {"parentCompositePodGroupName": parent}


def said(story: Story, name: str, now: int) -> Condition | None:
    return as_of(story.state, story.state.pods[f"default/{name}"], now).condition


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param([], "pod group default/g not found in workload forest", id="no group"),
        pytest.param(
            [group("g", **under("c"))],
            "composite pod group default/c not found in workload forest",
            id="no parent",
        ),
        pytest.param(
            [group("g", **under("c")), composite("c", **under("d"))],
            "composite pod group default/d not found in workload forest",
            id="no grandparent",
        ),
        pytest.param(
            [group("g", **under("c")), composite("c", **under("c"))],
            "cycle detected in hierarchy: g -> c -> c",
            id="its own parent",
        ),
        pytest.param(
            [group("g", **under("a")), composite("a", **under("b")), composite("b", **under("a"))],
            "cycle detected in hierarchy: g -> a -> b -> a",
            id="a ring",
        ),
        pytest.param(
            [
                group("g", **under("c1")),
                *(composite(f"c{level}", **under(f"c{level + 1}")) for level in range(1, 32)),
                composite("c32"),
            ],
            "hierarchy depth 33 exceeds maximum tree depth 32",
            id="too deep",
        ),
        pytest.param([group("g", 2)], None, id="whole, and below its minimum"),
        pytest.param([group("g", **under("c")), composite("c", 2)], None, id="whole, and without a quorum"),
    ],
)
def test_what_is_said_after_five_minutes(objects: Sequence[dict], message: str | None) -> None:
    story = Story(node("n"), *objects, pod("p", group="g"))
    assert said(story, "p", START + SILENCE - 1) is None
    spoken = None if message is None else Condition("False", "Unschedulable", message, START + SILENCE)
    assert said(story, "p", START + SILENCE) == spoken
    assert said(story, "p", START + 10 * SILENCE) == spoken


def test_the_silence_begins_when_the_tree_became_incomplete() -> None:
    story = Story(group("g", 2), pod("p", group="g")).wait(1000)
    story.append(ev.PodGroupDeleted(key="default/g", uid="uid-of-g"))
    assert said(story, "p", story.now + SILENCE - 1) is None
    assert said(story, "p", story.now + SILENCE) is not None


def test_a_pod_that_joins_those_who_have_spoken_says_so_at_once() -> None:
    story = Story(pod("p", group="g")).wait(1000).add(pod("q", group="g"))
    found = said(story, "q", story.now)
    assert found is not None
    assert found.since == story.now


def test_what_was_said_is_not_taken_back_but_overtaken() -> None:
    story = Story(group("g", **under("c")), pod("p", group="g"), pod("q", group="g")).wait(301)
    before = said(story, "p", story.now)
    assert before is not None
    story.add(composite("c", **under("d")))
    assert story.state.pods["default/p"].revision == story.state.position
    assert said(story, "p", story.now) == before
    found = said(story.wait(300), "p", story.now)
    assert found is not None
    assert found.message == "composite pod group default/d not found in workload forest"
    assert found.since == before.since


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            [fact(composite("c", **under("c"))), fact(group("g", **under("c")))],
            "cycle detected in hierarchy: g -> c -> c",
            id="the group comes, into a ring",
        ),
        pytest.param(
            [
                ev.PodBound(pod="default/q", uid="uid-of-q", node="n"),
                ev.BindingFailed(pod="default/q", uid="uid-of-q", node="n", message="no"),
            ],
            "pod group default/g not found in workload forest",
            id="a member's binding fails",
        ),
        pytest.param(
            [ev.PodBound(pod="default/q", uid="uid-of-q", node="n")],
            "pod group default/g not found in workload forest",
            id="an older member is bound",
        ),
        pytest.param(
            [fact(pod("r", group="g", gates=["a/b"]))],
            "pod group default/g not found in workload forest",
            id="a gated member holds all of them",
        ),
        pytest.param(
            [ev.PodUpdated(key="default/p", status=msgspec.Raw(b'{"phase":"Failed"}'))],
            "pod group default/g not found in workload forest",
            id="it is reported to have failed",
        ),
        pytest.param(
            [ev.SchedulerConfigured(scheduler_names=("other",))],
            "pod group default/g not found in workload forest",
            id="another scheduler's from now on",
        ),
    ],
)
def test_what_was_said_is_not_taken_back_by_what_happens(change: list[ev.Payload], message: str) -> None:
    story = Story(node("n"), pod("q", group="g"), pod("p", group="g")).wait(1000)
    before = said(story, "p", story.now)
    assert before is not None
    story.append(*change)
    found = said(story, "p", story.now)
    assert found is not None
    assert (found.message, found.since) == (message, before.since)


def test_a_refusal_stays_until_the_silence_ends() -> None:
    story = Story(group("g", 1), pod("p", group="g")).decide()
    refused = said(story, "p", story.now)
    assert refused is not None
    story.append(ev.PodGroupDeleted(key="default/g", uid="uid-of-g"))
    assert said(story, "p", story.now + SILENCE - 1) == refused
    found = said(story, "p", story.now + SILENCE)
    assert found is not None
    assert "not found" in found.message
    assert found.since == refused.since


def test_the_next_moment_at_which_somebody_speaks() -> None:
    story = Story(pod("p", group="g")).wait(10).add(pod("q", group="h"), pod("r", gates=["a/b"], group="i"))
    queue = story.state.queue
    assert queue.next_to_speak(START) == START + SILENCE
    assert queue.next_to_speak(START + SILENCE - 1) == START + SILENCE
    assert queue.next_to_speak(START + SILENCE) == START + SILENCE + 10 * SECOND
    story.add(group("h", 1))
    assert queue.next_to_speak(START + SILENCE) is None
