"""`why` of trees and of groups with a topology constraint: verdicts, what decided, and domains."""

from collections.abc import Callable

import msgspec
import pytest

from build import Manifest, Story, composite, fact, group, node, pod
from domain import events as ev
from domain.explanation import Explanation, Fate, TreeNode
from domain.scheduling.texts import NO_VICTIMS
from trees import NO_VICTIMS as UNHELPED
from trees import WRAP, inner, leaf, rack, within

TOP = "CompositePodGroup/default/top"
ENOUGH = "has its minimum, and nothing more of it fits"


def tree(*nodes: Manifest, late: int = 1, need: int = 2) -> Story:
    """Three levels; `second` wants `late` cores for each of its Pods."""
    return Story(
        *nodes,
        composite("top", 2),
        inner("mid", need, parent="top"),
        *leaf("first", 1, [1], parent="mid"),
        *leaf("second", 2, [late, late], parent="mid"),
        *leaf("third", 1, [1], parent="top"),
    )


def refused() -> Story:
    return tree(node("n", cpu="4"), late=9).decide()


def preempting() -> Story:
    high = {"priority": 9}
    return Story(
        node("n", cpu="2"),
        pod("low", cpu="2", node="n"),
        composite("top", 1, **high),
        *leaf("first", 1, [1], parent="top", pods=high, **high),
    ).decide()


def left_over() -> Story:
    return Story(
        node("n", cpu="3"),
        composite("top", 1),
        *leaf("first", 1, [1], parent="top"),
        *leaf("second", 1, [9], parent="top"),
    ).decide()


def ended() -> Story:
    story = tree(node("n")).decide()
    for member in list(story.state.pods.values()):
        status = msgspec.Raw(b'{"phase":"Succeeded"}')
        story.append(ev.PodUpdated(key=member.key, group=member.group, node=member.node, status=status))
    return story


@pytest.mark.parametrize(
    ("story", "verdict", "summary", "note", "placed"),
    [
        pytest.param(
            lambda: tree(node("n")),
            Fate.PENDING,
            "",
            "it is due and will be tried as number 1 of 1 in line",
            False,
            id="in line",
        ),
        pytest.param(
            lambda: tree(node("n")).decide(),
            Fate.SCHEDULED,
            "",
            "4 members on nodes, none waits",
            True,
            id="started",
        ),
        pytest.param(
            refused,
            Fate.UNSCHEDULABLE,
            f"{WRAP}minGroupCount (2) cannot be satisfied: 0 scheduled, 1 remaining{UNHELPED}",
            "it backs off until 2026-01-01T00:00:02Z, then rests until something changes",
            False,
            id="refused",
        ),
        pytest.param(
            lambda: tree(node("n"), need=3),
            Fate.GATED,
            'waiting for composite pod group "top" tree to meet quorum',
            "1 of the 2 groups right below it have their quorum, 2 must",
            False,
            id="held",
        ),
        pytest.param(
            preempting,
            Fate.WAITING_ON_PREEMPTION,
            f"{WRAP}minGroupCount (1) cannot be satisfied: 0 scheduled, 0 remaining, pod group preemption: "
            "found a placement for podgroup, preempting 1 victims",
            "it waits for Pod default/low, evicted at 2026-01-01T00:00:00Z, "
            "which may take until 2026-01-01T00:00:30Z to end; "
            "it backs off and will be tried again at 2026-01-01T00:00:02Z",
            False,
            id="others make room",
        ),
        pytest.param(
            left_over,
            Fate.PARTLY_SCHEDULED,
            f"pod group is unschedulable, pod group preemption: {NO_VICTIMS}",
            "1 member on nodes, 1 waiting; "
            "it backs off until 2026-01-01T00:00:02Z, then rests until something changes",
            False,
            id="a group left over",
        ),
        pytest.param(
            lambda: Story(composite("top", 1)), Fate.GATED, "", "no PodGroup is below it", False, id="empty"
        ),
        pytest.param(
            lambda: Story(composite("top", 1), *leaf("first", 1, [], parent="top")),
            Fate.GATED,
            "",
            "no Pod names a group below it",
            False,
            id="without Pods",
        ),
        pytest.param(ended, Fate.SCHEDULED, "", "4 ended, none waits", True, id="over"),
    ],
)
def test_where_a_composite_stands(
    story: Callable[[], Story], verdict: Fate, summary: str, note: str, placed: bool
) -> None:
    told = story().why(TOP)
    assert (told.verdict, told.summary, told.note, told.placed) == (verdict, summary, note, placed)


def rows(node: TreeNode) -> list[tuple[str, Fate, str, int | None]]:
    """The groups of a tree, parents first."""
    own = (node.group.rpartition("/")[2], node.verdict, node.reason, node.placeable)
    return [own, *(row for child in node.children for row in rows(child))]


ANYONE = (TOP, "CompositePodGroup/default/mid", "PodGroup/default/second", "Pod/default/third-0")


@pytest.mark.parametrize("subject", ANYONE)
def test_anyone_in_a_tree_shows_the_whole_of_it_and_what_decided(subject: str) -> None:
    told = refused().why(subject)
    assert told.tree is not None
    assert told.cause is not None
    assert rows(told.tree) == [
        ("top", Fate.UNSCHEDULABLE, "0 of 2 could start, 1 left to try", 0),
        ("mid", Fate.UNSCHEDULABLE, "1 of 2 could start, 0 left to try", 1),
        ("first", Fate.UNSCHEDULABLE, "fits, given up with mid", 1),
        ("second", Fate.UNSCHEDULABLE, "Insufficient cpu on the only node", 0),
        ("third", Fate.UNSCHEDULABLE, "not tried", 0),
    ]
    assert told.cause.path == (TOP, "CompositePodGroup/default/mid", "PodGroup/default/second")
    assert (told.cause.pods, told.cause.resource, told.cause.domain) == (("second-0",), "cpu", None)
    assert told.cause.text == (
        "it needs places for 2 Pods, second-0 has none: it asks for 9 cpu, 3 are free on the best node"
    )


@pytest.mark.parametrize(
    "subject", [TOP, "CompositePodGroup/default/mid", "PodGroup/default/second", "Pod/default/second-1"]
)
def test_a_tree_with_all_it_needs_shows_who_is_beyond_that(subject: str) -> None:
    story = Story(
        node("n", cpu="3"),
        composite("top", 2),
        *leaf("first", 1, [1], parent="top"),
        inner("mid", 1, parent="top"),
        *leaf("second", 1, [2, 2], parent="mid"),
        *leaf("third", 2, [1], parent="mid"),
    )
    told = story.decide().why(subject)
    assert told.tree is not None
    assert told.cause is not None
    assert rows(told.tree) == [
        ("top", Fate.PARTLY_SCHEDULED, ENOUGH, 2),
        ("first", Fate.SCHEDULED, "runs", None),
        ("mid", Fate.PARTLY_SCHEDULED, ENOUGH, 1),
        ("second", Fate.PARTLY_SCHEDULED, ENOUGH, 0),
        ("third", Fate.UNSCHEDULABLE, "out of reach: 1 of 2 Pods can be tried", 0),
    ]
    assert told.cause.path == (TOP, "CompositePodGroup/default/mid", "PodGroup/default/second")
    assert told.cause.pods == ("second-1",)
    assert told.cause.text == "it has the 1 it needs, second-1 beyond them has no place"
    assert told.untried == ()
    if subject.startswith("Pod/"):
        assert told.note.startswith("no node could take it; ")


def test_a_held_tree_shows_the_way_to_what_is_missing() -> None:
    story = Story(
        composite("top", 2),
        *leaf("first", 1, [1], parent="top"),
        inner("mid", 1, parent="top"),
        *leaf("second", 3, [1, 1], parent="mid"),
    )
    told = story.why("Pod/default/first-0")
    assert told.cause is not None
    assert told.cause.path == (TOP, "CompositePodGroup/default/mid", "PodGroup/default/second")
    assert told.cause.text == "lacks 1 Pod"
    story.add(pod("second-2", group="second", gates=["example.com/data"]))
    told = story.why(TOP)
    assert told.cause is not None
    assert (told.cause.path[-1], told.cause.text) == ("PodGroup/default/second", "1 Pod has scheduling gates")


@pytest.mark.parametrize(
    ("below", "path", "text"),
    [
        pytest.param(
            [*leaf("third", 2, [1, 9], parent="mid"), *leaf("fourth", 2, [1], parent="mid")],
            ["top", "mid", "third"],
            "1 of the 2 Pods it needs has a place, third-1 has none: "
            "it asks for 9 cpu, 1 is free on the best node",
            id="a group below one that has enough",
        ),
        pytest.param(
            [inner("low", 1, parent="mid"), *leaf("third", 1, [9], parent="low")],
            ["top", "mid", "low", "third"],
            "it needs a place for 1 Pod, third-0 has none: it asks for 9 cpu, 2 are free on the best node",
            id="further down",
        ),
        pytest.param(
            leaf("third", 2, [1], parent="mid"),
            ["top", "mid", "third"],
            "only 1 of the 2 Pods it needs can be tried",
            id="a group that lacks Pods",
        ),
    ],
)
def test_what_waits_below_a_tree_that_runs(below: list[Manifest], path: list[str], text: str) -> None:
    story = Story(
        node("n", cpu="3"),
        composite("top", 1),
        inner("mid", 1, parent="top"),
        *leaf("first", 1, [1], parent="mid"),
        *below,
    )
    cause = story.decide().why(TOP).cause
    assert cause is not None
    assert [each.rpartition("/")[2] for each in cause.path] == path
    assert cause.text == text


DEEP = [
    composite("top", 1),
    *leaf("side", 1, [1], parent="top"),
    inner("mid", 1, parent="top"),
    inner("low", 1, parent="mid"),
    *leaf("near", 1, [1], parent="low"),
    inner("last", 1, parent="low"),
    *leaf("far", 1, [1], parent="last"),
]


@pytest.mark.parametrize("subject", [TOP, "PodGroup/default/side", "Pod/default/far-0"])
def test_the_way_to_the_group_that_is_too_deep(subject: str) -> None:
    told = Story(node("n"), *DEEP).decide().why(subject)
    assert told.cause is not None
    assert [each.rpartition("/")[2] for each in told.cause.path] == ["top", "mid", "low", "last", "far"]
    assert told.cause.text == "PodGroup far is 5 levels deep, of which there may be 4"


@pytest.mark.parametrize(
    ("subject", "path"),
    [
        pytest.param("Pod/default/far-0", ["top", "mid", "low", "last", "far"], id="Pod"),
        pytest.param("CompositePodGroup/default/low", ["top", "mid", "low"], id="composite"),
        pytest.param("CompositePodGroup/default/mid", None, id="its own parent"),
    ],
)
def test_the_way_to_a_parent_that_does_not_exist(subject: str, path: list[str] | None) -> None:
    told = Story(*DEEP[1:]).why(subject)
    if path is None:
        assert told.cause is None
        return
    assert told.cause is not None
    assert [each.rpartition("/")[2] for each in told.cause.path] == path
    assert told.cause.text == "CompositePodGroup mid names top as its parent, which does not exist"


@pytest.mark.parametrize(
    ("objects", "missing"),
    [
        pytest.param([], "PodGroup default/gang", id="the PodGroup"),
        pytest.param(leaf("gang", 1, [], parent="top"), "CompositePodGroup default/top", id="its parent"),
    ],
)
@pytest.mark.parametrize("subject", ["Pod/default/free", "Pod/default/gated"])
def test_a_missing_group_is_named_beside_scheduling_gates(
    objects: list[Manifest], missing: str, subject: str
) -> None:
    pods = [pod("free", group="gang"), pod("gated", group="gang", gates=["a/b"])]
    told = Story(*objects, *pods).why(subject)
    if told.quorum is not None:
        assert told.quorum.missing == ("scheduling gate of Pod gated: a/b", missing)
    assert told.note == (
        f"1 of 2 members has scheduling gates and holds all of it back; {missing} does not exist"
    )


def test_a_group_that_came_after_the_attempt() -> None:
    story = refused().add(*leaf("late", 1, [1], parent="top"))
    told = story.why(TOP)
    assert told.tree is not None
    assert ("late", Fate.UNSCHEDULABLE, "came after the last attempt", None) in rows(told.tree)


def in_racks(*objects: Manifest) -> Explanation:
    nodes = [
        node("a1", cpu="4", labels={"rack": "a"}),
        node("a2", cpu="3", labels={"rack": "a"}),
        node("b1", cpu="9", labels={"rack": "b"}, unschedulable=True),
        node("c1", cpu="4", labels={"rack": "c"}),
    ]
    return Story(*nodes, *objects).decide().why("PodGroup/default/gang")


def test_the_domains_of_a_group() -> None:
    told = in_racks(*leaf("gang", 4, [2, 2, 2, 2], **rack()))
    assert told.cause is not None
    assert (
        told.cause.text
        == "0/3 racks: 2 too few cpu (best: a, 7 free, 8 needed), 1 node(s) were unschedulable"
    )
    assert (told.cause.domain, told.cause.resource, told.cause.topology_key) == ("a", "cpu", "rack")
    assert [(each.domain, each.nodes, each.scheduled, each.free, each.asked) for each in told.placements] == [
        ("a", 2, 3, "7", "8"),
        ("b", 1, 0, None, None),
        ("c", 1, 2, "4", "8"),
    ]
    assert {(each.group, each.key) for each in told.placements} == {("PodGroup/default/gang", "rack")}


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        pytest.param({}, "0/2 racks: 2 too few cpu (best: a, 4 free, 6 needed)", id="all racks"),
        pytest.param(
            within("zone"), "0/1 racks in zone z1: 1 too few cpu (best: a, 4 free, 6 needed)", id="of a zone"
        ),
    ],
)
def test_racks_in_a_zone_are_said_to_be_in_it(constraint: Manifest, text: str) -> None:
    told = (
        Story(
            node("n1", cpu="4", labels={"rack": "a", "zone": "z1"}),
            node("n2", cpu="3", labels={"rack": "b", "zone": "z2"}),
            composite("top", 1, **constraint),
            *leaf("gang", 2, [3, 3], parent="top", **rack()),
        )
        .decide()
        .why(TOP)
    )
    assert told.cause is not None
    assert (told.cause.text, told.cause.domain) == (text, "a")


def test_the_one_domain_that_running_members_leave() -> None:
    members = [
        pod("gang-0", cpu="3", group="gang", node="a1"),
        pod("gang-1", cpu="4", group="gang"),
    ]
    told = in_racks(group("gang", 2, **rack()), *members)
    assert told.cause is not None
    assert told.cause.text == (
        "0/1 racks: 1 cpu in pieces too small (best: a, 4 free, 4 needed); "
        "members run in a, so that the others have to be there, too"
    )


def test_a_domain_with_enough_in_pieces_too_small() -> None:
    told = in_racks(*leaf("gang", 3, [3, 2, 2], **rack()))
    assert told.cause is not None
    assert told.cause.text == (
        "0/3 racks: 1 cpu in pieces too small (best: a, 7 free, 7 needed), 1 node(s) were unschedulable, "
        "1 too few cpu (best: c, 4 free, 7 needed)"
    )


def test_a_composite_in_a_rack_names_leaf_resource_and_rack() -> None:
    story = Story(
        node("n1", cpu="3", labels={"rack": "a"}),
        node("n2", cpu="4", labels={"rack": "b"}),
        composite("top", 2, **rack()),
        *leaf("first", 2, [1, 1], parent="top"),
        *leaf("second", 3, [1, 1, 1], parent="top"),
    ).decide()
    told = story.why(TOP)
    assert told.cause is not None
    assert told.cause.path == (TOP, "PodGroup/default/second")
    assert (told.cause.resource, told.cause.domain) == ("cpu", "a")
    assert [(each.domain, each.resource, each.free, each.asked) for each in told.placements] == [
        ("a", "cpu", "3", "5"),
        ("b", "cpu", "4", "5"),
    ]
    assert told.tree is not None
    assert told.tree.reason == "0/2 racks: 2 too few cpu (best: b, 4 free, 5 needed)"


def test_what_is_asked_about_alone_has_no_tree() -> None:
    story = Story(node("n"), *leaf("gang", 1, [1])).decide()
    told = story.why("PodGroup/default/gang")
    assert (told.tree, told.cause, told.placements) == (None, None, ())


def test_what_could_wake_a_refused_tree() -> None:
    told = refused().why(TOP)
    assert {"NodeAdded", "PodDeleted", "PodGroupAdded", "CompositePodGroupAdded"} <= set(told.woken_by)
    awake = refused().wait(1).append(fact(group("other", 1))).add(node("n9")).why(TOP)
    assert awake.woken_by == ()
