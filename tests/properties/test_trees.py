"""What holds for every tree of groups on every cluster: all or nothing on each level, in one domain."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import START, Manifest, Story, composite, node, pod
from domain.events import GroupFinding, PodBound, SchedulerConfigured
from domain.explaining.again import Again, lean_could_help
from domain.explaining.findings import Recorded
from domain.explaining.looks import look
from domain.room import Room
from domain.scheduling import cycle, tree
from domain.scheduling.branch import Branch
from domain.scheduling.cycle import decide
from domain.scheduling.diagnosis import diagnose
from domain.scheduling.tree import Outcome
from domain.state import State, encode_state
from trees import inner, leaf, within

KEYS = ("zone", "rack")
HOST_PORT = [{"containerPort": 80, "hostPort": 80}]


@st.composite
def nodes(draw: st.DrawFn) -> list[Manifest]:
    """Up to eight small nodes; some lack a label, some are cordoned."""
    made = []
    for number in range(draw(st.integers(0, 8))):
        labels = {key: draw(st.sampled_from(["", "a", "b"])) for key in KEYS if draw(st.integers(0, 4))}
        made.append(
            node(
                f"n{number}",
                cpu=str(draw(st.integers(0, 4))),
                memory="8Gi",
                gpu=draw(st.sampled_from([None, 1, 2])),
                pods=draw(st.sampled_from([1, 2, 110])),
                labels=labels,
                unschedulable=not draw(st.integers(0, 5)),
            )
        )
    return made


@st.composite
def members(draw: st.DrawFn, name: str, hosts: list[Manifest], alike: bool) -> list[Manifest]:
    """Pods of a group, some of which may run already."""
    made = []
    for number in range(draw(st.integers(0, 4))):
        wants = {"cpu": "1"} if alike else {"cpu": str(draw(st.integers(0, 3)))}
        if not alike and not draw(st.integers(0, 3)):
            wants["gpu"] = 1  # type: ignore[assignment]
        runs = hosts and not draw(st.integers(0, 7))
        made.append(
            pod(
                f"{name}-{number}",
                group=name,
                node=draw(st.sampled_from(hosts))["metadata"]["name"] if runs else None,
                ports=HOST_PORT if not alike and not draw(st.integers(0, 5)) else (),
                **wants,  # type: ignore[arg-type]
            )
        )
    return made


@st.composite
def worlds(draw: st.DrawFn) -> list[Manifest]:
    """Nodes, a few Pods on them, and one tree of up to three levels."""
    hosts = draw(nodes())
    alike = draw(st.booleans())
    filler = [
        pod(f"x-{number}", cpu="1", node=draw(st.sampled_from(hosts))["metadata"]["name"])
        for number in range(draw(st.integers(0, 4)) if hosts else 0)
    ]

    def spec() -> Manifest:
        return within(draw(st.sampled_from(KEYS))) if not draw(st.integers(0, 2)) else {}

    def minimum() -> int | None:
        return draw(st.sampled_from([None, 1, 1, 2, 3]))

    def a_leaf(name: str, parent: str | None) -> list[Manifest]:
        return [
            *leaf(name, minimum(), [], parent=parent, **spec()),
            *draw(members(name, hosts, alike)),
        ]

    objects = [*hosts, *filler]
    if not draw(st.integers(0, 3)):
        return [*objects, *a_leaf("root", None)]
    objects.append(composite("root", minimum(), **spec()))
    for number in range(draw(st.integers(1, 3))):
        name = f"c{number}"
        if draw(st.booleans()):
            objects += a_leaf(name, "root")
            continue
        objects.append(inner(name, minimum(), parent="root", **spec()))
        for below in range(draw(st.integers(0, 2))):
            objects += a_leaf(f"{name}-{below}", name)
    return objects


@dataclass
class Seen:
    """A room before and after a tree was tried in it."""

    before: list[list[int]]
    room: Room
    outcome: Outcome


def started(outcome: Outcome) -> Iterator[Outcome]:
    """The groups that succeeded, with all above them."""
    if outcome.succeeded:
        yield outcome
        for child in outcome.children:
            yield from started(child)


def check_attempt(state: State, groups: Sequence[GroupFinding], bound: Collection[str]) -> None:
    """What holds after an attempt that found `groups` and placed Pods of the PodGroups `bound`."""
    counted = {each.group for each in groups if each.status == "Success"}
    for each in groups:
        group = state.group_of(each.group)
        assert group is not None
        if each.group in bound:
            assert each.group in counted
            assert each.parent is None or each.parent in counted
        if each.group not in counted:
            continue
        leaves = state.leaves_of(group.kind, group.key)
        running = [key for one in leaves for key in state.members_of(one).bound]
        below = [one.group for one in groups if one.parent == each.group and one.group in counted]
        assert len(running if group.kind == "PodGroup" else below) >= group.min_count
        if group.topology_key is not None:
            on = {str(state.pods[key].node) for key in running}
            values = {state.nodes.facts(name).labels.get(group.topology_key) for name in on}
            assert values == {each.domain}


@given(objects=worlds(), siblings=st.sampled_from(["greedy", "lean"]))
def test_all_or_nothing_on_every_level_and_in_one_domain(objects: list[Manifest], siblings: str) -> None:
    story = Story(*objects).append(SchedulerConfigured(siblings=siblings))
    for _ in range(3):
        decision = decide(story.state, story.now)
        if decision is None:
            break
        story.append(*decision.payloads)
        bound = {f"PodGroup/{made.group}" for made in decision.payloads if isinstance(made, PodBound)}
        assert (decision.attempt.outcome == "scheduled") is bool(bound)
        if bound:
            check_attempt(story.state, decision.attempt.groups, bound)


def runs(objects: list[Manifest], siblings: str) -> list[Seen]:
    """Every run of the algorithm in the first cycle."""
    seen: list[Seen] = []
    story = Story(*objects).append(SchedulerConfigured(siblings=siblings))

    def watched(root: Branch, room: Room, *, lean: bool) -> Outcome:
        before = room.used.tolist()
        outcome = tree.run_tree(root, room, lean=lean)
        seen.append(Seen(before, room, outcome))
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycle, "run_tree", watched)
        decide(story.state, story.now)
    return seen


@given(objects=worlds(), siblings=st.sampled_from(["greedy", "lean"]))
def test_a_room_is_as_before_but_for_those_that_were_placed(objects: list[Manifest], siblings: str) -> None:
    for each in runs(objects, siblings):
        kept = each.outcome.placed if each.outcome.succeeded else []
        for placed in kept:
            each.room.forget(each.room.roster.row[placed.node], placed.shape)
        assert each.room.used.tolist() == each.before
        assert {placed.pod.key for placed in kept} == {
            placed.pod.key
            for group in started(each.outcome)
            if group.branch.is_leaf
            for placed in group.placed
            if each.outcome.succeeded
        }


@given(objects=worlds(), siblings=st.sampled_from(["greedy", "lean"]))
def test_surveys_and_lockstep_find_what_trying_every_domain_finds(
    objects: list[Manifest], siblings: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        story = Story(*objects).append(SchedulerConfigured(siblings=siblings))
        surveyed = decide(story.state, story.now)
        patch.setattr(tree, "can_survey", lambda _: False)
        stepped = decide(story.state, story.now)
        patch.setattr(tree, "can_step", lambda *_: False)
        tried = decide(story.state, story.now)
    assert surveyed == tried
    assert stepped == tried


def made_again(story: Story) -> Again | None:
    """The first attempt of a story, to be made once more; None if nothing is due."""
    decision = decide(story.state, story.now)
    if decision is None:
        return None
    return Again(Recorded(0, decision.attempt, 0, decision.attempt), story.state)


@given(objects=worlds(), siblings=st.sampled_from(["greedy", "lean"]))
def test_what_is_seen_again_is_what_was_decided(objects: list[Manifest], siblings: str) -> None:
    story = Story(*objects).append(SchedulerConfigured(siblings=siblings))
    again = made_again(story)
    if again is None:
        return
    before = encode_state(story.state)
    messages = {}
    for turn in again.turns():
        seen = look(turn, every_node=True)
        can = {each.node: each.total for each in seen.nodes if not each.verdict}
        if turn.node is None:
            assert can == {}
            messages[turn.pod.key] = diagnose(turn.room, turn.shape).message
        else:
            assert seen.chosen is not None
            assert seen.chosen.node == turn.node == max(can, key=lambda name: can[name] or 0)
    if again.attempt.outcome != "scheduled":
        recorded = {shape.pods[0]: shape.message for shape in again.attempt.shapes}
        assert recorded.items() <= messages.items()  # shapes say the same of several runs only once
    assert encode_state(story.state) == before


@given(objects=worlds())
def test_lean_is_said_to_help_where_it_does(objects: list[Manifest]) -> None:
    story = Story(*objects)
    again = made_again(story)
    lean = decide(Story(*objects).append(SchedulerConfigured(siblings="lean")).state, START)
    if again is None or lean is None or again.attempt.outcome not in ("unschedulable", "waitingOnPreemption"):
        return
    starts = lean.attempt.outcome == "scheduled"
    assert again.starts_lean() == starts
    if starts:
        story.append(*decide(story.state, story.now).payloads)
        assert lean_could_help(story.why(again.attempt.entity))
