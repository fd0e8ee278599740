import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import GPU, node, pod
from clusters import NAMES, NODES, PODS, named
from domain.errors import CorruptLog
from domain.node_facts import NodeFacts, node_facts
from domain.nodes import NodeTable
from domain.scheduling.evaluate import feasible
from domain.shapes import PodShape, shape_of

SMALL = shape_of(pod("a", cpu=500, memory="1Gi")["spec"])
LARGE = shape_of(pod("b", cpu=2000, gpu=1)["spec"])
ENDLESS = shape_of(pod("c", memory="100E")["spec"])


def table(*names: str) -> NodeTable:
    made = NodeTable()
    for name in names:
        made.put(node_facts(node(name)))
    return made


def test_what_pods_use_adds_up() -> None:
    nodes = table("n1", "n2")
    for shape in (SMALL, SMALL, LARGE):
        nodes.take("n1", shape)
    assert nodes.used("n1") == {"pods": 3, "cpu": 3000, "memory": 2 * 2**30, GPU: 1}
    nodes.give_back("n1", SMALL)
    assert nodes.used("n1") == {"pods": 2, "cpu": 2500, "memory": 2**30, GPU: 1}
    assert nodes.used("n2") == {"pods": 0, "cpu": 0, "memory": 0}


def test_a_node_that_comes_back_still_has_its_pods() -> None:
    nodes = table("n1")
    nodes.take("n1", SMALL)
    nodes.remove("n1")
    assert "n1" not in nodes
    assert len(nodes.for_cycle()) == 0
    nodes.take("n1", LARGE)
    nodes.put(node_facts(node("n1", gpu=4)))
    room = nodes.for_cycle()
    assert room.free(room.roster.column["cpu"]).tolist() == [5500]
    assert room.free(room.roster.column[GPU]).tolist() == [3]


def test_pods_may_be_there_before_their_node() -> None:
    nodes = table()
    nodes.take("n1", SMALL)
    nodes.put(node_facts(node("n1")))
    assert nodes.for_cycle().free(0).tolist() == [109]


def test_rows_are_in_the_order_of_names() -> None:
    assert table("n10", "n2", "n1").for_cycle().names == ["n1", "n10", "n2"]


@pytest.mark.parametrize("taken", [pytest.param([], id="nothing"), pytest.param([SMALL], id="another shape")])
def test_nothing_can_be_given_back_that_is_not_there(taken: list[PodShape]) -> None:
    nodes = table("n1")
    for shape in taken:
        nodes.take("n1", shape)
    with pytest.raises(CorruptLog, match="no Pod of this shape is on node 'n1'"):
        nodes.give_back("n1", LARGE)


def test_a_copy_is_independent() -> None:
    nodes = table("n1")
    nodes.take("n1", SMALL)
    copy = nodes.copy()
    copy.take("n1", SMALL)
    copy.remove("n1")
    assert nodes.used("n1")["pods"] == 1
    assert nodes.names() == ["n1"]
    assert nodes.for_cycle().free(0).tolist() == [109]


CHANGES = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), st.sampled_from(NODES[False] + NODES[True])),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
    st.tuples(
        st.just("take"),
        st.sampled_from(NAMES),
        st.sampled_from([*PODS[False][:8], pod("endless", memory="100E")]),
    ),
    st.tuples(st.just("give back"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("look"), st.none(), st.none()),
)


@given(st.lists(CHANGES, max_size=40))
def test_columns_that_were_kept_up_to_date_are_those_made_anew(changes: list[tuple[str, str, dict]]) -> None:
    nodes = NodeTable()
    for change, name, manifest in changes:
        match change:
            case "put":
                nodes.put(node_facts(named(manifest, name)))
            case "remove" if name in nodes:
                nodes.remove(name)
            case "take":
                nodes.take(name, shape_of(manifest["spec"]))
            case "give back" if nodes.pods(name):
                nodes.give_back(name, next(iter(nodes.pods(name))))
            case "look":
                nodes.for_cycle()
    kept, anew = nodes.for_cycle(), again(nodes).for_cycle()
    assert kept.names == anew.names
    assert kept.roster.resources == anew.roster.resources
    assert np.array_equal(kept.allocatable, anew.allocatable)
    assert np.array_equal(kept.used, anew.used)
    for wanted in PODS[False][:30]:
        shape = shape_of(wanted["spec"])
        assert np.array_equal(feasible(kept, shape), feasible(anew, shape))


def again(nodes: NodeTable) -> NodeTable:
    """A table that is told what `nodes` came to know, in another order."""
    made = NodeTable()
    for name in NAMES:
        for shape, count in nodes.pods(name).items():
            for _ in range(count):
                made.take(name, shape)
    for name in reversed(nodes.names()):
        made.put(nodes.facts(name))
    return made


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        pytest.param(
            {
                "metadata": {"name": "n1", "labels": {"b": "2", "a": "1"}},
                "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
                "status": {
                    "allocatable": {"pods": "110", "cpu": "1500m", "memory": "1Ki"},
                    "images": [{"names": ["b", "a"], "sizeBytes": 5}, {"names": None}],
                },
            },
            '["n1",{"a":"1","b":"2"},{"cpu":1500,"memory":1024,"pods":110},[["k","","NoSchedule"]],true,{"a":5,"b":5}]',
            id="all of it, in an order of its own",
        ),
        pytest.param({"metadata": {"name": "n1"}}, '["n1",{},{},[],false,{}]', id="nothing but a name"),
        pytest.param(
            {"metadata": {"name": "n1"}, "status": {"allocatable": {"memory": "16Ei"}}},
            '["n1",{},{"memory":"18446744073709551616"},[],false,{}]',
            id="more than 64 bits",
        ),
    ],
)
def test_node_facts(manifest: dict, expected: str) -> None:
    facts = node_facts(manifest)
    assert msgspec.json.encode(facts).decode() == expected
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(facts), type=NodeFacts) == facts


def test_a_pod_larger_than_64_bits_can_be_on_a_node() -> None:
    nodes = table("n1", "n2")
    nodes.take("n1", ENDLESS)
    room = nodes.for_cycle()
    memory = room.roster.column["memory"]
    assert room.free(memory).tolist() == [32 * 2**30 - 10**20, 32 * 2**30]
    assert feasible(room, SMALL).tolist() == [False, True]
    assert feasible(room, ENDLESS).tolist() == [False, False]
