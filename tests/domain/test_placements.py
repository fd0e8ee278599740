"""Topology constraints: which domains there are, which is chosen, and what is said if none will do.

Sources: kube-scheduler 1.37.2, topology-aware scheduling; KEP-5732.
"""

import pytest
from msgspec.structs import replace

from build import Manifest, Story, composite, node, pod
from domain import events as ev
from domain.events import PlacementFinding
from domain.objects import Pod
from domain.profile import FILTERS, Profile
from domain.resources import CPU
from domain.room import Room
from domain.roster import whole_numbers
from domain.scheduling import tree
from domain.scheduling.branch import Branch
from domain.scheduling.cycle import decide
from domain.scheduling.lockstep import can_step
from domain.scheduling.placements import (
    Running,
    UndeterminedDomain,
    best_placement,
    candidates,
    percent_used,
    use_of_domains,
    use_of_rooms,
)
from domain.scheduling.survey import can_survey
from trees import NO_VICTIMS, inner, leaf, rack, reasons, said, within

FLAG = "pod group is unschedulable"


def in_racks(**cores: str) -> list[Manifest]:
    """A node for each name, with the cores and the rack that are given: `n1="r1 4"`; no rack: `n1="4"`."""
    nodes = []
    for name, told in cores.items():
        *label, cpu = told.split(" ")
        nodes.append(node(name, cpu=cpu, labels={"rack": label[0]} if label else {}))
    return nodes


def room_of(*nodes: Manifest) -> Room:
    return Story(*nodes).state.nodes.for_cycle()


@pytest.mark.parametrize(
    ("running", "names"),
    [
        pytest.param([], ["", "r1", "r2"], id="by name, the empty one too"),
        pytest.param([Running("a", {"rack": "r2"})], ["r2"], id="held by a member"),
        pytest.param([Running("a", {"rack": ""})], [""], id="held by one without a name"),
        pytest.param([Running("a", {"rack": "r9"})], [], id="held outside"),
        pytest.param([Running("a", {"rack": "r1"})] * 2, ["r1"], id="two in one domain"),
    ],
)
def test_candidates(running: list[Running], names: list[str]) -> None:
    roster = room_of(*in_racks(n4="r2 1", n3="1", n2="r1 1", n1="r2 1", n0=" 1")).roster
    domains = roster.domains("rack")
    assert [domains.names[number] for number in candidates(roster, "rack", running)] == names
    assert {
        name: [roster.names[row] for row in domains.rows_of(number)]
        for number, name in enumerate(domains.names)
    } == {"": ["n0"], "r1": ["n2"], "r2": ["n1", "n4"]}
    assert candidates(roster, "zone", ()) == []


@pytest.mark.parametrize(
    ("running", "text"),
    [
        pytest.param(
            [Running("a", {"rack": "r2"}), Running("b", {"rack": "r1"})],
            "cannot determine domain for already scheduled pods: "
            "more than 1 domain found for pod group: r1, r2",
            id="two domains",
        ),
        pytest.param(
            [Running("a", {"rack": "r3"}), Running("b", {"rack": "r2"}), Running("c", {"rack": "r1"})],
            "cannot determine domain for already scheduled pods: "
            "more than 1 domain found for pod group: r1, r2",
            id="three domains, two are named",
        ),
        pytest.param(
            [Running("a", {"rack": "r2"}), Running("b", {})],
            "cannot determine domain for already scheduled pods: no topology domain found for pod b",
            id="no domain",
        ),
    ],
)
def test_members_that_do_not_tell_a_domain(running: list[Running], text: str) -> None:
    with pytest.raises(UndeterminedDomain) as fault:
        candidates(room_of(*in_racks(n1="r1 1", n2="r2 1")).roster, "rack", running)
    assert str(fault.value) == text


@pytest.mark.parametrize(
    ("allocatable", "used", "percent"),
    [
        pytest.param((4000, 16), (3000, 3), 46, id="75 and 18"),
        pytest.param((2000, 4), (2000, 2), 75, id="100 and 50"),
        pytest.param((4000, 0), (3000, 3), 75, id="a resource that there is none of"),
        pytest.param((4000, 16), (5000, 8), 25, id="more in use than there is"),
        pytest.param((0, 0), (0, 0), 0, id="nothing"),
        pytest.param((2**70, 2**70), (2**69, 2**70), 75, id="huge"),
    ],
)
def test_percent_used(allocatable: tuple[int, int], used: tuple[int, int], percent: int) -> None:
    columns = [whole_numbers([[amount] for amount in amounts]) for amounts in (allocatable, used)]
    assert percent_used(*columns).tolist() == [percent]


def test_more_members_win_over_a_tighter_placement() -> None:
    allocatable = whole_numbers([[4000, 2000], [16, 4]])
    assert best_placement([3, 2], allocatable, whole_numbers([[3000, 2000], [3, 2]])) == 0  # 146 to 141
    assert best_placement([2, 2], allocatable, whole_numbers([[2000, 2000], [2, 2]])) == 1
    assert best_placement([2, 2], allocatable, whole_numbers([[0, 0], [0, 0]])) == 0  # by name


def test_use_is_the_same_from_rooms_and_from_domains() -> None:
    story = Story(*in_racks(n1="r1 1", n2="r2 2", n3="r1 3"), pod("a", cpu="500m", memory="1Gi", node="n3"))
    room = story.state.nodes.for_cycle()
    domains = room.roster.domains("rack")
    apart = use_of_rooms(room.within("rack", number) for number in range(len(domains)))
    together = use_of_domains(room, "rack")
    assert [each.tolist() for each in apart] == [each.tolist() for each in together]
    assert together[1].tolist() == [[500, 0], [2**30, 0]]


def test_a_room_within_another_is_a_room_of_its_own() -> None:
    port = [{"containerPort": 80, "hostPort": 80}]
    story = Story(*in_racks(n1="r1 4", n2="r2 4", n3="r2 4"), pod("a", cpu="1", node="n2"))
    shape = story.add(pod("b", cpu="1", ports=port)).state.pods["default/b"].spec.shape
    outer = story.state.nodes.for_cycle()
    outer.reserve(outer.roster.row["n3"], replace(shape, host_ports=()))
    inside = outer.within("rack", 1)
    before = outer.used.copy()
    cpu = inside.roster.column[CPU]
    assert (inside.names, inside.free(cpu).tolist()) == (["n2", "n3"], [3000, 3000])
    inside.assume(0, shape)
    assert inside.free(cpu).tolist() == [2000, 3000]
    assert inside.taken_ports(shape).tolist() == [True, False]
    assert (outer.used == before).all()
    assert not outer.taken_ports(shape).any()
    outer.assume(outer.roster.row["n3"], shape)
    assert inside.taken_ports(shape).tolist() == [True, False]
    assert inside.roster.resources == outer.roster.resources


def test_none_of_the_racks_will_do() -> None:
    story = Story(
        *in_racks(n1="r1 1", n2="r1 1", n3="r2 2", n4="4"),
        *leaf("g", 3, [1, 1, 1], **rack()),
    ).decide()
    told = (
        f"{FLAG}, 0/2 placements are available, first placement status: "
        "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"
    )
    assert said(story, "PodGroup/g", "Pod/g-0", "Pod/g-2") == {
        "PodGroup/g": told + NO_VICTIMS,
        "Pod/g-0": f"{FLAG}, {told}{NO_VICTIMS}",
        "Pod/g-2": "0/2 nodes are available: 2 Insufficient cpu.",
    }


def test_no_node_has_the_label() -> None:
    story = Story(*in_racks(n1="1"), *leaf("g", 2, [1, 1], **rack())).decide()
    assert said(story, "PodGroup/g", "Pod/g-0") == {
        "PodGroup/g": "no feasible placements found" + NO_VICTIMS,
        "Pod/g-0": "no feasible placements found",
    }


def test_members_that_run_in_two_racks() -> None:
    story = Story(
        *in_racks(n1="r1 2", n2="r2 2"),
        *leaf("g", 1, [1], **rack()),
        pod("g-8", group="g", node="n2"),
        pod("g-9", group="g", node="n1"),
    ).decide()
    text = (
        "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: r1, r2"
    )
    assert said(story, "PodGroup/g", "Pod/g-0") == {"PodGroup/g": text, "Pod/g-0": text}
    assert reasons(story) == {"SchedulerError"}


def test_held_to_a_rack_that_is_full() -> None:
    story = Story(
        *in_racks(n1="r1 1", n2="r2 8"),
        *leaf("g", 2, [1], **rack()),
        pod("g-9", cpu="1", group="g", node="n1"),
    ).decide()
    assert said(story, "PodGroup/g", "Pod/g-0") == {
        "PodGroup/g": f"{FLAG}, 0/1 placements are available, first placement status: "
        f"minCount (2) cannot be satisfied: 1 scheduled, 0 remaining{NO_VICTIMS}",
        "Pod/g-0": "0/1 nodes are available: 1 Insufficient cpu.",
    }


def findings(*objects: Manifest) -> tuple[PlacementFinding, ...]:
    story = Story(*objects)
    decision = decide(story.state, story.now)
    assert decision is not None
    return decision.attempt.groups[0].placements


def test_every_domain_says_what_it_lacks() -> None:
    nodes = [
        *in_racks(n1="r1 3", n2="r1 1"),
        node("n3", cpu="8", labels={"rack": "r2"}, unschedulable=True),
        node("n4", cpu="8", labels={"rack": "r3"}, pods=1),
    ]
    expected = (
        PlacementFinding(
            asked=4000,
            domain="r1",
            free=4000,
            nodes=2,
            reason="Insufficient cpu",
            resource="cpu",
            scheduled=1,
        ),
        PlacementFinding(domain="r2", nodes=1, reason="node(s) were unschedulable"),
        PlacementFinding(
            asked=2, domain="r3", free=1, nodes=1, reason="Too many pods", resource="pods", scheduled=1
        ),
    )
    assert findings(*nodes, *leaf("g", 2, [2, 2], **rack())) == expected
    told_apart = [*leaf("g", 2, [2], **rack()), pod("g-1", cpu="2", memory="1", group="g")]
    assert findings(*nodes, *told_apart) == expected


def test_a_composite_that_finds_no_domain_says_how_many_children_would_start() -> None:
    found = findings(
        *in_racks(n1="r1 1", n2="r2 2"),
        composite("t", 2, **rack()),
        *leaf("a", 1, [1], parent="t"),
        *leaf("b", 2, [1, 1], parent="t"),
    )
    assert [(each.domain, each.scheduled, each.reason, each.free, each.asked) for each in found] == [
        ("r1", 1, "Insufficient cpu", 1000, 3000),
        ("r2", 1, "Insufficient cpu", 2000, 3000),
    ]


def chosen(story: Story, name: str) -> str | None:
    decision = decide(story.state, story.now)
    assert decision is not None
    (found,) = (each for each in decision.attempt.groups if each.group.endswith(f"/{name}"))
    return found.domain


def test_what_is_kept_of_a_choice() -> None:
    story = Story(*in_racks(n1="r1 4", n2="r2 2"), *leaf("g", 2, [1, 1], **rack()))
    decision = decide(story.state, story.now)
    assert decision is not None
    (found,) = decision.attempt.groups
    assert (found.topology_key, found.domain, found.placements) == ("rack", "r2", ())


def nominate(story: Story, name: str, on: str) -> None:
    member: Pod = story.state.pods[f"default/{name}"]
    story.append(ev.PodNominated(pod=member.key, uid=member.uid, group=member.group, node=on))


def test_the_rack_of_nominated_nodes_is_tried_first() -> None:
    objects = [*in_racks(n1="r1 4", n2="r2 2", n3="r1 2"), *leaf("g", 2, [1, 1], **rack())]
    assert chosen(Story(*objects), "g") == "r2"
    hopeful = Story(*objects)
    nominate(hopeful, "g-0", "n3")
    assert chosen(hopeful, "g") == "r1"
    in_vain = Story(*objects, pod("x", cpu="4", node="n1"), pod("y", cpu="2", node="n3"))
    nominate(in_vain, "g-0", "n3")
    assert chosen(in_vain, "g") == "r2"


def test_the_rack_of_nominated_nodes_is_reported_if_none_will_do() -> None:
    story = Story(*in_racks(n1="r1 1", n2="r2 1", n3="r2 1"), *leaf("g", 3, [1, 1, 1], **rack()))
    assert chosen(story, "g") == "r1"
    nominate(story, "g-0", "n3")
    assert chosen(story, "g") == "r2"


def test_in_a_tree_nominated_nodes_do_not_decide_the_rack() -> None:
    story = Story(
        *in_racks(n1="r1 4", n2="r2 2"),
        composite("t", 1),
        *leaf("g", 1, [1], parent="t", **rack()),
    )
    nominate(story, "g-0", "n1")
    assert chosen(story, "g") == "r2"


def test_a_rack_inside_a_zone() -> None:
    nodes = [
        node(f"{zone}-{name}", cpu=cpu, labels={"zone": zone, "rack": name})
        for zone, name, cpu in (("z1", "r1", "2"), ("z1", "r2", "1"), ("z2", "r1", "2"), ("z2", "r2", "2"))
    ]
    story = Story(
        *nodes,
        composite("t", 2, **within("zone")),
        *leaf("a", 2, [1, 1], parent="t", **rack()),
        *leaf("b", 2, [1, 1], parent="t", **rack()),
    )
    decision = decide(story.state, story.now)
    assert decision is not None
    assert [(found.group.rpartition("/")[2], found.domain) for found in decision.attempt.groups] == [
        ("t", "z2"),
        ("a", "r1"),
        ("b", "r2"),
    ]
    bound = {made.pod: made.node for made in decision.payloads if isinstance(made, ev.PodBound)}
    assert bound == {
        "default/a-0": "z2-r1",
        "default/a-1": "z2-r1",
        "default/b-0": "z2-r2",
        "default/b-1": "z2-r2",
    }


def test_a_child_counts_the_domains_of_its_own_placement() -> None:
    nodes = [
        node(f"{zone}-{name}", cpu="1", labels={"zone": zone, "rack": name})
        for zone in ("z1", "z2")
        for name in ("r1", "r2", "r3")
    ]
    story = Story(
        *nodes,
        composite("t", 1, **within("zone")),
        inner("m", 1, parent="t"),
        *leaf("a", 2, [1, 1], parent="m", **rack()),
    ).decide()
    assert said(story, "PodGroup/a")["PodGroup/a"].startswith(f"{FLAG}, 0/3 placements are available, ")
    assert said(story, "CompositePodGroup/m")["CompositePodGroup/m"].startswith(f"{FLAG}, 0/1 placements")
    assert said(story, "CompositePodGroup/t")["CompositePodGroup/t"].startswith(f"{FLAG}, 0/2 placements")


def test_a_group_in_a_rack_preempts_there() -> None:
    story = Story(
        *in_racks(n1="r1 2", n2="r2 1", n3="r2 1"),
        *(pod(f"low-{on}", cpu="1", node=on) for on in ("n1", "n2", "n3")),
        *leaf("g", 2, [1, 1], pods={"priority": 9}, priority=9, **rack()),
        pod("g-9", cpu="0", group="g", node="n2", priority=9),
    )
    decision = decide(story.state, story.now)
    assert decision is not None
    assert set(decision.attempt.victims) == {"default/low-n2", "default/low-n3"}
    nominated = {made.node for made in decision.payloads if isinstance(made, ev.PodNominated)}
    assert nominated == {"n2", "n3"}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(leaf("g", 2, [1, 1], **rack()), True, id="a PodGroup of equal Pods"),
        pytest.param(leaf("g", 2, [1, 2], **rack()), False, id="two shapes"),
        pytest.param(
            leaf("g", 1, [1], pods={"ports": [{"containerPort": 80, "hostPort": 80}]}, **rack()),
            False,
            id="host ports",
        ),
        pytest.param(
            [composite("t", 1, **rack()), *leaf("a", 1, [1], parent="t"), *leaf("b", 1, [1], parent="t")],
            True,
            id="a tree of equal Pods",
        ),
        pytest.param(
            [composite("t", 1, **within("zone")), *leaf("a", 1, [1], parent="t", **rack())],
            False,
            id="a constraint below",
        ),
    ],
)
def test_what_numbers_alone_can_tell(
    objects: list[Manifest], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def watched(branch: Branch) -> bool:
        asked.append(can_survey(branch))
        return asked[-1]

    monkeypatch.setattr(tree, "can_survey", watched)
    nodes = [node(name, labels={"rack": name, "zone": name}) for name in ("n1", "n2")]
    story = Story(*nodes, *objects).decide()
    assert asked[0] is expected
    assert all(each.node is not None for each in story.state.pods.values())


@pytest.mark.parametrize(
    ("nodes", "objects", "expected"),
    [
        pytest.param({}, leaf("g", 2, [1, 2], **rack()), True, id="two shapes"),
        pytest.param(
            {"taints": [{"key": "old", "effect": "PreferNoSchedule"}]},
            leaf("g", 2, [1, 2], **rack()),
            False,
            id="nodes that nobody likes",
        ),
        pytest.param(
            {},
            [composite("t", 1, **rack()), *leaf("a", 1, [1], parent="t"), *leaf("b", 1, [2], parent="t")],
            False,
            id="a tree",
        ),
    ],
)
def test_what_can_be_stepped_through_all_domains(
    nodes: Manifest, objects: list[Manifest], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def watched(branch: Branch, room: Room) -> bool:
        asked.append(can_step(branch, room))
        return asked[-1]

    monkeypatch.setattr(tree, "can_step", watched)
    named = [node(name, labels={"rack": name}, **nodes) for name in ("n1", "n2")]
    story = Story(*named, *objects).decide()
    assert asked[0] is expected
    assert all(each.node is not None for each in story.state.pods.values())


def test_an_image_on_a_node_tells_nodes_apart() -> None:
    image = {"names": ["app:latest"], "sizeBytes": 1}
    bare, loaded = node("n1", labels={"rack": "r1"}), node("n2", labels={"rack": "r2"})
    loaded["status"]["images"] = [image]
    story = Story(bare, *leaf("g", 1, [1, 2], **rack()))
    assert can_step(branch_of(story), story.state.nodes.for_cycle())
    story.add(loaded)
    assert not can_step(branch_of(story), story.state.nodes.for_cycle())


def test_a_member_with_a_nominated_node_is_not_stepped() -> None:
    story = Story(node("n1", labels={"rack": "r1"}), *leaf("g", 1, [1, 2], **rack()))
    nominate(story, "g-0", "n1")
    assert not can_step(branch_of(story), story.state.nodes.for_cycle())


def branch_of(story: Story) -> Branch:
    """The only PodGroup of `story` with its Pods."""
    (gang,) = story.state.groups.values()
    members = tuple((each, each.spec.shape) for each in story.state.pods.values())
    return Branch(gang, members=members)


def test_with_all_filters_off_a_group_lacks_nothing_but_pods() -> None:
    story = Story(*in_racks(n1="r1 1", n2="r2 1"))
    story.append(ev.SchedulerConfigured(profiles=(Profile(disabled_filters=FILTERS),)))
    story.add(
        composite("job"), *leaf("a", 2, [1], parent="job", **rack()), *leaf("b", None, [1], parent="job")
    )
    story.decide()
    assert "0/2 placements are available" in said(story, "PodGroup/a")["PodGroup/a"]
    assert said(story, "Pod/b-0") == {"Pod/b-0": "bound"}
