"""Placing is the plain loop, only faster; and the plain loop is what the rules say."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from build import node, pod
from clusters import ZONE, Cluster, Manifest, clusters, the_peer
from domain.manifests import node_facts
from domain.nodes import NodeTable
from domain.peers import Peer
from domain.profile import Profile
from domain.room import Room
from domain.scheduling.evaluate import feasible
from domain.scheduling.place import place
from domain.scheduling.placements import use_of_domains
from domain.scheduling.ranking import Ranking
from domain.scheduling.survey import Vacancies
from domain.shapes import PodShape, shape_of
from ganger_testing.profiles import profiles
from placing import check_filters, check_scores, place_by_the_rules, place_plainly

MANY = settings(max_examples=2 * settings().max_examples)

PREFER_OTHERS = {"key": "old", "value": "", "effect": "PreferNoSchedule"}


def liking(**weights: int) -> Manifest:
    """An affinity that prefers zones, each by its weight."""
    terms = [
        {
            "weight": weight,
            "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]},
        }
        for zone, weight in weights.items()
    ]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def with_host_port(manifest: Manifest) -> Manifest:
    manifest["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    return manifest


@MANY
@given(clusters(), st.integers(0, 40))
def test_placing_is_the_plain_loop(cluster: Cluster, count: int) -> None:
    table = cluster.table()
    room, plain = table.for_cycle(), table.for_cycle()
    assert place(room, cluster.shape, count) == place_plainly(plain, cluster.shape, count)
    assert np.array_equal(room.used, plain.used)


@MANY
@given(clusters(), st.lists(clusters(), min_size=1, max_size=3), st.data())
def test_shapes_that_take_turns_are_placed_as_by_the_plain_loop(
    cluster: Cluster, others: list[Cluster], data: st.DataObject
) -> None:
    """Also where Pods are given up again, and room is kept for others, in between."""
    table = cluster.table()
    room, plain = table.for_cycle(), table.for_cycle()
    shapes = [cluster.shape, *(other.shape for other in others)]
    turns = st.tuples(
        st.sampled_from(shapes), st.integers(1, 6), st.sampled_from(["keep", "forget", "reserve"])
    )
    for shape, count, then in data.draw(st.lists(turns, max_size=20), "turns"):
        rows = place(room, shape, count)
        assert rows == place_plainly(plain, shape, count)
        for each in (room, plain):
            for row in rows if then == "forget" else ():
                each.forget(row, shape)
            if then == "reserve" and len(each):
                each.reserve(len(rows) % len(each), shape)
    assert np.array_equal(room.used, plain.used)


def test_where_the_last_pod_with_a_rule_has_gone_no_rule_is_left() -> None:
    """Neither on its own node nor on the others of the domain, of which a cycle before may know something."""
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    alone = pod("alone", cpu=1000, affinity=rules)
    nodes = [node("n0", cpu="4", labels={ZONE: "a"}), node("n1", cpu="8", labels={ZONE: "a"})]
    cluster = Cluster(nodes, [("n0", alone)], pod("w", cpu=1000, labels={"app": "web"}))
    table, shape = cluster.table(), cluster.shape
    room, plain = table.for_cycle(), table.for_cycle()
    assert place(table.for_cycle(), shape, 1) == []
    for each in (room, plain):
        each.forget(0, replace(shape_of(alone["spec"], "default", {}), peer=the_peer(alone)))
    assert place(room, shape, 1) == place_plainly(plain, shape, 1) == [1]


@given(clusters(huge=True), st.integers(0, 12))
def test_placing_is_the_plain_loop_beyond_64_bits(cluster: Cluster, count: int) -> None:
    table = cluster.table()
    placed = place(table.for_cycle(), cluster.shape, count)
    assert placed == place_plainly(table.for_cycle(), cluster.shape, count)


@MANY
@given(clusters(), profiles(), st.integers(0, 40))
def test_placing_is_the_plain_loop_by_any_profile(cluster: Cluster, profile: Profile, count: int) -> None:
    table = cluster.table()
    room, plain = table.for_cycle(profile), table.for_cycle(profile)
    assert place(room, cluster.shape, count) == place_plainly(plain, cluster.shape, count)
    assert np.array_equal(room.used, plain.used)


@given(clusters(huge=True), profiles(), st.integers(0, 12))
def test_placing_is_the_plain_loop_by_any_profile_beyond_64_bits(
    cluster: Cluster, profile: Profile, count: int
) -> None:
    table = cluster.table()
    placed = place(table.for_cycle(profile), cluster.shape, count)
    assert placed == place_plainly(table.for_cycle(profile), cluster.shape, count)


@given(clusters(), st.lists(profiles(), min_size=2, max_size=4))
def test_what_is_remembered_of_one_profile_is_not_taken_for_another(
    cluster: Cluster, several: list[Profile]
) -> None:
    """All rooms of a table share what is remembered."""
    table, shape = cluster.table(), cluster.shape
    together = [place(table.for_cycle(profile), shape, 10) for profile in several * 2]
    assert together == [place(cluster.table().for_cycle(profile), shape, 10) for profile in several * 2]


@MANY
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([1, 2, 4])), min_size=2, max_size=9),
    st.lists(
        st.tuples(
            st.sampled_from(["around", "enter", 0, 1]), st.sampled_from([500, 1000]), st.integers(1, 3)
        ),
        min_size=2,
        max_size=8,
    ),
)
def test_placing_in_a_domain_is_the_plain_loop(
    nodes: list[tuple[str, int]], turns: list[tuple[str | int, int, int]]
) -> None:
    """Whatever was placed before, in the domain or around it, since it was entered or before."""
    table = NodeTable()
    for number, (zone, cpu) in enumerate(nodes):
        table.put(node_facts(node(f"n{number}", cpu=cpu, memory="8Gi", labels={ZONE: zone})))
    room, plain = table.for_cycle(), table.for_cycle()

    def entered() -> list[tuple[Room, Room]]:
        domains = range(len(room.roster.domains(ZONE)))
        return [(room.within(ZONE, number), plain.within(ZONE, number)) for number in domains]

    inside = entered()
    for where, cpu, count in turns:
        if where == "enter":
            inside = entered()
            continue
        shape = shape_of(pod("p", cpu=f"{cpu}00m", memory="1Gi")["spec"], "default", {})
        one, other = (room, plain) if where == "around" else inside[int(where) % len(inside)]
        assert place(one, shape, count) == place_plainly(other, shape, count)


@MANY
@given(st.booleans(), st.data())
def test_what_a_cycle_goes_on_from_is_as_if_it_was_found_out_now(huge: bool, data: st.DataObject) -> None:
    """Whatever came, ran and went since: the copy of a table has nothing kept from earlier cycles."""
    cluster = data.draw(clusters(huge=huge), "cluster")
    others = data.draw(st.lists(clusters(huge=huge), max_size=2), "others")
    table = cluster.table()
    shapes = [cluster.shape, *(other.shape for other in others)]
    bound: list[tuple[str, PodShape, Peer | None]] = []
    turns = st.tuples(
        st.sampled_from(shapes),
        st.integers(0, 6),
        st.sampled_from(["nothing", "bind", "end", "remove a node", "change a node"]),
    )
    for shape, count, then in data.draw(st.lists(turns, min_size=2, max_size=12), "turns"):
        room, fresh = table.for_cycle(), table.copy().for_cycle()
        assert looks(room, shape) == looks(fresh, shape)
        rows = place(room, shape, count)
        assert rows == place(fresh, shape, count)
        assert looks(room, shape) == looks(fresh, shape)
        match then:
            case "bind":
                bound += [(room.names[row], shape, shape.peer) for row in rows]
                for name, placed, peer in bound[len(bound) - len(rows) :]:
                    table.take(name, placed, peer)
            case "end":
                for ended in bound[count:]:
                    table.give_back(*ended)
                del bound[count:]
            case "remove a node" if len(table):
                table.remove(table.names()[count % len(table)])
            case "change a node" if cluster.nodes:
                changed = data.draw(st.sampled_from([*cluster.nodes, *(n for o in others for n in o.nodes)]))
                table.put(node_facts(changed))


def looks(room: Room, shape: PodShape) -> list[Any]:
    """What is known of the nodes and domains of `room` at once."""
    if not len(room.roster.domains(ZONE)):
        return []
    found: list[Any] = [amounts.tolist() for amounts in use_of_domains(room, ZONE)]
    if shape.peer is None and not shape.host_ports:
        vacancies = room.kept(Vacancies, (shape, ZONE))
        ranking = room.kept(Ranking, shape)
        found += [vacancies.by_node(9).tolist(), vacancies.by_domain(9).tolist(), ranking.best()]
    return found


@MANY
@given(clusters(), st.integers(0, 20))
def test_placing_follows_the_rules(cluster: Cluster, count: int) -> None:
    room = cluster.table().for_cycle()
    rows = place(room, cluster.shape, count)
    assert [room.names[row] for row in rows] == place_by_the_rules(cluster, count)


@given(clusters(huge=True), st.integers(0, 5))
def test_placing_follows_the_rules_beyond_64_bits(cluster: Cluster, count: int) -> None:
    room = cluster.table().for_cycle()
    rows = place(room, cluster.shape, count)
    assert [room.names[row] for row in rows] == place_by_the_rules(cluster, count)


@MANY
@given(clusters())
def test_filters_follow_the_rules(cluster: Cluster) -> None:
    check_filters(cluster)


@given(clusters(huge=True))
def test_filters_follow_the_rules_beyond_64_bits(cluster: Cluster) -> None:
    check_filters(cluster)


@MANY
@given(clusters())
def test_scores_follow_the_rules(cluster: Cluster) -> None:
    check_scores(cluster)


@given(clusters(huge=True))
def test_scores_follow_the_rules_beyond_64_bits(cluster: Cluster) -> None:
    check_scores(cluster)


@pytest.mark.parametrize(
    ("seed", "wanted"),
    [
        pytest.param(1, pod("a", cpu=500, memory="1Gi"), id="plain"),
        pytest.param(2, pod("a", cpu=100), id="cpu only, where balance makes scores rise"),
        pytest.param(3, pod("a"), id="requests nothing"),
        pytest.param(4, pod("a", cpu=1000, gpu=1), id="few nodes have it"),
        pytest.param(5, pod("a", memory="3Gi", tolerations=[{"operator": "Exists"}]), id="tolerates all"),
        pytest.param(
            6, pod("a", cpu=1000, memory="2Gi", affinity=liking(a=7, b=3)), id="liked zones fill up in turn"
        ),
    ],
)
def test_placing_is_the_plain_loop_until_all_is_full(seed: int, wanted: Manifest) -> None:
    cluster = big_cluster(seed, wanted)
    table = cluster.table()
    placed = place(table.for_cycle(), cluster.shape, 5000)
    assert placed == place_plainly(table.for_cycle(), cluster.shape, 5000)
    assert 50 < len(placed) < 5000


@pytest.mark.parametrize("seed", [2, 4, 5])
def test_taking_turns_is_the_plain_loop_until_all_is_full(seed: int) -> None:
    """When the last node of a liked zone fills up, all others are worth something else."""
    wanted = [
        pod("a", cpu=1000, memory="2Gi", affinity=liking(a=7, b=3)),
        pod("a", cpu=2000, memory="3Gi", affinity=liking(b=9, c=1)),
        pod("a", cpu=500),
    ]
    nodes = big_cluster(seed, wanted[0]).nodes[:16]
    table = Cluster(nodes, []).table()
    room, plain = table.for_cycle(), table.for_cycle()
    full = 0
    while full < len(wanted):
        full = 0
        for shape in [Cluster(nodes, [], each).shape for each in wanted]:
            rows = place(room, shape, 1)
            assert rows == place_plainly(plain, shape, 1)
            full += not rows


def big_cluster(seed: int, wanted: Manifest) -> Cluster:
    """A hundred machines of different sizes, in use."""
    draw = random.Random(seed)
    machines = [
        node(
            f"n{number:03}",
            cpu=draw.choice(["2", "8", "224"]),
            memory=draw.choice(["4Gi", "31Gi", "2Ti"]),
            pods=draw.choice([3, 10, 40]),
            gpu=draw.choice([0, 0, 8]),
            labels={ZONE: draw.choice("abcc")},
            taints=draw.choice([[], [], [], [PREFER_OTHERS]]),
        )
        for number in range(100)
    ]
    bound = [
        (f"n{draw.randrange(100):03}", pod("b", cpu=draw.randrange(900), memory=f"{draw.randrange(2000)}Mi"))
        for _ in range(300)
    ]
    return Cluster(machines, bound, wanted)


@pytest.mark.parametrize(
    ("nodes", "wanted", "expected"),
    [
        pytest.param(
            [node("n0", pods=1, labels={ZONE: "a"}), node("n1", cpu="2", labels={ZONE: "b"}), node("n2")],
            pod("a", cpu=1000, affinity=liking(a=100, b=10)),
            ["n0", "n1", "n1", "n2"],
            id="the second choice is liked as much once the first is full",
        ),
        pytest.param(
            [
                node("n0", cpu="1", taints=[PREFER_OTHERS]),
                node("n1", cpu="64", pods=1, taints=[PREFER_OTHERS, PREFER_OTHERS | {"key": "slow"}]),
                node("n2", cpu="1500m"),
            ],
            pod("a", cpu=1000),
            ["n2", "n0", "n1"],
            id="worse taints come last, however empty the node",
        ),
        pytest.param(
            [node("n2"), node("n1"), node("n0")],
            pod("a", cpu=1000, memory="1Gi"),
            ["n0", "n1", "n2", "n0"],
            id="of equals the first by name",
        ),
        pytest.param(
            [node("n1", cpu="16", memory="8Gi"), node("n2", cpu="16", memory="8Gi")],
            pod("a", cpu=100, memory="7Gi"),
            ["n1", "n2"],
            id="nobody is left for a third",
        ),
        pytest.param(
            [node("n1", cpu="64"), node("n2", cpu="2")],
            with_host_port(pod("a", cpu=100)),
            ["n1", "n2"],
            id="a host port is there once",
        ),
        pytest.param([], pod("a"), [], id="no nodes"),
        pytest.param([node("n1")], pod("a", memory="33Gi"), [], id="too big"),
    ],
)
def test_place(nodes: list[Manifest], wanted: Manifest, expected: list[str]) -> None:
    cluster = Cluster(nodes, [], wanted)
    room = cluster.table().for_cycle()
    assert [room.names[row] for row in place(room, cluster.shape, 4)] == expected
    assert place_by_the_rules(cluster, 4) == expected


@MANY
@given(clusters(), st.integers(1, 12))
def test_what_is_forgotten_leaves_no_trace(cluster: Cluster, count: int) -> None:
    table, shape = cluster.table(), cluster.shape
    room = table.for_cycle()
    rows = place(room, shape, count)
    for row in reversed(rows):
        room.forget(row, shape)
    untouched = table.for_cycle()
    assert np.array_equal(room.used, untouched.used)
    assert np.array_equal(feasible(room, shape), feasible(untouched, shape))
    assert place(room, shape, count) == rows


def test_a_room_is_private() -> None:
    cluster = Cluster([node("n1", cpu="1")], [], pod("a", cpu=1000))
    table, shape = cluster.table(), cluster.shape
    first, second = table.for_cycle(), table.for_cycle()
    assert place(first, shape, 2) == [0]
    assert place(second, shape, 2) == [0]
    assert table.used("n1")["cpu"] == 0
