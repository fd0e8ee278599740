"""Trees of groups: who is above whom, whole trees and broken ones, and quorums kept as things come and go."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given

from build import START, Story, composite, fact, group, node, pod
from domain import events as ev
from domain.forest import MOST_LEVELS, Chain, Flaw, Tree
from domain.objects import Group, Standing
from domain.queue import Lane
from domain.reducer import fold
from domain.state import State, decode_state, encode_state
from strategies import ForestStep, forests, take_step


def under(parent: str) -> dict[str, str]:
    return {"parentCompositePodGroupName": parent}


def line(length: int) -> list[dict]:
    """Composites `l1` to `l<length>`, each below the one before, and the PodGroup `g` below the last."""
    made = [composite("l1", 1)]
    made += [composite(f"l{level}", 1, **under(f"l{level - 1}")) for level in range(2, length + 1)]
    return [*made, group("g", 1, **under(f"l{length}"))]


def deleted(kind: str, name: str) -> ev.Payload:
    return ev.PAYLOADS[f"{kind}Deleted"](key=f"default/{name}", uid=f"uid-of-{name}")


# The plain definitions


def plain_chain(state: State, leaf: str) -> tuple[list[str], str | None]:
    """The subjects from the PodGroup `leaf` upward, and what ends that: a subject, `ring`, `deep` or None."""
    way: list[str] = []
    subject = f"PodGroup/{leaf}"
    while True:
        if subject in way:
            return way, "ring"
        found = state.group_of(subject)
        if found is None:
            return way, subject
        way.append(subject)
        if found.parent is None:
            return way, "deep" if len(way) > 6 else None
        subject = f"CompositePodGroup/default/{found.parent}"


def plain_ready(state: State, of: Group) -> bool:
    """Whether `of`, which is in no ring, has its quorum by KEP-6012."""
    if of.kind == "PodGroup":
        standings = [state.standing(each) for each in state.pods.values() if each.group == of.key]
        return sum(each in (Standing.PENDING, Standing.BOUND) for each in standings) >= of.min_count
    below = [each for each in (*state.groups.values(), *state.composites.values()) if each.parent == of.name]
    return sum(plain_ready(state, each) for each in below) >= of.min_count


def plain_name(state: State, leaf: str) -> str:
    way, end = plain_chain(state, leaf)
    if end in ("ring", "deep"):
        return way[0]
    return way[-1] if end is None else end


def in_no_ring(state: State) -> list[Group]:
    def ends(of: Group) -> bool:
        seen = set()
        at: Group | None = of
        while at is not None and at.subject not in seen:
            seen.add(at.subject)
            at = None if at.above is None else state.composites.get(at.above)
        return at is None

    return [each for each in (*state.groups.values(), *state.composites.values()) if ends(each)]


@given(forests())
def test_what_is_kept_is_what_the_plain_definitions_say(steps: list[ForestStep]) -> None:
    story = Story(node("n"))
    for number, step in enumerate(steps):
        take_step(story, step, f"uid-{number}")
    state = story.state
    for leaf in {each.group for each in state.pods.values() if each.group} | set(state.groups):
        way, end = plain_chain(state, leaf)
        chain = state.root_of(leaf)
        assert [each.subject for each in chain.groups] == way
        assert chain.missing == (None if end in (None, "ring", "deep") else end)
        assert state.forest.waits_as(leaf) == plain_name(state, leaf)
    for each in in_no_ring(state):
        assert state.forest.ready(each) is plain_ready(state, each), each.subject


@given(forests())
def test_who_waits_waits_as_one_entity_per_root(steps: list[ForestStep]) -> None:
    story = Story(node("n"))
    for number, step in enumerate(steps):
        take_step(story, step, f"uid-{number}")
    state = story.state
    waiting: dict[str, list[str]] = {}
    for each in state.pods.values():
        if state.standing(each) is Standing.PENDING:
            assert each.group is not None
            waiting.setdefault(plain_name(state, each.group), []).append(each.key)
    assert waiting == {
        name: [each.key for each in state.pending_of(entity)] for name, entity in state.queue.entities.items()
    }
    for name, pods in waiting.items():
        together, entity = state.waiting_as(name), state.queue.entities[name]
        assert list(together.gated) == [key for key in pods if state.pods[key].spec.gates]
        assert together.dying == 0
        assert entity.arrival == state.pods[pods[0]].arrival
        _, end = plain_chain(state, str(state.pods[pods[0]].group))
        root = state.group_of(name)
        lane = None if entity.hold is None else entity.hold.lane
        if together.gated:
            assert lane is Lane.GATED
        elif end is not None:
            assert lane is Lane.INCOMPLETE
        elif root is not None and not plain_ready(state, root):
            assert lane is Lane.GATED


@given(forests())
def test_a_state_that_was_encoded_keeps_the_same_forest(steps: list[ForestStep]) -> None:
    story = Story(node("n"))
    for number, step in enumerate(steps):
        take_step(story, step, f"uid-{number}")
    again = decode_state(encode_state(story.state))
    assert encode_state(again) == encode_state(story.state)
    for each in in_no_ring(again):
        assert again.forest.ready(each) is story.state.forest.ready(each)
    for name in again.queue.entities:
        assert again.waiting_as(name) == story.state.waiting_as(name)
    for number, step in enumerate(steps[:10]):  # and both go on alike
        take_step(story, step, f"again-{number}")
        fold(again, story.events[again.position :])
    assert encode_state(again) == encode_state(story.state)


# One case after the other


@pytest.mark.parametrize(
    ("objects", "groups", "flaw", "missing", "name"),
    [
        pytest.param([], (), Flaw.MISSING, "PodGroup/default/g", "PodGroup/default/g", id="no group"),
        pytest.param([group("g")], ("g",), None, None, "PodGroup/default/g", id="a tree of one"),
        pytest.param(
            [group("g", **under("c"))],
            ("g",),
            Flaw.MISSING,
            "CompositePodGroup/default/c",
            "CompositePodGroup/default/c",
            id="no parent",
        ),
        pytest.param(
            [composite("c"), group("g", **under("c"))],
            ("g", "c"),
            None,
            None,
            "CompositePodGroup/default/c",
            id="a root",
        ),
        pytest.param(
            [composite("c", namespace="other"), group("g", **under("c"))],
            ("g",),
            Flaw.MISSING,
            "CompositePodGroup/default/c",
            "CompositePodGroup/default/c",
            id="a parent of that name in another namespace",
        ),
        pytest.param(
            [group("c"), group("g", **under("c"))],
            ("g",),
            Flaw.MISSING,
            "CompositePodGroup/default/c",
            "CompositePodGroup/default/c",
            id="a PodGroup of that name is no parent",
        ),
        pytest.param(
            [composite("g"), group("g", **under("g"))],
            ("g", "g"),
            None,
            None,
            "CompositePodGroup/default/g",
            id="a parent of its own name",
        ),
        pytest.param(
            [composite("c", **under("d")), group("g", **under("c"))],
            ("g", "c"),
            Flaw.MISSING,
            "CompositePodGroup/default/d",
            "CompositePodGroup/default/d",
            id="no grandparent",
        ),
        pytest.param(
            [composite("c", **under("c")), group("g", **under("c"))],
            ("g", "c"),
            Flaw.RING,
            None,
            "PodGroup/default/g",
            id="its own parent",
        ),
        pytest.param(
            [composite("c", **under("d")), composite("d", **under("c")), group("g", **under("c"))],
            ("g", "c", "d"),
            Flaw.RING,
            None,
            "PodGroup/default/g",
            id="a ring",
        ),
        pytest.param(
            line(MOST_LEVELS - 1),
            ("g", *(f"l{level}" for level in range(MOST_LEVELS - 1, 0, -1))),
            None,
            None,
            "CompositePodGroup/default/l1",
            id="as many levels as are looked at",
        ),
        pytest.param(
            line(MOST_LEVELS),
            ("g", *(f"l{level}" for level in range(MOST_LEVELS, 0, -1))),
            Flaw.DEPTH,
            None,
            "PodGroup/default/g",
            id="one level more",
        ),
    ],
)
def test_the_way_to_the_root(
    objects: list[dict], groups: tuple[str, ...], flaw: Flaw | None, missing: str | None, name: str
) -> None:
    state = Story(*objects, pod("p", group="g")).state
    chain = state.root_of("default/g")
    found = Chain(chain.groups, flaw, missing)
    assert chain == found
    assert tuple(each.name for each in chain.groups) == groups
    assert (chain.root is None) is (flaw is not None)
    assert list(state.queue.entities) == [name]
    entity = state.queue.entities[name]
    assert (state.queue.lane(entity, 0) is Lane.INCOMPLETE) is (flaw is not None)


def names(tree: Tree) -> Any:
    return {tree.group.name: [names(child) for child in tree.children]} if tree.children else tree.group.name


def born(manifest: dict, second: int) -> dict:
    stamp = f"2026-01-01T00:00:0{second}Z"
    return {**manifest, "metadata": {**manifest["metadata"], "creationTimestamp": stamp}}


def test_children_by_age_name_and_kind() -> None:
    story = Story(
        born(group("b", **under("root")), 1),
        born(group("c", **under("root")), 0),
        born(composite("b", **under("root")), 1),
        born(composite("a", **under("root")), 1),
        born(group("below", **under("b")), 0),
        composite("root"),
        pod("p", group="b"),
    )
    (entity,) = story.state.queue.entities.values()
    tree = story.state.tree_of(entity)
    assert [(child.group.kind, child.group.name) for child in tree.children] == [
        ("PodGroup", "c"),
        ("CompositePodGroup", "a"),
        ("CompositePodGroup", "b"),
        ("PodGroup", "b"),
    ]
    assert names(tree) == {"root": ["c", "a", {"b": ["below"]}, "b"]}
    assert [leaf.group.name for leaf in tree.leaves()] == ["c", "below", "b"]
    assert tree.levels == 3


def test_a_tree_is_cut_below_what_is_too_deep() -> None:
    story = Story(*line(60), group("near", 1, **under("l1")), pod("p", group="near"))
    (entity,) = story.state.queue.entities.values()
    assert story.state.tree_of(entity).levels == MOST_LEVELS + 1


def hold_of(story: Story) -> list[str]:
    return [entity.hold.text for entity in story.state.queue.entities.values() if entity.hold is not None]


QUORUM = 'waiting for composite pod group "root" tree to meet quorum'


def test_readiness_goes_up_and_down_again() -> None:
    tree = [composite("root", 2), composite("mid", 1, **under("root")), group("a", 2, **under("mid"))]
    story = Story(*tree, group("b", **under("root")), pod("a-0", group="a"), pod("b-0", group="b"))
    assert hold_of(story) == [QUORUM]
    story.add(pod("a-1", group="a"))
    assert QUORUM not in hold_of(story)
    story.append(ev.PodDeleted(key="default/b-0", uid="uid-of-b-0", group="default/b", node=None))
    assert hold_of(story) == [QUORUM]
    story.add({**pod("b-1", group="b"), "status": {"phase": "Failed"}})
    assert hold_of(story) == [QUORUM]  # what has ended counts for nothing
    story.add(node("n"), pod("b-2", group="b", node="n"))
    assert QUORUM not in hold_of(story)
    story.append(fact(group("a", 3, **under("mid")), "Updated"))
    assert hold_of(story) == [QUORUM]


def test_one_gated_member_holds_the_whole_tree() -> None:
    story = Story(
        composite("root"),
        group("a", **under("root")),
        group("b", **under("root")),
        pod("a-0", group="a"),
        pod("b-0", group="b", gates=["x/y"]),
    )
    assert hold_of(story) == ["waiting for scheduling gates: [x/y]"]


def test_a_parent_that_goes_and_comes_again() -> None:
    story = Story(composite("root"), composite("mid", **under("root")))
    story.add(
        group("a", **under("mid")), group("b", **under("root")), pod("a-0", group="a"), pod("b-0", group="b")
    )
    assert list(story.state.queue.entities) == ["CompositePodGroup/default/root"]
    since = story.state.queue.entities["CompositePodGroup/default/root"].timestamp
    story.wait(5).append(deleted("CompositePodGroup", "mid"))
    found = {entity.name: entity for entity in story.state.queue.entities.values()}
    assert found.keys() == {"CompositePodGroup/default/root", "CompositePodGroup/default/mid"}
    assert found["CompositePodGroup/default/root"].timestamp == since
    assert found["CompositePodGroup/default/mid"].timestamp == story.now
    story.wait(5).add(composite("mid", **under("elsewhere")))
    assert list(story.state.queue.entities) == [
        "CompositePodGroup/default/root",
        "CompositePodGroup/default/elsewhere",
    ]
    story.add(composite("elsewhere"))
    entity = story.state.queue.entities["CompositePodGroup/default/elsewhere"]
    assert (entity.uid, entity.timestamp) == ("uid-of-elsewhere", story.now)


def test_a_root_that_came_as_missing_is_a_new_entity_of_its_priority() -> None:
    story = (
        Story(group("a", **under("root")), pod("a-0", group="a")).wait(7).add(composite("root", priority=5))
    )
    (entity,) = story.state.queue.entities.values()
    assert (entity.name, entity.priority, entity.timestamp) == (
        "CompositePodGroup/default/root",
        5,
        START + 7_000_000,
    )


def calls_of(work: Callable[[], object]) -> int:
    """How many Python functions `work` calls."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_a_pod_costs_the_depth_of_its_tree_and_not_its_width() -> None:
    def cost(width: int) -> int:
        story = Story(composite("root", width), composite("mid", width, **under("root")))
        for number in range(width):
            story.add(
                group(f"g{number}", 1 if number else 2, **under("mid")),
                pod(f"g{number}-0", group=f"g{number}"),
            )
        new = fact(pod("late", group="g0"))
        return calls_of(lambda: story.append(new))

    assert cost(40) == cost(4)
