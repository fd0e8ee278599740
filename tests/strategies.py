"""Hypothesis strategies: objects of a small crowded cluster, what happens to it, and logs of that.

The cluster is small on purpose: a few names, little room, so that things get in each other's way.
`actions()` are for anything that can be asked as a cluster is (`Target`); `logs()` are the events
that come of some.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, Protocol, TypeVar

from hypothesis import strategies as st

from books import Book
from build import Manifest, Story, composite, fact, group, key_of, node, pod
from domain import events as ev
from domain.errors import Refused
from domain.events import Event
from domain.times import SECOND

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
TOLERATION = {"key": "dedicated", "operator": "Exists"}
FINALIZER = "example.com/held"
ZONE = "topology.kubernetes.io/zone"


def priority_class(name: str, value: int, policy: str = "PreemptLowerPriority") -> Manifest:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }


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
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": random.choice(BUDGETS), "namespace": "default"},
        "spec": {"minAvailable": random.choice([1, 2, "50%"]), "selector": {"matchLabels": {"app": "a"}}},
    }


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


class Target(Protocol):
    """What actions are done to."""

    def apply(self, manifests: Sequence[Manifest]) -> Any:
        """Create or update objects as one batch."""

    def delete(self, kind: str, key: str, *, grace: int | None = None) -> Any:
        """Delete an object."""

    def stored(self, kind: str, key: str) -> Manifest | None:
        """An object as it is."""


@dataclass(frozen=True)
class Apply:
    """Create objects, or update nodes and groups, by their whole manifests.

    Pods that are there are left out: hardly anything of theirs may change.
    """

    manifests: tuple[Manifest, ...]

    def on(self, target: Target) -> None:
        target.apply([each for each in self.manifests if not _is_pod_there(each, target)])


def _is_pod_there(manifest: Manifest, target: Target) -> bool:
    return manifest["kind"] == "Pod" and target.stored("Pod", key_of(manifest)) is not None


@dataclass(frozen=True)
class Delete:
    """Delete an object."""

    kind: str
    key: str
    grace: int | None = None

    def on(self, target: Target) -> None:
        target.delete(self.kind, self.key, grace=self.grace)


@dataclass(frozen=True)
class Change:
    """Change one thing of a Pod or PodGroup that is there."""

    kind: str
    key: str
    what: str
    value: Any = None

    def on(self, target: Target) -> None:
        found = target.stored(self.kind, self.key)
        if found is None:
            return
        changed = {**found, "metadata": {**found["metadata"]}, "spec": {**found["spec"]}}
        match self.what:
            case "ungate":
                changed["spec"].pop("schedulingGates", None)
            case "tolerate":
                changed["spec"]["tolerations"] = [*found["spec"].get("tolerations", ()), TOLERATION]
            case "release":
                changed["metadata"].pop("finalizers", None)
            case "phase":
                changed["status"] = {**found.get("status", {}), "phase": self.value}
            case "minCount":
                if "gang" not in found["spec"]["schedulingPolicy"]:
                    return
                changed["spec"]["schedulingPolicy"] = {"gang": {"minCount": self.value}}
        target.apply([changed])


Action = Apply | Delete | Change


def perform(action: Action, target: Target) -> bool:
    """Do `action`; whether it was taken, and not refused."""
    try:
        action.on(target)
    except Refused:
        return False
    return True


@dataclass(frozen=True)
class Wait:
    """Let time pass and the nodes act, and decide `cycles` times at most."""

    milliseconds: int
    cycles: int


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
_STEPS = st.one_of(*_ACTIONS, *[_WAITS.map(lambda wait: wait) for _ in range(9)])


def node_manifests() -> st.SearchStrategy[Manifest]:
    """Nodes of four names."""
    return _NODE_MANIFESTS


def pod_manifests() -> st.SearchStrategy[Manifest]:
    """Pods of a few names, most of them members of a group."""
    return _POD_MANIFESTS


def gangs() -> st.SearchStrategy[tuple[Manifest, ...]]:
    """Groups with their Pods: the group first, last or missing."""
    return _among(SOME_GANGS)


def actions() -> st.SearchStrategy[Action]:
    """Anything that is asked of a cluster; some of it will be refused."""
    return _SOME_ACTIONS


def waits() -> st.SearchStrategy[Wait]:
    """From no time to a minute, and from no cycle to all that are due."""
    return _WAITS


def books(*, min_size: int = 0, max_size: int = 40) -> st.SearchStrategy[Book]:
    """Clusters to which something has happened."""
    return st.builds(
        _book,
        st.lists(_NODE_MANIFESTS, max_size=4, unique_by=key_of),
        st.lists(_STEPS, min_size=min_size, max_size=max_size),
    )


def logs(*, min_size: int = 0, max_size: int = 40) -> st.SearchStrategy[list[Event]]:
    """Event logs of clusters with everything in them that happens: requests, decisions, nodes' doings."""
    return books(min_size=min_size, max_size=max_size).map(lambda book: book.events)


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


COMPOSITES = ("c0", "c1", "c2", "c3", "c4", "c5")


class ForestStep(NamedTuple):
    """Something that comes, goes or changes in a forest of groups; which of them it is depends on
    whether it is there. `parent` and `need` are those of a group that comes or changes, `born` the
    second of its creation; a Pod that comes is on a node if `bound`."""

    kind: str
    name: str
    parent: str | None
    need: int | None
    born: int
    bound: bool
    goes: bool


def forests(*, min_size: int = 25, max_size: int = 60) -> st.SearchStrategy[list[ForestStep]]:
    """Groups and Pods in any order, with parents that are missing, moved, rings, or too many."""
    names = [
        *(("CompositePodGroup", name) for name in COMPOSITES),
        *(("PodGroup", name) for name in GROUPS),
        *(("Pod", f"{name}-{number}") for name in GROUPS for number in range(3)),
    ]
    step = st.builds(
        lambda name, *rest: ForestStep(*name, *rest),
        st.sampled_from(names),
        st.sampled_from([None, *COMPOSITES]),
        st.sampled_from([None, 1, 1, 2, 2, 3]),
        st.integers(0, 2),
        st.booleans(),
        st.booleans(),
    )
    return st.lists(step, min_size=min_size, max_size=max_size)


def take_step(story: Story, step: ForestStep, uid: str) -> None:
    """Append what `step` comes to; nothing where it would change what cannot change."""
    key = f"default/{step.name}"
    of = step.name.partition("-")[0]
    pods = story.state.pods
    if step.kind == "Pod":
        if key in pods:
            story.append(
                ev.PodDeleted(key=key, uid=pods[key].uid, group=f"default/{of}", node=pods[key].node)
            )
        else:
            gates = ["a/b"] if step.goes and not step.bound else []
            made = pod(step.name, group=of, node="n" if step.bound else None, gates=gates)
            story.append(fact(_named(made, uid, step.born)))
        return
    known = story.state.groups_of(step.kind).get(key)
    parent = {"parentCompositePodGroupName": step.parent} if step.parent else {}
    build = composite if step.kind == "CompositePodGroup" else group
    if known is None:
        story.append(fact(_named(build(step.name, step.need, **parent), uid, step.born)))
    elif step.goes:
        story.append(ev.PAYLOADS[f"{step.kind}Deleted"](key=key, uid=known.uid))  # type: ignore[arg-type]
    elif step.kind == "PodGroup" and known.policy == "gang":
        same = {"parentCompositePodGroupName": known.parent} if known.parent else {}
        changed = group(step.name, step.need or 1, **same)
        story.append(fact(_named(changed, known.uid, step.born), "Updated"))


def _named(manifest: Manifest, uid: str, born: int) -> Manifest:
    created = f"2026-01-01T00:00:0{born}Z"
    return {**manifest, "metadata": {**manifest["metadata"], "uid": uid, "creationTimestamp": created}}
