from build import GPU, node, pod
from clusters import Cluster
from domain.events import NodeReason, ResourceFinding
from domain.scheduling.diagnosis import diagnose

TAINT = {"key": "k", "value": "", "effect": "NoSchedule"}


def test_a_shape_that_fits_nowhere() -> None:
    cluster = Cluster(
        [
            *(node(f"n{number}", gpu=4) for number in range(4)),
            node("n4", gpu=8),
            node("n5", gpu=8, taints=[TAINT]),
            node("n6"),
        ],
        [("n4", pod("b", gpu=3))],
        pod("a", cpu=1000, gpu=8),
    )
    diagnosis = diagnose(cluster.table().for_cycle(), cluster.shape)
    assert diagnosis.message == (
        f"0/7 nodes are available: 1 node(s) had untolerated taint(s), 6 Insufficient {GPU}."
    )
    assert diagnosis.nodes == (
        NodeReason(
            count=1,
            examples=("n5",),
            filter="TaintToleration",
            preemption_may_help=False,
            reason="node(s) had untolerated taint(s)",
        ),
        NodeReason(
            count=6,
            examples=("n0", "n1", "n2"),
            filter="NodeResourcesFit",
            preemption_may_help=True,
            reason=f"Insufficient {GPU}",
        ),
    )
    assert diagnosis.requests == (("cpu", 1000), (GPU, 8))
    assert diagnosis.resources == (
        ResourceFinding(asked=1000, free_in_cluster=56000, free_on_best_node=8000, name="cpu"),
        ResourceFinding(asked=8, free_in_cluster=29, free_on_best_node=8, name=GPU),
    )
    assert diagnosis.total == 7
    assert diagnosis.resolvable == {"n4"}


def test_a_resource_that_no_node_has() -> None:
    cluster = Cluster([node("n1")], [], pod("a", gpu=1))
    diagnosis = diagnose(cluster.table().for_cycle(), cluster.shape)
    assert diagnosis.message == f"0/1 nodes are available: 1 Insufficient {GPU}."
    assert diagnosis.resources == (
        ResourceFinding(asked=1, free_in_cluster=0, free_on_best_node=0, name=GPU),
    )
    assert diagnosis.resolvable == set()


def test_more_in_use_than_there_is_leaves_nothing() -> None:
    cluster = Cluster(
        [node("n1", cpu="2"), node("n2", cpu="1")], [("n2", pod("b", cpu=5000))], pod("a", cpu=3000)
    )
    diagnosis = diagnose(cluster.table().for_cycle(), cluster.shape)
    assert diagnosis.resources[0].free_in_cluster == 2000


def test_no_nodes() -> None:
    cluster = Cluster([], [], pod("a", cpu=1))
    diagnosis = diagnose(cluster.table().for_cycle(), cluster.shape)
    assert (diagnosis.message, diagnosis.total) == ("no nodes available to schedule pods", 0)


def test_terms_that_contradict_each_other() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n1", "n2")]
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}
        }
    }
    cluster = Cluster([node("n1"), node("n2")], [], pod("a", affinity=affinity))
    diagnosis = diagnose(cluster.table().for_cycle(), cluster.shape)
    assert diagnosis.message == "0/2 nodes are available: pod affinity terms conflict."
    assert (diagnosis.nodes, diagnosis.resolvable) == ((), frozenset())
