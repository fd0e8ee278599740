"""What is called infeasible has no placement, and what is called missed has one: trees, domains, rules.

Held against every way to give each Pod a node or none, in every order where rules are in play.
"""

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from build import Manifest, Story, composite, group, node, pod
from domain.explaining.feasibility import INFEASIBLE, feasibility
from domain.forest import Tree
from domain.objects import POD_GROUP, Pod
from domain.scheduling.evaluate import fits
from domain.scheduling.preemption import room_for
from domain.scheduling.rules import rules_in_play, shaped
from domain.shapes import PodShape
from domain.state import State
from trees import leaf, within

APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "rack"}
        ]
    }
}
NEAR = {"podAffinity": APART["podAntiAffinity"]}

Where = dict[str, str]
"""The node of each Pod that has one, by key."""


def _nodes(draw: st.DrawFn) -> list[Manifest]:
    labels = st.sampled_from([{}, {"rack": "a"}, {"rack": "b"}])
    sizes = st.sampled_from(["1", "2", "3"])
    return [
        node(f"n{number}", cpu=draw(sizes), labels=draw(labels)) for number in range(draw(st.integers(1, 3)))
    ]


@st.composite
def gangs(draw: st.DrawFn) -> list[Manifest]:
    """One gang, with a constraint or with Pods that have rules."""
    size = draw(st.integers(1, 4))
    constraint = draw(st.sampled_from([{}, within("rack")]))
    rules: list[Mapping[str, Any]] = [{}] if constraint else [{}, {"affinity": APART}, {"affinity": NEAR}]
    pods = []
    for number in range(size):
        made = pod(
            f"g-{number}", cpu=draw(st.sampled_from([1000, 2000])), group="g", **draw(st.sampled_from(rules))
        )
        made["metadata"]["labels"] = draw(st.sampled_from([{}, {"app": "a"}]))
        pods.append(made)
    return [*_nodes(draw), group("g", draw(st.integers(1, size)), **constraint), *pods]


@st.composite
def forests(draw: st.DrawFn) -> list[Manifest]:
    """A composite with two PodGroups, each with or without a constraint."""
    constraints = st.sampled_from([{}, within("rack")])
    made = [*_nodes(draw), composite("top", draw(st.integers(1, 2)), **draw(constraints))]
    for name in ("a", "b"):
        cpus = draw(st.lists(st.sampled_from([1, 2]), min_size=1, max_size=2))
        made += leaf(name, draw(st.integers(1, len(cpus))), cpus, parent="top", **draw(constraints))
    return made


def placements(state: State, pods: list[Pod]) -> Iterator[Where]:
    """Every way in which some of `pods` can be on nodes together."""
    room = room_for(state, 0, pods)
    members = shaped(state, pods)
    rules = rules_in_play(state, pods)
    for rows in product((None, *range(len(room))), repeat=len(pods)):
        chosen = [
            (pod, shape, row) for (pod, shape), row in zip(members, rows, strict=True) if row is not None
        ]
        orders = permutations(chosen) if rules else [tuple(chosen)]
        if any(_fit(room, order) for order in orders):
            yield {pod.key: room.names[row] for pod, _, row in chosen}


def _fit(room: Any, order: tuple[tuple[Pod, PodShape, int], ...]) -> bool:
    put = []
    for _, shape, row in order:
        if not fits(room, shape, row):
            break
        room.assume(row, shape)
        put.append((row, shape))
    for row, shape in reversed(put):
        room.forget(row, shape)
    return len(put) == len(order)


def starts(state: State, tree: Tree, where: Where) -> bool:
    """Whether the groups of `tree` have their minimum, each within one domain, if Pods are `where`."""
    below = {
        name
        for key, name in where.items()
        if state.pods[key].group in {each.group.key for each in tree.leaves()}
    }
    key = tree.group.topology_key
    if key is not None and len({state.nodes.facts(name).labels.get(key, name) for name in below}) > 1:
        return False
    if key is not None and any(key not in state.nodes.facts(name).labels for name in below):
        return False
    if tree.group.kind == POD_GROUP:
        return sum(state.pods[pod].group == tree.group.key for pod in where) >= tree.group.min_count
    return sum(starts(state, child, where) for child in tree.children) >= tree.group.min_count


def check(objects: list[Manifest]) -> None:
    state = Story(*objects).state
    (entity,) = state.queue.entities.values()
    if entity.hold is not None:
        return
    tree, pods = state.tree_of(entity), list(state.pending_of(entity))
    shown = feasibility(state, entity)
    event(shown.proof)
    if shown.missed:
        event("missed")
        where = {f"default/{spot.pod}": spot.node for spot in shown.missed}
        assert starts(state, tree, where)
        assert where in list(placements(state, pods))
    if shown.proof == INFEASIBLE:
        assert not any(starts(state, tree, where) for where in placements(state, pods)), shown.by


@given(gangs())
def test_of_gangs(objects: list[Manifest]) -> None:
    check(objects)


@given(forests())
def test_of_trees(objects: list[Manifest]) -> None:
    check(objects)


def test_a_placement_that_the_scheduler_missed_is_shown() -> None:
    """The small Pod takes the better-scored large node, and the large one fits nowhere any more."""
    story = Story(node("big", cpu="4"), node("small", cpu="1"), group("g", 2))
    story.add(pod("g-0", cpu=1000, group="g"), pod("g-1", cpu=4000, group="g")).decide()
    told = story.why("PodGroup/default/g")
    assert told.proof == "notFound"
    assert {(spot.pod, spot.node) for spot in told.missed} == {("g-0", "small"), ("g-1", "big")}
