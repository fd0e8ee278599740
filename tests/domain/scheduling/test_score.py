import numpy as np
import pytest

from build import node, pod
from clusters import Cluster, Manifest
from domain.scheduling.score import Scores, score
from reference.filters import Host
from reference.scores import balanced_allocation


def scores_of(nodes: list[Manifest], bound: list[tuple[str, Manifest]], wanted: Manifest) -> Scores:
    cluster = Cluster(nodes, bound, wanted)
    return score(cluster.table().for_cycle(), cluster.shape, np.arange(len(nodes)))


def test_two_nodes_by_hand() -> None:
    scores = scores_of(
        [node("n1", cpu="4", memory="16Gi"), node("n2", cpu="8", memory="16Gi")],
        [("n1", pod("b", cpu=1000, memory="2Gi")), ("n2", pod("c", cpu=4000, memory="4Gi"))],
        pod("a", cpu=1000, memory="1Gi"),
    )
    assert scores.node_resources_fit.tolist() == [65, 52]
    assert scores.balanced_allocation.tolist() == [70, 73]
    assert scores.taint_toleration.tolist() == [100, 100]
    assert scores.node_affinity.tolist() == [0, 0]
    assert scores.image_locality.tolist() == [0, 0]
    assert scores.total.tolist() == [435, 425]


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        pytest.param("4", "0", 75, id="only cpu"),
        pytest.param("0", "4Gi", 100, id="only memory"),
        pytest.param("0", "0", 0, id="neither"),
    ],
)
def test_what_a_node_has_none_of_is_left_out(cpu: str, memory: str, expected: int) -> None:
    free = pod("a", cpu="1" if cpu != "0" else "0", memory="0")
    scores = scores_of([node("n1", cpu=cpu, memory=memory)], [], free)
    assert scores.node_resources_fit.tolist() == [expected]


@pytest.mark.parametrize(
    ("cpu", "memory"),
    [
        pytest.param("128", "2Ti", id="products fit, their fifties do not"),
        pytest.param("448", "24Ti", id="products do not fit"),
    ],
)
def test_balance_of_large_machines_is_exact(cpu: str, memory: str) -> None:
    """Utilisations that differ by one byte of imbalance, beyond what floating point tells apart."""
    cores = int(cpu)
    half = int(memory.removesuffix("Ti")) * 2**39
    bound = [(f"n{row}", pod("b", cpu=500 * cores, memory=str(half + row))) for row in range(2)]
    scores = scores_of(
        [node(f"n{row}", cpu=cpu, memory=memory) for row in range(2)], bound, pod("a", memory="1")
    )
    # An imbalance of any size costs a whole point: 0 becomes 1 on n0, on n1 it is 1 already.
    assert scores.balanced_allocation.tolist() == [50 + (50 - 1) // 2, 50 + 50 // 2]


def test_balance_is_exact_where_a_quotient_is_nearly_whole() -> None:
    """Utilisations that differ by k/50 and so little more that floating point may take it for less."""
    cpu, little = 224_000, 8_772_965
    memory = cpu * little + 1
    nodes = [node(f"n{k:02}", cpu=f"{cpu}m", memory=str(memory)) for k in range(50)]
    bound = [(f"n{k:02}", pod("b", cpu=k * cpu // 50 + 1, memory=str(little))) for k in range(50)]
    wanted = pod("a", cpu=1)
    hosts = [Host(node, [pod]) for node, (_, pod) in zip(nodes, bound, strict=True)]
    scores = scores_of(nodes, bound, wanted)
    assert scores.balanced_allocation.tolist() == balanced_allocation(wanted, hosts)


@pytest.mark.parametrize("memory", ["64Pi", "1Ei", "9223372036854775807", "9223372036854775808", "100E"])
def test_shares_of_any_size_are_exact(memory: str) -> None:
    nodes = [node("n1", cpu="4", memory=memory)]
    scores = scores_of(nodes, [], pod("a", cpu=1000, memory="1Gi"))
    assert scores.node_resources_fit.tolist() == [(75 + 99) // 2]
    assert scores.balanced_allocation.tolist() == [50 + (50 - 13) // 2]
