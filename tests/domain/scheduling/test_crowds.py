"""Rules about other pods: filters, scores and placement are those of the plain reference."""

from dataclasses import replace
from itertools import compress

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from clusters import LIVING, NAMES, NEIGHBOURS, Cluster, Manifest, crowded_clusters, the_peer
from domain.profile import Profile
from domain.room import Room
from domain.scheduling.evaluate import evaluate, feasible, fits
from domain.scheduling.place import place
from domain.scheduling.score import score
from domain.shapes import PodShape, shape_of
from ganger_testing.profiles import profiles
from placing import check_filters, check_scores, hosts_of, place_by_the_rules, place_plainly
from reference.filters import OTHER_NODE, Refusal, pinned_nodes
from reference.neighbours import score_inter_pod_affinity
from reference.trials import place as place_all_by_the_rules
from reference.trials import refuse_among

MANY = settings(max_examples=4 * settings().max_examples)


def dressed(manifest: Manifest) -> PodShape:
    metadata = manifest["metadata"]
    shape = shape_of(manifest["spec"], metadata["namespace"], metadata["labels"])
    return structs.replace(shape, peer=the_peer(manifest))


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
@given(crowded_clusters(), st.lists(st.sampled_from(LIVING), min_size=1, max_size=8))
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


@MANY
@given(crowded_clusters(), st.lists(st.sampled_from(NEIGHBOURS), min_size=1, max_size=4), st.data())
def test_who_is_taken_out_of_the_crowd_leaves_no_trace(
    cluster: Cluster, pods: list[Manifest], data: st.DataObject
) -> None:
    """Whether rules were looked at before it happened or are looked at afterwards only."""
    size = len(cluster.bound)
    leaves = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    room = cluster.table().for_cycle()
    for each in pods[::2]:
        evaluate(room, dressed(each))
    for name, taken in compress(cluster.bound, leaves):
        if name in room.roster.row:
            room.forget_all({room.roster.row[name]: 1}, dressed(taken))
    cluster.bound = [one for one, left in zip(cluster.bound, leaves, strict=True) if not left]
    for each in pods:
        assert same_findings(room, cluster.table().for_cycle(), dressed(each))


@MANY
@given(
    crowded_clusters(),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NEIGHBOURS)), min_size=1, max_size=5),
)
def test_nodes_must_pass_with_the_pods_that_are_expected_there_and_without(
    cluster: Cluster, expected: list[tuple[str, Manifest]]
) -> None:
    room, shape, hosts = cluster.table().for_cycle(), dressed(cluster.pod), hosts_of(cluster)
    for name, each in expected:
        if name in room.roster.row:
            room.reserve(room.roster.row[name], dressed(each))
    evaluation = evaluate(room, shape)
    assume(evaluation.prefilter is None)
    assert np.array_equal(feasible(room, shape), evaluation.feasible)
    for row, host in enumerate(hosts):
        beside = replace(host, pods=host.pods + [each for name, each in expected if name == host.name])
        with_them = [beside if each is host else each for each in hosts]
        refusal = refuse_among(cluster.pod, beside, with_them) or refuse_among(cluster.pod, host, hosts)
        pinned = pinned_nodes(cluster.pod)
        if pinned is not None and host.name not in pinned:
            refusal = Refusal((OTHER_NODE,), hopeless=True)
        said = {
            reason
            for verdict in evaluation.verdicts
            for reason, nodes in verdict.reasons.items()
            if nodes[row]
        }
        assert said == set(refusal.reasons if refusal else ())
        assert evaluation.unresolvable[row] == (refusal is not None and refusal.hopeless)
        assert evaluation.feasible[row] == (refusal is None) == fits(room, shape, row)


@given(
    crowded_clusters(),
    st.integers(1, 20),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NEIGHBOURS)), min_size=1, max_size=5),
)
def test_placing_beside_expected_pods_is_the_plain_loop(
    cluster: Cluster, count: int, expected: list[tuple[str, Manifest]]
) -> None:
    rooms = [cluster.table().for_cycle() for _ in range(2)]
    for room in rooms:
        for name, each in expected:
            if name in room.roster.row:
                room.reserve(room.roster.row[name], dressed(each))
    shape = dressed(cluster.pod)
    assert place(rooms[0], shape, count) == place_plainly(rooms[1], shape, count)
