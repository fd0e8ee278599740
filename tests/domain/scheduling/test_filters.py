"""The filters, each by itself where the rules have corners."""

from typing import Any

import msgspec
import numpy as np
import pytest

from build import node, pod
from clusters import Cluster, Manifest
from domain.node_facts import node_facts
from domain.profile import DEFAULT_PROFILE, FILTERS, Profile
from domain.room import Room
from domain.roster import Roster
from domain.scheduling.evaluate import evaluate, feasible, fits
from domain.scheduling.place import place
from domain.scheduling.selection import matching
from domain.selectors import term_of

NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
NO_MATCH = "node(s) didn't match Pod's node affinity/selector"


def room_of(
    nodes: list[Manifest],
    bound: list[tuple[str, Manifest]] | None = None,
    profile: Profile = DEFAULT_PROFILE,
) -> Room:
    return Cluster(nodes, bound or []).table().for_cycle(profile)


def expression(operator: str, *values: str, key: str = "size") -> Manifest:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param({"matchExpressions": [expression("In", "7", "xl")]}, ["seven", "xl"], id="In"),
        pytest.param({"matchExpressions": [expression("NotIn", "7")]}, ["none", "ten", "xl"], id="NotIn"),
        pytest.param({"matchExpressions": [expression("Exists")]}, ["seven", "ten", "xl"], id="Exists"),
        pytest.param({"matchExpressions": [expression("DoesNotExist")]}, ["none"], id="DoesNotExist"),
        pytest.param({"matchExpressions": [expression("Gt", "7")]}, ["ten"], id="Gt compares numbers"),
        pytest.param({"matchExpressions": [expression("Lt", "10")]}, ["seven"], id="Lt"),
        pytest.param({"matchExpressions": [expression("Gt", "x")]}, [], id="not than a number"),
        pytest.param({"matchExpressions": [expression("Gt", "-1_0")]}, [], id="an integer as Go reads it"),
        pytest.param(
            {"matchExpressions": [expression("Lt", "9223372036854775808")]}, [], id="beyond 64 bits"
        ),
        pytest.param({"matchExpressions": [expression("Is", "7")]}, [], id="unknown operator"),
        pytest.param(
            {"matchExpressions": [expression("Exists"), expression("NotIn", "7")]},
            ["ten", "xl"],
            id="all must hold",
        ),
        pytest.param({}, [], id="nothing required matches nothing"),
        pytest.param({"matchFields": [expression("In", "xl", key="metadata.name")]}, ["xl"], id="name"),
        pytest.param(
            {"matchFields": [expression("NotIn", "xl", key="metadata.name")]},
            ["none", "seven", "ten"],
            id="not the name",
        ),
        pytest.param({"matchFields": [expression("In", "xl", key="spec.x")]}, [], id="another field"),
        pytest.param(
            {"matchFields": [expression("Exists", key="metadata.name")]}, [], id="an operator not for fields"
        ),
    ],
)
def test_matching(term: Manifest, expected: list[str]) -> None:
    sizes = {"none": None, "seven": "7", "ten": "10", "xl": "xl"}
    roster = Roster(
        node_facts(node(name, labels={} if size is None else {"size": size})) for name, size in sizes.items()
    )
    mask = matching(roster, term_of(term))
    assert [roster.names[row] for row in np.flatnonzero(mask)] == expected


def named(*terms: list[str]) -> Manifest:
    """A required affinity with one term for each list, which pins the nodes in it one by one."""
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [expression("In", name, key="metadata.name") for name in names]}
                    for names in terms
                ]
            }
        }
    }


@pytest.mark.parametrize(
    ("affinity", "prefilter", "counts"),
    [
        pytest.param(named(["n1"]), None, {NOT_NAMED: 2}, id="one node"),
        pytest.param(named(["n1"], ["n3"]), None, {NOT_NAMED: 1}, id="one of two"),
        pytest.param(named(["gone"]), None, {NOT_NAMED: 3}, id="a node that is not there"),
        pytest.param(named(["n1", "n2"]), "pod affinity terms conflict", {}, id="two at once"),
        pytest.param(named(["n1", "n2"], ["n3"]), None, {NOT_NAMED: 2}, id="one term is enough"),
        pytest.param(named(["n1"], []), None, {NO_MATCH: 2}, id="a term without names looks at all nodes"),
    ],
)
def test_nodes_by_name(affinity: Manifest, prefilter: str | None, counts: dict[str, int]) -> None:
    room = room_of([node("n1"), node("n2"), node("n3")])
    shape = Cluster([], [], pod("a", affinity=affinity)).shape
    evaluation = evaluate(room, shape)
    assert (evaluation.prefilter, evaluation.counts()) == (prefilter, counts)


def test_a_node_asked_for_by_name() -> None:
    room = room_of([node("n1"), node("n2")])
    shape = msgspec.structs.replace(Cluster([], [], pod("a")).shape, node_name="n2")
    evaluation = evaluate(room, shape)
    assert evaluation.counts() == {"node(s) didn't match the requested node name": 1}
    assert evaluation.feasible.tolist() == [False, True]
    assert evaluation.unresolvable.tolist() == [True, False]


def port(number: int = 80, **fields: Any) -> Manifest:
    return {"containerPort": number, "hostPort": number, **fields}


@pytest.mark.parametrize(
    ("wanted", "taken", "free"),
    [
        pytest.param(port(), port(), False, id="the same"),
        pytest.param(port(), port(81), True, id="another port"),
        pytest.param(port(protocol="UDP"), port(), True, id="another protocol"),
        pytest.param(port(hostIP="10.0.0.1"), port(hostIP="10.0.0.2"), True, id="another address"),
        pytest.param(port(hostIP="10.0.0.1"), port(hostIP="10.0.0.1"), False, id="the same address"),
        pytest.param(port(hostIP="10.0.0.1"), port(), False, id="all addresses are taken"),
        pytest.param(port(), port(hostIP="10.0.0.1"), False, id="all addresses are wanted"),
    ],
)
def test_host_ports(wanted: Manifest, taken: Manifest, free: bool) -> None:
    first, second = pod("a"), pod("b")
    first["spec"]["containers"][0]["ports"] = [taken]
    second["spec"]["containers"][0]["ports"] = [wanted]
    room = room_of([node("n1"), node("n2")], [("n1", first)])
    evaluation = evaluate(room, Cluster([], [], second).shape)
    assert evaluation.feasible.tolist() == [free, True]
    assert not evaluation.unresolvable.any()


def test_the_first_filter_that_refuses_is_heard() -> None:
    taint = {"key": "k", "value": "", "effect": "NoSchedule"}
    nodes = [
        node("n1", cpu="1", memory="1Gi", pods=0),
        node("n2", cpu="1", taints=[taint]),
        node("n3", cpu="1", taints=[taint], unschedulable=True),
        node("n4", cpu="2"),
        node("n5"),
    ]
    room = room_of(nodes, [("n4", pod("b", cpu=1000))])
    evaluation = evaluate(room, Cluster([], [], pod("a", cpu=2000, memory="2Gi")).shape)
    assert evaluation.counts() == {
        "node(s) were unschedulable": 1,
        "node(s) had untolerated taint(s)": 1,
        "Too many pods": 1,
        "Insufficient cpu": 2,
        "Insufficient memory": 1,
    }
    assert evaluation.feasible.tolist() == [False, False, False, False, True]
    assert evaluation.unresolvable.tolist() == [True, True, True, False, False]


def labelled(name: str, **spec: Any) -> Manifest:
    made = pod(name, **spec)
    made["metadata"]["labels"] = {"app": "web"}
    return made


def near(kind: str) -> Manifest:
    """A rule about Pods with the label app=web, host by host."""
    selector = {"matchLabels": {"app": "web"}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


SPREAD = {
    "topologyKey": "absent",
    "maxSkew": 1,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {},
}
PORT = [{"containerPort": 80, "hostPort": 80}]
HOSTED = {"kubernetes.io/hostname": "n1"}


@pytest.mark.parametrize(
    ("plugin", "machine", "bound", "wanted"),
    [
        pytest.param("NodeUnschedulable", node("n1", unschedulable=True), [], pod("a"), id="cordon"),
        pytest.param(
            "TaintToleration",
            node("n1", taints=[{"key": "k", "value": "", "effect": "NoSchedule"}]),
            [],
            pod("a"),
            id="taint",
        ),
        pytest.param("NodeAffinity", node("n1"), [], pod("a", nodeSelector={"disk": "ssd"}), id="selector"),
        pytest.param("NodePorts", node("n1"), [pod("b", ports=PORT)], pod("a", ports=PORT), id="host port"),
        pytest.param("NodeResourcesFit", node("n1", cpu="1"), [], pod("a", cpu=2000), id="cpu"),
        pytest.param("NodeResourcesFit", node("n1", pods=0), [], pod("a"), id="slots"),
        pytest.param("NodeResourcesFit", node("n1"), [], pod("a", gpu=1), id="a resource no node has"),
        pytest.param(
            "PodTopologySpread", node("n1"), [], pod("a", topologySpreadConstraints=[SPREAD]), id="spread"
        ),
        pytest.param(
            "InterPodAffinity",
            node("n1", labels=HOSTED),
            [],
            pod("a", affinity=near("podAffinity")),
            id="far",
        ),
        pytest.param(
            "InterPodAffinity",
            node("n1", labels=HOSTED),
            [labelled("b")],
            pod("a", affinity=near("podAntiAffinity")),
            id="avoided",
        ),
        pytest.param(
            "InterPodAffinity",
            node("n1", labels=HOSTED),
            [pod("b", affinity=near("podAntiAffinity"))],
            labelled("a"),
            id="repelled",
        ),
    ],
)
def test_a_filter_that_is_off_lets_pods_through(
    plugin: str, machine: Manifest, bound: list[Manifest], wanted: Manifest
) -> None:
    on_n1 = [("n1", each) for each in bound]
    cluster = Cluster([machine], on_n1, wanted)
    shape = cluster.shape
    assert not feasible(room_of([machine], on_n1), shape).any()
    others_off = tuple(name for name in FILTERS if name != plugin)
    assert not feasible(room_of([machine], on_n1, Profile(disabled_filters=others_off)), shape).any()

    room = room_of([machine], on_n1, Profile(disabled_filters=(plugin,)))
    assert feasible(room, shape).tolist() == evaluate(room, shape).feasible.tolist() == [True]
    assert fits(room, shape, 0)
    assert place(room, shape, 1) == [0]


def test_a_pod_may_be_elsewhere_than_it_names_without_node_name() -> None:
    shape = msgspec.structs.replace(Cluster([], [], pod("a")).shape, node_name="n2")
    assert not feasible(room_of([node("n1")]), shape).any()
    assert feasible(room_of([node("n1")], profile=Profile(disabled_filters=("NodeName",))), shape).all()


def test_terms_that_contradict_each_other_do_not_matter_without_node_affinity() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n1", "n2")]
    term = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
    shape = Cluster([], [], pod("a", affinity=affinity)).shape
    assert evaluate(room_of([node("n1")]), shape).prefilter is not None
    off = evaluate(room_of([node("n1")], profile=Profile(disabled_filters=("NodeAffinity",))), shape)
    assert (off.prefilter, off.feasible.tolist()) == (None, [True])


def test_pods_that_outgrow_int64_together_are_counted_exactly() -> None:
    """Without NodeResourcesFit a node takes more than it has, as often as it is asked to."""
    room = room_of([node("n1", memory="64Pi")], profile=Profile(disabled_filters=("NodeResourcesFit",)))
    shape = Cluster([], [], pod("a", memory="64Pi")).shape
    assert len(place(room, shape, 200)) == 200
    assert room.used[room.roster.column["memory"]].tolist() == [200 * 2**56]
