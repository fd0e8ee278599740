"""Rules about other pods: filters, scores and placement are those of the plain reference."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clusters import NEIGHBOURS, Cluster, Manifest, crowded_clusters, the_peer
from domain.profile import Profile
from domain.room import Room
from domain.scheduling.evaluate import evaluate
from domain.scheduling.place import place
from domain.scheduling.score import score
from domain.shapes import PodShape, shape_of
from placing import check_filters, check_scores, hosts_of, place_by_the_rules, place_plainly
from profiles import profiles
from reference.cycle import place as place_all_by_the_rules
from reference.neighbours import score_inter_pod_affinity

MANY = settings(max_examples=4 * settings().max_examples)


def dressed(manifest: Manifest) -> PodShape:
    metadata = manifest["metadata"]
    shape = shape_of(manifest["spec"], metadata["namespace"], metadata["labels"])
    return replace(shape, peer=the_peer(manifest))


def same_findings(one: Room, other: Room, shape: PodShape) -> bool:
    """Whether both rooms look the same to a Pod of `shape`."""
    first, second = evaluate(one, shape), evaluate(other, shape)
    rows = np.flatnonzero(first.feasible)
    return (
        first.counts() == second.counts()
        and np.array_equal(first.feasible, second.feasible)
        and np.array_equal(score(one, shape, rows).total, score(other, shape, rows).total)
    )


@MANY
@given(crowded_clusters())
def test_filters_follow_the_rules(cluster: Cluster) -> None:
    check_filters(cluster)


@MANY
@given(crowded_clusters())
def test_scores_follow_the_rules(cluster: Cluster) -> None:
    check_scores(cluster)


@MANY
@given(crowded_clusters(), st.integers(0, 20))
def test_placing_follows_the_rules(cluster: Cluster, count: int) -> None:
    room = cluster.table().for_cycle()
    rows = place(room, cluster.shape, count)
    assert [room.names[row] for row in rows] == place_by_the_rules(cluster, count)


@given(crowded_clusters(), st.integers(0, 60))
def test_placing_is_the_plain_loop(cluster: Cluster, count: int) -> None:
    table = cluster.table()
    placed = place(table.for_cycle(), cluster.shape, count)
    assert placed == place_plainly(table.for_cycle(), cluster.shape, count)


@MANY
@given(crowded_clusters(), profiles(), st.integers(0, 40))
def test_placing_is_the_plain_loop_by_any_profile(cluster: Cluster, profile: Profile, count: int) -> None:
    table = cluster.table()
    placed = place(table.for_cycle(profile), cluster.shape, count)
    assert placed == place_plainly(table.for_cycle(profile), cluster.shape, count)


@given(crowded_clusters(), st.integers(0, 100))
def test_required_affinity_of_others_counts_by_its_weight(cluster: Cluster, weight: int) -> None:
    room, hosts = cluster.table().for_cycle(Profile(hard_pod_affinity_weight=weight)), hosts_of(cluster)
    scores = score(room, cluster.shape, np.arange(len(room)))
    assert scores.inter_pod_affinity.tolist() == score_inter_pod_affinity(cluster.pod, hosts, hosts, weight)


@MANY
@given(crowded_clusters(), st.lists(st.sampled_from(NEIGHBOURS), min_size=1, max_size=8))
def test_pods_of_many_kinds_see_those_placed_before(cluster: Cluster, pods: list[Manifest]) -> None:
    room = cluster.table().for_cycle()
    found = [room.names[rows[0]] if (rows := place(room, dressed(each), 1)) else None for each in pods]
    assert found == [trial.node for trial in place_all_by_the_rules(pods, hosts_of(cluster))]


@given(crowded_clusters(), st.lists(st.sampled_from(NEIGHBOURS), min_size=1, max_size=6), st.data())
def test_what_is_forgotten_leaves_no_trace(
    cluster: Cluster, pods: list[Manifest], data: st.DataObject
) -> None:
    room, table = cluster.table().for_cycle(), cluster.table()
    placed = [(row, dressed(each)) for each in pods for row in place(room, dressed(each), 2)]
    for row, shape in data.draw(st.permutations(placed)):
        room.forget(row, shape)
    for each in pods:
        assert same_findings(room, table.for_cycle(), dressed(each))
