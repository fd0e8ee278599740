"""Hypothesis strategies: objects of a small crowded cluster, what happens to it, and logs of that.

The cluster is small on purpose: a few names, little room, so that things get in each other's way.
`actions()` are for anything that can be asked as a cluster is (`Target`); `books()` are clusters that
some were done to, with decisions and what nodes did in between, and `logs()` the events of such.
"""

from collections.abc import Sequence
from itertools import chain
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from domain.events import Event
from domain.times import SECOND
from ganger_testing.actions import TOLERATION, Action, Apply, Change, Configure, Delete, Wait, perform
from ganger_testing.book import Book
from ganger_testing.manifests import (
    Manifest,
    budget,
    composite,
    group,
    key_of,
    node,
    pod,
    priority_class,
)
from ganger_testing.profiles import configurations

T = TypeVar("T")

NODES = ("n0", "n1", "n2", "n3")
GROUPS = ("g0", "g1", "g2")
MEMBERS = {name: tuple(f"{name}-{number}" for number in range(5)) for name in GROUPS}
SINGLES = ("s0", "s1", "s2", "s3")
PODS = (*SINGLES, *(name for names in MEMBERS.values() for name in names))
HIGH_GROUP = "g2"
"""Its members mostly have its priority, which is higher than that of others."""
PARENTS = ("c0", "c1", "c2", "c3")
HIGH_PARENT = PARENTS[-1]
"""The parent that has the priority of the Pods of HIGH_GROUP."""
BUDGETS = ("b0", "b1")
DEDICATED = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
DISLIKED = {"key": "old", "value": "", "effect": "PreferNoSchedule"}
FINALIZER = "example.com/held"
ZONE = "topology.kubernetes.io/zone"


CLASSES = (priority_class("high", 100), priority_class("calm", 100, "Never"))


def _node(random: Random) -> Manifest:
    return node(
        random.choice(NODES),
        cpu=random.choice(["1", "2", "4"]),
        gpu=random.choice([None, 1, 2]),
        pods=random.choice([2, 110, 110]),
        labels={ZONE: random.choice("ab")},
        taints=random.choice([[], [], [], [DEDICATED], [DISLIKED]]),
        unschedulable=random.random() < 0.1,
    )


def _group(random: Random) -> Manifest:
    name = random.choice(GROUPS)
    spec: Manifest = {}
    if name == HIGH_GROUP:
        spec["priorityClassName"] = random.choice(["high", "high", "calm"])
    if name != GROUPS[0] and random.random() < 0.7:
        above = HIGH_PARENT if name == HIGH_GROUP else random.choice(PARENTS)
        spec["parentCompositePodGroupName"] = above
        spec["workloadRef"] = {"workloadName": "job", "templateName": "leaf"}
    return group(name, random.choice([None, 1, 2, 2, 3, 3, 4]), **spec, **_bounds(random))


def _composite(random: Random) -> Manifest:
    name = random.choice(PARENTS)
    spec: Manifest = {}
    if name == HIGH_PARENT:
        spec["priorityClassName"] = random.choice(["high", "high", "calm"])
    elif name != PARENTS[0] and random.random() < 0.7:
        spec["parentCompositePodGroupName"] = random.choice(PARENTS[:-1])
    return composite(name, random.choice([None, 1, 1, 2]), **spec, **_bounds(random))


def _bounds(random: Random) -> Manifest:
    """Where the Pods of a group may be, and whether they are evicted together."""
    bounds: Manifest = {}
    if random.random() < 0.2:
        bounds["schedulingConstraints"] = {"topology": [{"key": ZONE}]}
    if random.random() < 0.3:
        bounds["disruptionMode"] = {"all": {}}
    return bounds


def _budget(random: Random) -> Manifest:
    kept: Manifest = {"minAvailable": random.choice([1, 2, "50%"])}
    return budget(random.choice(BUDGETS), labels={"app": "a"}, **kept)


def _pod(random: Random, name: str) -> Manifest:
    joined = name.partition("-")[0] if "-" in name else None
    spec: Manifest = {}
    if random.random() < (0.9 if joined == HIGH_GROUP else 0.05):
        spec["priorityClassName"] = "high"
    if random.random() < 0.2:
        spec["tolerations"] = [TOLERATION]
    if random.random() < 0.1:
        spec["nodeSelector"] = {ZONE: random.choice("ab")}
    if random.random() < 0.04:
        spec["schedulerName"] = "other-scheduler"
    if random.random() < 0.3:
        spec["terminationGracePeriodSeconds"] = random.choice([0, 5])
    made = pod(
        name,
        cpu=random.choice(["500m", "1", "1", "2"]),
        gpu=random.choice([None, None, None, 1]),
        group=joined,
        node=random.choice([*NODES, "lost"]) if random.random() < 0.05 else None,
        annotations={"ganger.dev/run-seconds": random.choice(["3", "60"])} if random.random() < 0.3 else None,
        **spec,
    )
    if random.random() < 0.3:
        made["metadata"]["labels"] = {"app": "a"}
    if random.random() < 0.06 and "nodeName" not in made["spec"]:
        made["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    if random.random() < 0.06:
        made["metadata"]["finalizers"] = [FINALIZER]
    if random.random() < 0.1:
        made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    return made


def _gang(random: Random) -> tuple[Manifest, ...]:
    """A group and some of its Pods, alike or each of its own kind."""
    made = _group(random)
    names = MEMBERS[made["metadata"]["name"]]
    seed = random.randrange(1000)
    alike = random.random() < 0.6
    pods = [
        _pod(Random(seed if alike else seed + number), name)
        for number, name in enumerate(random.sample(names, random.randint(1, len(names))))
    ]
    return tuple(random.choice([[made, *pods], [*pods, made], pods, [made, *pods]]))


def _tree(random: Random) -> tuple[Manifest, ...]:
    """Composites, and a group or two with Pods, which are likely to be below them."""
    above = [_composite(random) for _ in range(random.randint(1, 2))]
    below = [each for _ in range(random.randint(1, 2)) for each in _gang(random)]
    unique = {(each["kind"], each["metadata"]["name"]): each for each in [*above, *below]}
    return tuple(unique.values())


# Drawn once, so that Hypothesis picks among them and what fails shrinks to few of them.
SOME_NODES = [_node(Random(seed)) for seed in range(60)]
SOME_GROUPS = [_group(Random(seed)) for seed in range(40)]
SOME_PODS = [_pod(Random(seed), PODS[seed % len(PODS)]) for seed in range(400)]
SOME_GANGS = [_gang(Random(seed)) for seed in range(200)]
SOME_COMPOSITES = [_composite(Random(seed)) for seed in range(60)]
SOME_TREES = [_tree(Random(seed)) for seed in range(200)]
SOME_BUDGETS = [_budget(Random(seed)) for seed in range(20)]


def _among(values: Sequence[T]) -> st.SearchStrategy[T]:
    """One of `values`, without all of them in the strategy's own description."""
    return st.integers(0, len(values) - 1).map(lambda index: values[index])


# Made once: Hypothesis takes longer to look over new strategies than to draw from them.
_POD_KEYS = st.sampled_from([f"default/{name}" for name in PODS])
_GROUP_KEYS = st.sampled_from([f"default/{name}" for name in GROUPS])
_NODE_MANIFESTS = _among(SOME_NODES)
_POD_MANIFESTS = _among(SOME_PODS)
_ACTIONS: tuple[st.SearchStrategy[Action], ...] = (
    *[st.builds(Apply, _among(SOME_GANGS)) for _ in range(3)],
    *[st.builds(Apply, _among(SOME_TREES)) for _ in range(3)],
    st.builds(Apply, st.tuples(_among(SOME_COMPOSITES))),
    st.builds(Apply, st.tuples(_among(SOME_BUDGETS))),
    st.builds(Apply, st.lists(_POD_MANIFESTS, min_size=1, max_size=3, unique_by=key_of).map(tuple)),
    *[st.builds(Apply, st.tuples(_NODE_MANIFESTS)) for _ in range(3)],
    st.builds(Apply, st.tuples(_among(SOME_GROUPS))),
    st.builds(Delete, st.just("Pod"), _POD_KEYS, st.sampled_from([None, None, 0])),
    st.builds(Delete, st.just("Node"), st.sampled_from(NODES)),
    st.builds(Delete, st.just("PodGroup"), _GROUP_KEYS),
    st.builds(Delete, st.just("CompositePodGroup"), _among([f"default/{name}" for name in PARENTS])),
    st.builds(Delete, st.just("PodDisruptionBudget"), _among([f"default/{name}" for name in BUDGETS])),
    st.builds(Change, st.just("PodGroup"), _GROUP_KEYS, st.just("minCount"), st.integers(1, 5)),
    st.builds(Change, st.just("Pod"), _POD_KEYS, st.sampled_from(["ungate", "tolerate", "release"])),
    st.builds(Change, st.just("Pod"), _POD_KEYS, st.just("phase"), st.sampled_from(["Failed", "Succeeded"])),
)
_WAITS = st.builds(
    Wait, st.sampled_from([0, 0, 1, 400, 1000, 2500, 60_000]), st.sampled_from([0, 1, 1, 2, 50])
)
_SOME_ACTIONS = st.one_of(*_ACTIONS)
_ANY_ACTIONS = st.one_of(*_ACTIONS, st.builds(Configure, configurations()))


def node_manifests() -> st.SearchStrategy[Manifest]:
    """Nodes of four names."""
    return _NODE_MANIFESTS


def pod_manifests() -> st.SearchStrategy[Manifest]:
    """Pods of a few names, most of them members of a group."""
    return _POD_MANIFESTS


def gangs() -> st.SearchStrategy[tuple[Manifest, ...]]:
    """Groups with their Pods: the group first, last or missing."""
    return _among(SOME_GANGS)


def trees() -> st.SearchStrategy[tuple[Manifest, ...]]:
    """CompositePodGroups with PodGroups and Pods, most of them below one of them."""
    return _among(SOME_TREES)


def priority_classes() -> st.SearchStrategy[Manifest]:
    """The two PriorityClasses that are there from the start: `high`, and `calm`, which preempts nobody."""
    return st.sampled_from(CLASSES)


def budgets() -> st.SearchStrategy[Manifest]:
    """PodDisruptionBudgets over some of the Pods."""
    return _among(SOME_BUDGETS)


def clusters() -> st.SearchStrategy[tuple[Manifest, ...]]:
    """What one finds: PriorityClasses, nodes, groups, trees, Pods and budgets, each name once."""
    parts = st.tuples(
        st.lists(_NODE_MANIFESTS, min_size=1, max_size=4),
        st.lists(gangs(), max_size=3).map(chain.from_iterable),
        st.lists(trees(), max_size=2).map(chain.from_iterable),
        st.lists(_POD_MANIFESTS, max_size=3),
        st.lists(budgets(), max_size=2),
    )
    return parts.map(lambda drawn: _each_once([*CLASSES, *chain.from_iterable(drawn)]))


def _each_once(manifests: Sequence[Manifest]) -> tuple[Manifest, ...]:
    return tuple({(each["kind"], key_of(each)): each for each in reversed(manifests)}.values())[::-1]


def actions() -> st.SearchStrategy[Action]:
    """Nodes, groups, trees, budgets and Pods come, change and go; some of it will be refused."""
    return _SOME_ACTIONS


def any_actions() -> st.SearchStrategy[Action]:
    """As `actions()`, and the scheduler is configured."""
    return _ANY_ACTIONS


def waits() -> st.SearchStrategy[Wait]:
    """From no time to a minute, and from no cycle to all that are due."""
    return _WAITS


def books(
    *, min_size: int = 0, max_size: int = 40, asked: st.SearchStrategy[Action] = _ANY_ACTIONS
) -> st.SearchStrategy[Book]:
    """Clusters to which something has happened: from `min_size` to `max_size` times something `asked`,
    or time that passes with what nodes and the scheduler do in it."""
    return st.builds(
        _book,
        st.lists(_NODE_MANIFESTS, max_size=4, unique_by=key_of),
        st.lists(st.one_of(asked, asked, _WAITS), min_size=min_size, max_size=max_size),
    )


def logs(
    *, min_size: int = 0, max_size: int = 40, asked: st.SearchStrategy[Action] = _ANY_ACTIONS
) -> st.SearchStrategy[list[Event]]:
    """The event logs of such clusters, valid from the first event to the last."""
    return books(min_size=min_size, max_size=max_size, asked=asked).map(lambda book: book.events)


def _book(nodes: list[Manifest], steps: list[Action | Wait]) -> Book:
    book = Book(*CLASSES, *nodes)
    for step in steps:
        if isinstance(step, Wait):
            book.now += step.milliseconds * SECOND // 1000
            book.let_nodes_act()
            for _ in range(step.cycles):
                if book.cycle() is None:
                    break
        else:
            perform(step, book)
    return book
