import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import node, pod
from clusters import ZONE, Cluster, Manifest, clusters
from domain.profile import DEFAULT_PROFILE, CurvePoint, Profile, ScoredResource, Weights
from domain.scheduling.score import Scores, by_resources, by_resources_at, score
from ganger_testing.profiles import profiles
from placing import hosts_of
from reference.filters import Host
from reference.scores import balanced_allocation, by_strategy, image_locality


def scores_of(
    nodes: list[Manifest],
    bound: list[tuple[str, Manifest]],
    wanted: Manifest,
    profile: Profile = DEFAULT_PROFILE,
) -> Scores:
    cluster = Cluster(nodes, bound, wanted)
    return score(cluster.table().for_cycle(profile), cluster.shape, np.arange(len(nodes)))


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


@given(clusters())
def test_images_on_nodes_outside_of_a_placement_count(cluster: Cluster) -> None:
    room, hosts = cluster.table().for_cycle(), hosts_of(cluster)
    for number, zone in enumerate(room.roster.domains(ZONE).names):
        inside = room.within(ZONE, number)
        there = [host for host in hosts if host.labels.get(ZONE) == zone]
        scores = score(inside, cluster.shape, np.arange(len(inside)))
        assert scores.image_locality.tolist() == image_locality(cluster.pod, there, hosts)


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


def curve(*points: tuple[int, int]) -> tuple[CurvePoint, ...]:
    return tuple(CurvePoint(utilization=utilization, score=score) for utilization, score in points)


RATIO = "RequestedToCapacityRatio"
CPU_3_GPU_1 = (ScoredResource("cpu", 3), ScoredResource("nvidia.com/gpu", 1))


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        # Full with the Pod: n1 2000/4000 cpu = 50 %, 3/16 memory = 18 %, 6/8 gpu = 75 %;
        #                    n2 5000/8000 cpu = 62 %, 5/16 memory = 31 %, no gpu.
        pytest.param(Profile(strategy="MostAllocated"), [(50 + 18) // 2, (62 + 31) // 2], id="most"),
        pytest.param(
            Profile(strategy="MostAllocated", resources=CPU_3_GPU_1),
            [(3 * 50 + 75) // 4, 62],
            id="most, of cpu and gpu: none of it on n2",
        ),
        pytest.param(
            Profile(resources=CPU_3_GPU_1), [(3 * 50 + 25) // 4, 37], id="least, of cpu and gpu"
        ),
        pytest.param(
            Profile(strategy=RATIO, curve=curve((0, 0), (100, 10))),
            [34, 47],
            id="ratio, rising: the mean of 62 and 31 is rounded, not cut",
        ),
        pytest.param(
            Profile(strategy=RATIO, curve=curve((0, 10), (100, 0))),
            [(50 + 82) // 2, (38 + 69 + 1) // 2],
            id="ratio, falling",
        ),
        pytest.param(
            Profile(strategy=RATIO, curve=curve((20, 0), (53, 10), (60, 3)), resources=CPU_3_GPU_1),
            # 50 %: 100 × 30 / 33 = 90; 75 % and 62 %: beyond the last point 30
            [(3 * 90 + 30 + 2) // 4, 30],
            id="ratio, a peak",
        ),
        pytest.param(
            Profile(strategy=RATIO, curve=curve((20, 0), (60, 10))),
            # memory of n1 scores 0 and is left out; n2: 100 and 27 (100 × 11 / 40 = 27.5)
            [75, (100 + 27 + 1) // 2],
            id="ratio, what scores 0 is left out of the mean",
        ),
        pytest.param(
            Profile(strategy=RATIO, curve=curve((0, 10), (53, 0), (100, 0)), resources=CPU_3_GPU_1[:1]),
            [100 - 100 * 50 // 53, 0],
            id="ratio, a fall is cut toward zero",
        ),
        pytest.param(
            Profile(strategy="MostAllocated", resources=(ScoredResource("pods"), ScoredResource("a.b/c"))),
            [0, 0],
            id="nothing that is scored",
        ),
    ],
)  # fmt: skip
def test_strategies_by_hand(profile: Profile, expected: list[int]) -> None:
    scores = scores_of(
        [node("n1", cpu="4", memory="16Gi", gpu=8), node("n2", cpu="8", memory="16Gi")],
        [("n1", pod("b", cpu=1000, memory="2Gi", gpu=4)), ("n2", pod("c", cpu=4000, memory="4Gi"))],
        pod("a", cpu=1000, memory="1Gi", gpu=2),
        profile,
    )
    assert scores.node_resources_fit.tolist() == expected


def test_an_extended_resource_is_scored_for_pods_that_ask_for_it() -> None:
    machines = [node("n1", gpu=8), node("n2", gpu=8)]
    bound = [("n1", pod("b", gpu=4))]
    only_gpu = Profile(strategy="MostAllocated", resources=(ScoredResource("nvidia.com/gpu"),))
    assert scores_of(machines, bound, pod("a", gpu=2), only_gpu).node_resources_fit.tolist() == [75, 25]
    assert scores_of(machines, bound, pod("a"), only_gpu).node_resources_fit.tolist() == [0, 0]


def test_weights_make_the_total() -> None:
    scores = scores_of(
        [node("n1", cpu="4", memory="16Gi"), node("n2", cpu="8", memory="16Gi")],
        [("n1", pod("b", cpu=1000, memory="2Gi")), ("n2", pod("c", cpu=4000, memory="4Gi"))],
        pod("a", cpu=1000, memory="1Gi"),
        Profile(weights=Weights(node_resources_fit=5, balanced_allocation=0, taint_toleration=1)),
    )
    assert scores.total.tolist() == [5 * 65 + 100, 5 * 52 + 100]


@given(clusters(), profiles())
def test_strategies_follow_the_rules(cluster: Cluster, profile: Profile) -> None:
    check_strategy(cluster, profile)


@given(clusters(huge=True), profiles())
def test_strategies_follow_the_rules_beyond_64_bits(cluster: Cluster, profile: Profile) -> None:
    check_strategy(cluster, profile)


def check_strategy(cluster: Cluster, profile: Profile) -> None:
    scores = scores_of(cluster.nodes, cluster.bound, cluster.pod, profile)
    assert scores.node_resources_fit.tolist() == by_strategy(
        cluster.pod,
        hosts_of(cluster),
        profile.strategy,
        [(resource.name, resource.weight) for resource in profile.resources],
        [(point.utilization, point.score) for point in profile.curve],
    )


@given(st.booleans(), profiles(), st.data())
def test_one_node_is_looked_at_as_all_are(huge: bool, profile: Profile, data: st.DataObject) -> None:
    """Also where room is kept for others: numbers one by one say what columns say."""
    cluster = data.draw(clusters(huge=huge), "cluster")
    room, shape = cluster.table().for_cycle(profile), cluster.shape
    rows = range(len(room))
    for row in data.draw(st.lists(st.sampled_from(rows), max_size=4), "kept") if rows else ():
        room.reserve(row, shape)
    assert [by_resources_at(room, shape, row) for row in rows] == by_resources(room, shape).tolist()
    capacity = room.capacity(shape, slice(None), 3).tolist()
    assert [room.capacity_at(shape, row, 3) for row in rows] == capacity
