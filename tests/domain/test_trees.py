"""Trees of composite groups: who starts, and what every level says.

Sources: kube-scheduler 1.37.2 and, for the words of composites, 1.38; KEP-6012.
"""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from books import lost_wake_ups
from build import Manifest, Story, composite, fact, group, node, pod
from domain import events as ev
from domain.conflict import stands
from domain.scheduling.cycle import decide
from trees import NO_VICTIMS, WRAP, inner, leaf, rack, reasons, said, within

FLAG = "pod group is unschedulable"


def farm(min_groups: int) -> Story:
    """Three children in need of 6, 2 and 8 cores, on one node of 5."""
    return Story(
        node("n", cpu="5"),
        composite("farm", min_groups),
        *leaf("east", 3, [2, 2, 2], parent="farm"),
        *leaf("spare", 1, [8], parent="farm"),
        *leaf("west", 2, [1, 1], parent="farm"),
    )


def test_a_child_that_fails_gives_its_room_to_the_next() -> None:
    story = farm(1)
    decision = decide(story.state, story.now)
    assert decision is not None
    story.append(*decision.payloads)
    assert said(story, "PodGroup/east", "PodGroup/spare", "PodGroup/west", "CompositePodGroup/farm") == {
        "PodGroup/east": WRAP + "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
        "PodGroup/spare": WRAP + "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining",
        "PodGroup/west": "True",
        "CompositePodGroup/farm": "True",
    }
    assert said(story, "Pod/east-0", "Pod/east-2", "Pod/spare-0", "Pod/west-0") == {
        "Pod/east-0": f"{FLAG}, {WRAP}minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
        "Pod/east-2": "0/1 nodes are available: 1 Insufficient cpu.",
        "Pod/spare-0": "0/1 nodes are available: 1 Insufficient cpu.",
        "Pod/west-0": "bound",
    }
    again = decide(story.state, story.now)  # at once: what is left of the tree
    assert again is not None
    root, *children = again.attempt.groups
    assert (root.text, root.scheduled, again.attempt.outcome) == (FLAG, 1, "unschedulable")
    assert [child.status for child in children] == ["Unschedulable"] * 3
    assert children[2].text == f'parent composite pod group "farm" is unschedulable: {FLAG}'


def test_a_minimum_out_of_reach_stops_before_the_next_child() -> None:
    story = farm(3).decide()
    needs = "minGroupCount (3) cannot be satisfied: 0 scheduled, 2 remaining"
    down = f'parent composite pod group "farm" is unschedulable: {WRAP}{needs}'
    assert said(story, "CompositePodGroup/farm", "PodGroup/west", "Pod/west-0", "Pod/spare-0") == {
        "CompositePodGroup/farm": WRAP + needs + NO_VICTIMS,
        "PodGroup/west": down + NO_VICTIMS,
        "Pod/west-0": down,
        "Pod/spare-0": down,
    }


def test_a_child_that_fits_goes_down_with_its_parent() -> None:
    story = Story(
        node("n", cpu="3"),
        composite("pair", 2),
        *leaf("a", 2, [1, 1], parent="pair"),
        *leaf("b", 2, [2, 2], parent="pair"),
    ).decide()
    needs = WRAP + "minGroupCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    own = WRAP + "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    down = f'parent composite pod group "pair" is unschedulable: {needs}'
    names = ("CompositePodGroup/pair", "PodGroup/a", "PodGroup/b", "Pod/a-0", "Pod/b-0", "Pod/b-1")
    assert said(story, *names) == {
        "CompositePodGroup/pair": needs + NO_VICTIMS,
        "PodGroup/a": down + NO_VICTIMS,
        "PodGroup/b": own + NO_VICTIMS,
        "Pod/a-0": down,
        "Pod/b-0": "0/1 nodes are available: 1 Insufficient cpu.",
        "Pod/b-1": own,
    }
    assert reasons(story) == {"Unschedulable"}


def three_levels() -> Story:
    return Story(
        node("n", cpu="4"),
        composite("top", 2),
        inner("mid-a", 2, parent="top"),
        *leaf("a1", 2, [1, 1], parent="mid-a"),
        *leaf("a2", 2, [9, 9], parent="mid-a"),
        inner("mid-b", 1, parent="top"),
        *leaf("b1", 1, [1], parent="mid-b"),
    )


def test_each_level_says_which_level_failed() -> None:
    story = three_levels().decide()
    top = WRAP + "minGroupCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    mid = WRAP + "minGroupCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    assert said(story, "CompositePodGroup/top", "CompositePodGroup/mid-a", "CompositePodGroup/mid-b") == {
        "CompositePodGroup/top": top + NO_VICTIMS,
        "CompositePodGroup/mid-a": mid + NO_VICTIMS,
        "CompositePodGroup/mid-b": f'parent composite pod group "top" is unschedulable: {top}{NO_VICTIMS}',
    }
    assert said(story, "PodGroup/a1", "PodGroup/a2", "PodGroup/b1") == {
        "PodGroup/a1": f'parent composite pod group "mid-a" is unschedulable: {mid}{NO_VICTIMS}',
        "PodGroup/a2": WRAP + "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining" + NO_VICTIMS,
        "PodGroup/b1": f'ancestor composite pod group "top" is unschedulable: {top}{NO_VICTIMS}',
    }


def test_an_attempt_has_one_finding_a_group_in_the_order_of_the_tree() -> None:
    story = three_levels()
    decision = decide(story.state, story.now)
    assert decision is not None
    found = decision.attempt.groups
    assert [(each.group.rpartition("/")[2], (each.parent or "").rpartition("/")[2]) for each in found] == [
        ("top", ""),
        ("mid-a", "top"),
        ("a1", "mid-a"),
        ("a2", "mid-a"),
        ("mid-b", "top"),
        ("b1", "mid-b"),
    ]
    assert [(each.created, each.scheduled, each.remaining, each.placed) for each in found] == [
        (2, 0, 1, 0),
        (2, 1, 0, 2),
        (2, 2, 0, 2),
        (2, 0, 1, 0),
        (1, 0, 1, 0),
        (1, 0, 1, 0),
    ]
    assert [each.untried for each in found if each.untried] == [
        ("default/a1-0", "default/a1-1"),
        ("default/a2-1",),
        ("default/b1-0",),
    ]
    assert decision.groups == {each.group for each in found}


@pytest.mark.parametrize(
    ("objects", "outcome"),
    [
        pytest.param(
            [composite("t"), *leaf("a", 1, [9], parent="t")], "unschedulable", id="basic, none fits"
        ),
        pytest.param(
            [composite("t"), *leaf("a", 1, [9], parent="t"), *leaf("b", 1, [1], parent="t")],
            "scheduled",
            id="basic, one fits",
        ),
        pytest.param(
            [composite("t", 1), *leaf("a", 1, [1], parent="t"), *leaf("b", 3, [1], parent="t")],
            "scheduled",
            id="a child that is not ready",
        ),
        pytest.param(
            [composite("t", 1), *leaf("a", 1, [1], parent="t"), inner("b", 1, parent="t")],
            "scheduled",
            id="a composite without children",
        ),
        pytest.param(
            [
                composite("t", 2),
                *leaf("a", 1, [1], parent="t"),
                *leaf("b", 1, [], parent="t"),
                pod("b-9", group="b", node="n"),
            ],
            "scheduled",
            id="a child that runs already counts",
        ),
    ],
)
def test_what_is_enough(objects: list[Manifest], outcome: str) -> None:
    story = Story(node("n", cpu="4"), *objects)
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.attempt.outcome == outcome


def test_a_leaf_without_pods_in_a_tree_that_fails() -> None:
    story = Story(
        node("n", cpu="1"),
        composite("t", 1),
        *leaf("a", 1, [], parent="t"),
        *leaf("b", 1, [9], parent="t"),
    ).decide()
    assert said(story, "PodGroup/a") == {"PodGroup/a": f"{WRAP}{FLAG}{NO_VICTIMS}"}


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param(
            [composite("t", 1, priority=7), *leaf("a", 1, [1], parent="t", priority=3)],
            "all pod groups in a hierarchy should have the same priority as the root pod group's priority, "
            'got 3 ("default/a") and 7 ("default/t")',
            id="priority of a group",
        ),
        pytest.param(
            [composite("t", 1), *leaf("a", 1, [1], parent="t", preemptionPolicy="Never")],
            "all pod groups in a hierarchy should have the same preemption policy as the root pod group's "
            'preemption policy, got Never ("default/a") and PreemptLowerPriority ("default/t")',
            id="policy of a group",
        ),
        pytest.param(
            [composite("t", 1), *leaf("a", 1, [1], parent="t", pods={"priority": 5})],
            "all pods in a single pod group should have the same priority as the pod group's priority, "
            "got 5 and 0",
            id="priority of a Pod",
        ),
        pytest.param(
            [
                composite("l1", 1),
                inner("l2", 1, parent="l1"),
                inner("l3", 1, parent="l2"),
                inner("l4", 1, parent="l3"),
                *leaf("a", 1, [1], parent="l4"),
            ],
            "hierarchy depth 5 exceeds maximum allowed depth 4",
            id="five levels",
        ),
    ],
)
def test_what_is_an_error_of_the_whole_tree(objects: list[Manifest], text: str) -> None:
    story = Story(node("n", cpu="9"), *objects).decide()
    groups = [f"{made['kind']}/{made['metadata']['name']}" for made in objects if made["kind"] != "Pod"]
    assert set(said(story, *groups, "Pod/a-0").values()) == {text}
    assert reasons(story) == {"SchedulerError"}


def test_an_error_below_stops_the_tree_and_not_the_words_of_those_that_failed() -> None:
    racks = [node("n1", cpu="2", labels={"rack": "r1"}), node("n2", cpu="2", labels={"rack": "r2"})]
    story = Story(
        *racks,
        composite("t", 1),
        *leaf("a", 1, [9], parent="t"),
        *leaf("b", 1, [1], parent="t", **rack()),
        pod("b-8", group="b", node="n1"),
        pod("b-9", group="b", node="n2"),
        *leaf("c", 1, [1], parent="t"),
    ).decide()
    fault = (
        "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: r1, r2"
    )
    child = f"composite pod group evaluation failed due to child error: {fault}"
    own = WRAP + "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining"
    names = ("CompositePodGroup/t", "PodGroup/a", "PodGroup/b", "PodGroup/c", "Pod/a-0", "Pod/b-0", "Pod/c-0")
    assert said(story, *names) == {
        "CompositePodGroup/t": child,
        "PodGroup/a": own,
        "PodGroup/b": fault,
        "PodGroup/c": child,
        "Pod/a-0": "0/2 nodes are available: 2 Insufficient cpu.",
        "Pod/b-0": fault,
        "Pod/c-0": child,
    }


def low(name: str, on: str, cpu: str, in_group: str | None = None) -> Manifest:
    return pod(name, cpu=cpu, node=on, group=in_group)


def victims_of(*objects: Manifest) -> tuple[tuple[str, ...], set[str]]:
    """Whom the tree of `objects` evicts, and what it calls itself."""
    story = Story(*objects)
    decision = decide(story.state, story.now)
    assert decision is not None
    evicted = [made for made in decision.payloads if isinstance(made, ev.PodEvicted)]
    assert {made.pod for made in evicted} == set(decision.attempt.victims)
    return decision.attempt.victims, {made.message.rpartition(" ")[2] for made in evicted}


def high(name: str, cpus: list[int], **spec: object) -> list[Manifest]:
    """A tree of priority 100 with one child for each number of cores, all of which are needed."""
    return [
        composite(name, len(cpus), priority=100, **spec),
        *(
            made
            for number, cpu in enumerate(cpus)
            for made in leaf(f"{name}-{number}", 1, [cpu], parent=name, priority=100, pods={"priority": 100})
        ),
    ]


def test_a_tree_evicts_for_all_of_its_children() -> None:
    victims, kinds = victims_of(
        node("n1", cpu="4"),
        node("n2", cpu="4"),
        low("one", "n1", "4"),
        low("two", "n2", "4"),
        *high("t", [4, 3]),
    )
    assert victims == ("default/one", "default/two")
    assert kinds == {"compositepodgroup"}


@pytest.mark.parametrize(
    ("top", "middle", "bottom", "victims"),
    [
        pytest.param({}, {}, {}, 1, id="each Pod by itself"),
        pytest.param({}, {}, {"all": {}}, 2, id="a PodGroup as a whole"),
        pytest.param({}, {"all": {}}, {}, 3, id="a composite above it"),
        pytest.param({"all": {}}, {}, {"all": {}}, 4, id="the highest decides"),
    ],
)
def test_what_goes_together(top: Manifest, middle: Manifest, bottom: Manifest, victims: int) -> None:
    """`a` has a Pod on the node that is wanted and one elsewhere, `b` and `c` run elsewhere."""

    def mode(of: Manifest) -> Manifest:
        return {"disruptionMode": of or {"single": {}}}

    evicted, _ = victims_of(
        node("n1", cpu="4"),
        node("n2", cpu="4", unschedulable=True),
        composite("top", 1, **mode(top)),
        inner("middle", 1, parent="top", **mode(middle)),
        *leaf("a", 1, [], parent="middle", **mode(bottom)),
        *leaf("b", 1, [], parent="middle"),
        *leaf("c", 1, [], parent="top"),
        low("a-0", "n1", "4", "a"),
        low("a-1", "n2", "1", "a"),
        low("b-0", "n2", "1", "b"),
        low("c-0", "n2", "1", "c"),
        *high("t", [4]),
    )
    assert len(evicted) == victims


def test_a_unit_has_the_priority_of_its_root() -> None:
    victims, _ = victims_of(
        node("n", cpu="4"),
        composite("rich", 1, priority=1000),
        *leaf("a", 1, [], parent="rich"),
        low("a-0", "n", "2", "a"),
        low("b", "n", "2"),
        *high("t", [2]),
    )
    assert victims == ("default/b",)


def test_a_group_of_the_tree_that_changes_undoes_a_decision() -> None:
    story = three_levels()
    decision = decide(story.state, story.now)
    assert decision is not None
    after = story.state.position + 1
    changed = ev.Event(after, story.now, ev.CompositePodGroupUpdated(key="default/mid-a"))
    other = ev.Event(after, story.now, ev.CompositePodGroupUpdated(key="default/other"))
    child = ev.Event(after, story.now, fact(group("z", 1, parentCompositePodGroupName="top")))
    assert [stands(decision, event, story.state) for event in (changed, other, child)] == [False, True, True]


def test_a_node_that_holds_a_group_to_its_domain_undoes_a_decision() -> None:
    story = Story(
        node("n1", cpu="1", labels={"rack": "r1"}),
        node("n2", cpu="4", labels={"rack": "r1"}),
        node("n3", cpu="4", labels={"rack": "r1"}),
        *leaf("g", 1, [2], **within("rack")),
        pod("g-9", cpu=1000, group="g", node="n1"),
    )
    decision = decide(story.state, story.now)
    assert decision is not None
    assert (decision.nodes, decision.anchors) == ({"n2"}, {"n1"})
    after = story.state.position + 1
    relabelled = [
        ev.Event(after, story.now, fact(node(name, labels={"rack": "r2"}), "Updated"))
        for name in ("n1", "n3")
    ]
    assert [stands(decision, event, story.state) for event in relabelled] == [False, True]


@pytest.mark.parametrize(
    ("known", "parent", "stood"),
    [
        pytest.param(True, "t", False, id="in a group that came to the tree"),
        pytest.param(False, "t", False, id="in one of which nothing is known"),
        pytest.param(True, "u", True, id="in another tree"),
        pytest.param(True, None, True, id="in no tree"),
    ],
)
def test_a_pod_that_runs_in_a_new_group_of_the_tree_undoes_a_decision(
    known: bool, parent: str | None, stood: bool
) -> None:
    """It may run in another domain than the decision chose."""
    story = Story(
        node("n1", cpu="4", labels={"rack": "r1"}),
        node("n2", cpu="4", labels={"rack": "r2"}),
        composite("u", 1),
        composite("t", 1, **rack()),
        *leaf("a", 1, [1], parent="t"),
    )
    decision = decide(story.state, story.now)
    assert decision is not None
    assert decision.nodes == {"n1"}
    if known:
        story.add(*leaf("late", 1, [], parent=parent))
    put = ev.Event(story.state.position + 1, story.now, fact(pod("late-0", group="late", node="n2")))
    assert stands(decision, put, story.state) is stood


def siblings(division: str, *objects: Manifest) -> tuple[bool, dict[str, int]]:
    """Whether the lean pass counted, and how many Pods of each group were bound in the first attempt."""
    story = Story(*objects).append(ev.SchedulerConfigured(siblings=division))
    decision = decide(story.state, story.now)
    assert decision is not None
    groups = [str(made.group) for made in decision.payloads if isinstance(made, ev.PodBound)]
    assert {each.group for each in decision.attempt.groups if each.untried and not each.message} == set()
    return decision.attempt.lean, Counter(group.rpartition("/")[2] for group in groups)


GREEDY = [composite("t", 2), *leaf("a", 1, [1, 1, 1, 1], parent="t"), *leaf("b", 2, [1, 1, 1], parent="t")]


@pytest.mark.parametrize(
    ("division", "cores", "objects", "expected"),
    [
        pytest.param("greedy", "4", GREEDY, (False, {}), id="greedy: the first takes all"),
        pytest.param("lean", "4", GREEDY, (True, {"a": 2, "b": 2}), id="lean: minimums, then the rest"),
        pytest.param("lean", "6", GREEDY, (False, {"a": 4, "b": 2}), id="lean: no need"),
        pytest.param("lean", "2", GREEDY, (False, {}), id="lean: no use"),
        pytest.param(
            "lean",
            "3",
            [composite("t", 1), *GREEDY[1:]],
            (True, {"a": 1, "b": 2}),
            id="lean: more groups start",
        ),
        pytest.param(
            "lean",
            "2",
            [composite("t", 1), *GREEDY[1:]],
            (False, {"a": 2}),
            id="lean: no more groups start, so that greedy counts",
        ),
        pytest.param(
            "lean",
            "4",
            [composite("t", 2, **rack()), *GREEDY[1:]],
            (True, {"a": 2, "b": 2}),
            id="lean: in a rack",
        ),
        pytest.param(
            "lean",
            "4",
            [
                composite("t", 2),
                *leaf("a", 1, [9, 1, 1, 1, 1], parent="t", **rack()),
                *leaf("b", 2, [1, 1], parent="t", **rack()),
            ],
            (True, {"a": 2, "b": 2}),
            id="lean: racks below, and a member that never fits",
        ),
    ],
)
def test_how_siblings_divide(
    division: str, cores: str, objects: list[Manifest], expected: tuple[bool, dict[str, int]]
) -> None:
    assert siblings(division, node("n", cpu=cores, labels={"rack": "r"}), *objects) == expected


def nested(*below: Manifest, minimum: int = 2, **constraint: Manifest) -> list[Manifest]:
    """A tree whose first group is a composite that needs one of `a1`, `a2` and what is `below` it."""
    return [
        composite("t", minimum),
        inner("a", 1, parent="t", **constraint),
        *leaf("a1", 2, [1, 1, 1], parent="a"),
        *below,
        *leaf("a2", 2, [1, 1], parent="a"),
        *leaf("b", 2, [1, 1], parent="t"),
    ]


@pytest.mark.parametrize(
    ("cores", "objects", "expected"),
    [
        pytest.param("3", nested(), (False, {}), id="no use"),
        pytest.param("4", nested(), (True, {"a1": 2, "b": 2}), id="one group of each"),
        pytest.param("5", nested(), (True, {"a1": 3, "b": 2}), id="then members"),
        pytest.param("6", nested(), (True, {"a1": 2, "a2": 2, "b": 2}), id="groups before members"),
        pytest.param("7", nested(), (False, {"a1": 3, "a2": 2, "b": 2}), id="no need"),
        pytest.param("6", nested(**rack()), (True, {"a1": 2, "a2": 2, "b": 2}), id="in a rack"),
        pytest.param(
            "6",
            nested(inner("a3", 1, parent="a"), *leaf("x", 1, [1, 1], parent="a3")),
            (True, {"a1": 2, "a2": 2, "b": 2}),
            id="a composite beyond the minimum has no room",
        ),
        pytest.param(
            "8",
            nested(
                inner("a3", 1, parent="a"),
                *leaf("x", 1, [1, 1], parent="a3"),
                *leaf("y", 1, [1], parent="a3"),
            ),
            (True, {"a1": 2, "a2": 2, "b": 2, "x": 1, "y": 1}),
            id="a composite beyond the minimum goes beyond its own last",
        ),
        pytest.param(
            "5",
            nested(*leaf("a3", 1, [], parent="a"), pod("a3-0", cpu=1000, group="a3", node="n")),
            (True, {"a1": 2, "b": 2}),
            id="a group that runs is the one",
        ),
        pytest.param(
            "3",
            nested(*leaf("a3", 1, [], parent="a"), pod("a3-0", cpu=1000, group="a3", node="n")),
            (True, {"b": 2}),
            id="a group that runs is the one, and others have no room",
        ),
    ],
)
def test_composites_are_held_to_their_minimum_of_groups(
    cores: str, objects: list[Manifest], expected: tuple[bool, dict[str, int]]
) -> None:
    assert siblings("lean", node("n", cpu=cores, labels={"rack": "r"}), *objects) == expected


@pytest.mark.parametrize(
    "above",
    [pytest.param("a", id="the greedy pass has it"), pytest.param("c", id="only the lean pass has it")],
)
def test_an_error_in_a_group_that_the_lean_pass_comes_to_last_starts_nobody(above: str) -> None:
    """One member of `z` runs where no zone is; without it, the lean pass would start the tree."""
    objects = [
        *nested(minimum=3),
        inner("c", 1, parent="t"),
        *leaf("c1", 1, [1], parent="c"),
        *leaf("z", 2, [1], parent=above, **within("zone")),
    ]
    host, culprit = node("n", cpu="5"), pod("z-9", cpu=0, group="z", node="n")
    assert siblings("lean", host, *objects) == (True, {"a1": 2, "b": 2, "c1": 1})
    assert siblings("lean", host, *objects, culprit) == (False, {})


def test_a_tree_of_racks_is_tried_again_when_anything_moves() -> None:
    """The first child takes the fuller rack: more use of one rack can make room in the other."""
    story = Story(
        node("n1", cpu="6", labels={"rack": "r1"}),
        node("n2", cpu="3", labels={"rack": "r2"}),
        pod("x", cpu="2", node="n1"),
        composite("t", 2),
        *leaf("a", 2, [1, 1], parent="t", **rack()),
        *leaf("b", 4, [1, 1, 1, 1], parent="t", **rack()),
    ).decide()
    assert "1 scheduled, 0 remaining" in said(story, "CompositePodGroup/t")["CompositePodGroup/t"]
    story.wait(5).decide().add(pod("y", cpu="1", node="n2")).decide()
    assert set(said(story, "Pod/a-0", "Pod/a-1", "Pod/b-0", "Pod/b-3").values()) == {"bound"}


TAINTS = [{"key": "k", "value": "v", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    ("other", "on_it", "comes"),
    [
        pytest.param(
            node("c", cpu="8", labels={"rack": "r1"}, unschedulable=True), "8", False, id="cordoned"
        ),
        pytest.param(node("c", cpu="8", labels={"rack": "r1"}, taints=TAINTS), "8", False, id="tainted"),
        pytest.param(node("c", cpu="8", labels={"rack": "r2"}, taints=TAINTS), "7", True, id="filled"),
        pytest.param(node("c", cpu="900m", labels={"rack": "r2"}), "900m", True, id="too small"),
    ],
)
def test_what_is_in_use_on_a_node_that_nobody_could_have_decides_about_racks(
    other: Manifest, on_it: str, comes: bool
) -> None:
    """`a` chooses the fuller rack, whoever fills it; `b` fits into one of them only."""
    story = Story(
        node("n1", cpu="4", labels={"rack": "r1"}),
        node("n2", cpu="3", labels={"rack": "r2"}),
        other,
        *([] if comes else [pod("x", cpu=on_it, node="c")]),
        composite("t", 2),
        *leaf("a", 1, [1], parent="t", **rack()),
        *leaf("b", 1, [4], parent="t", **rack()),
    ).decide()
    assert "bound" not in said(story, "Pod/a-0", "Pod/b-0").values()
    story.wait(60).decide()
    if comes:
        story.add(pod("x", cpu=on_it, node="c"))
    else:
        story.append(ev.PodDeleted(key="default/x", uid="uid-of-x", node="c"))
    assert lost_wake_ups(story.state, story.now) == []
    assert said(story.decide(), "Pod/a-0", "Pod/b-0") == {"Pod/a-0": "bound", "Pod/b-0": "bound"}


@given(st.integers(0, 2**32))
def test_nobody_who_chooses_racks_sleeps_where_another_choice_would_do(seed: int) -> None:
    """Two racks of two nodes, one of which nobody could have, on which other Pods come and go."""
    random = Random(seed)
    hosts = [
        node(f"n{number}", cpu=str(random.choice((2, 3, 4, 6))), labels={"rack": f"r{number % 2}"},
             unschedulable=number > 1)
        for number in range(4)
    ]  # fmt: skip
    tree = [composite("t", 2)]
    for name in "ab":
        cores = [random.choice((1, 2, 3, 4))] * random.choice((1, 2))
        tree += leaf(name, random.choice((1, 2)), cores, parent="t", **rack())
    story = Story(*hosts, *tree).decide()
    on: dict[str, str] = {}
    for number in range(12):
        if on and random.random() < 0.4:
            name = random.choice(sorted(on))
            story.append(ev.PodDeleted(key=f"default/{name}", uid=f"uid-of-{name}", node=on.pop(name)))
        else:
            on[f"x{number}"] = f"n{random.randrange(4)}"
            story.add(pod(f"x{number}", cpu=str(random.choice((1, 2, 4))), node=on[f"x{number}"]))
        assert lost_wake_ups(story.state, story.now) == []
        story.wait(120).decide()


def test_an_error_about_domains_is_tried_again_when_a_node_changes() -> None:
    story = Story(
        node("n1", cpu="2", labels={"rack": "r1"}),
        node("n2", cpu="2", labels={"rack": "r2"}),
        *leaf("g", 1, [1], **rack()),
        pod("g-8", group="g", node="n1"),
        pod("g-9", group="g", node="n2"),
    ).decide()
    assert reasons(story) == {"SchedulerError"}
    story.wait(5).decide().append(fact(node("n2", cpu="2", labels={"rack": "r1"}), "Updated")).decide()
    assert said(story, "Pod/g-0") == {"Pod/g-0": "bound"}
