"""Whom a change wakes: all that it could help, and of the others nobody that can be told apart.

Source: kube-scheduler 1.37, the hints of its plugins; groups: docs/decisions/0008.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from books import lost_wake_ups
from build import Manifest, Story, fact, group, node, pod
from clusters import NODES, PODS, named
from domain import events as ev
from domain.node_facts import node_facts
from domain.nodes import NodeTable
from domain.profile import FILTERS, Profile
from domain.scheduling.eligibility import could_have, eligibility
from domain.shapes import shape_of
from domain.state import decode_state, encode_state

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TAINT = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
SOFT_TAINT = [{"key": "k", "value": "v", "effect": "PreferNoSchedule"}]
PORT = [{"containerPort": 80, "hostPort": 80}]
OTHER_PORT = [{"containerPort": 81, "hostPort": 81}]
ON_SSD = {"nodeSelector": {"disk": "ssd"}}
ON_N = {
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n", "n0"]}]}
                ]
            }
        }
    }
}


def of(app: str) -> Manifest:
    return {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}


NEAR_WEB = {"affinity": {"podAffinity": {REQUIRED: [of("web")]}}}
FAR_FROM_WEB = {"affinity": {"podAntiAffinity": {REQUIRED: [of("web")]}}}
REPELS_ALL = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}]}}


def web(name: str, app: str = "web", **given: Any) -> Manifest:
    made = pod(name, **given)
    made["metadata"]["labels"] = {"app": app}
    return made


def gone(name: str, on: str | None = "n") -> ev.Payload:
    return ev.PodDeleted(key=f"default/{name}", uid=f"uid-of-{name}", node=on)


def now(manifest: Manifest) -> ev.Payload:
    return fact(manifest, "Updated")


def gang(size: int, least: int | None = None, **given: Any) -> list[Manifest]:
    return [group("g", least or size), *[pod(f"g-{n}", group="g", **given) for n in range(size)]]


SINGLE = [pod("p", cpu="4")]
PACKED = [node("n", cpu="4"), pod("busy", cpu="2", node="n")]
FULL_OF_GPUS = [
    node("n", cpu="8", gpu=2),
    pod("busy", cpu="1", gpu=2, node="n"),
    pod("idle", cpu="1", node="n"),
]
BY_PORT = [
    node("n"),
    pod("busy", cpu=1, ports=PORT, node="n"),
    pod("idle", cpu=1, ports=OTHER_PORT, node="n"),
]
TWO_SIZES = [group("g", 2), pod("g-0", cpu="4", group="g"), pod("g-1", cpu="3", group="g")]

ROWS = [
    # What leaves a node
    pytest.param(PACKED, SINGLE, gone("busy"), True, id="cpu is set free"),
    pytest.param(
        [node("n", cpu="4", taints=TAINT), pod("busy", cpu="2", node="n")],
        SINGLE,
        gone("busy"),
        False,
        id="on a tainted node",
    ),
    pytest.param(
        [node("n", cpu="4", taints=SOFT_TAINT), pod("busy", cpu="2", node="n")],
        SINGLE,
        gone("busy"),
        True,
        id="on a node to be avoided",
    ),
    pytest.param(
        [node("n", cpu="4", taints=TAINT), pod("busy", cpu="2", node="n")],
        [pod("p", cpu="4", tolerations=[{"operator": "Exists"}])],
        gone("busy"),
        True,
        id="on a tainted node that it tolerates",
    ),
    pytest.param(
        [node("n", cpu="4", unschedulable=True), pod("busy", cpu="2", node="n")],
        SINGLE,
        gone("busy"),
        False,
        id="on a cordoned node",
    ),
    pytest.param(
        [node("n", cpu="3"), pod("busy", cpu="2", node="n")],
        SINGLE,
        gone("busy"),
        False,
        id="on a node that is too small",
    ),
    pytest.param(
        PACKED, [pod("p", cpu="4", **ON_SSD)], gone("busy"), False, id="on a node of the wrong label"
    ),
    pytest.param(
        [node("n", cpu="4", labels={"disk": "ssd"}), pod("busy", cpu="2", node="n")],
        [pod("p", cpu="4", **ON_SSD)],
        gone("busy"),
        True,
        id="on a node of the right label",
    ),
    pytest.param(PACKED, [pod("p", cpu="4", **ON_N)], gone("busy"), True, id="on the node that it names"),
    pytest.param(
        [
            node("n", cpu="4"),
            node("m", cpu="4"),
            pod("busy", cpu="2", node="n"),
            pod("more", cpu="2", node="m"),
        ],
        [pod("p", cpu="4", **ON_N)],
        gone("more", "m"),
        False,
        id="on another than the one that it names",
    ),
    pytest.param(FULL_OF_GPUS, [pod("p", cpu="1", gpu=1)], gone("idle"), False, id="it lacks something else"),
    pytest.param(FULL_OF_GPUS, [pod("p", cpu="1", gpu=1)], gone("busy"), True, id="it lacks that, too"),
    pytest.param(FULL_OF_GPUS, [pod("p", cpu="7", gpu=1)], gone("idle"), True, id="it lacks both"),
    pytest.param(BY_PORT, [pod("p", ports=PORT)], gone("busy"), True, id="a host port is set free"),
    pytest.param(BY_PORT, [pod("p", ports=PORT)], gone("idle"), False, id="another host port is set free"),
    pytest.param(
        [node("n", pods=2), pod("busy", node="n"), pod("more", node="n")],
        [pod("p")],
        gone("busy"),
        True,
        id="a place is set free",
    ),
    pytest.param(
        [node("n", cpu="8", gpu=2), pod("busy", cpu="2", node="n")],
        gang(3, cpu="2", gpu=1),
        gone("busy"),
        False,
        id="a gang lacks something else",
    ),
    pytest.param(
        [node("n", cpu="8", gpu=2), pod("busy", cpu="3", node="n")],
        gang(3, cpu="2", gpu=1),
        gone("busy"),
        True,
        id="a gang could lack it once other Pods are evicted",
    ),
    # Nominations keep room
    pytest.param(
        [
            node("n", cpu="4"),
            pod("busy", cpu="2", node="n", priority=100),
            {**pod("hopes", cpu="2", gates=["x/y"], priority=100), "status": {"nominatedNodeName": "n"}},
        ],
        SINGLE,
        gone("hopes", on=None),
        True,
        id="a nominated Pod goes",
    ),
    # What comes to a node
    pytest.param(PACKED, SINGLE, fact(pod("new", cpu="1", node="n")), False, id="a Pod comes"),
    pytest.param(
        [node("n", cpu="4")], TWO_SIZES, fact(pod("new", node="n")), True, id="one that moves a choice"
    ),
    pytest.param(
        [node("n", cpu="4"), node("m", cpu="2")],
        TWO_SIZES,
        fact(pod("new", node="m")),
        False,
        id="one on a node that no member could have",
    ),
    # What becomes of a Pod there
    pytest.param(PACKED, SINGLE, now(web("busy", cpu="2", node="n")), False, id="a Pod is relabelled"),
    pytest.param(PACKED, SINGLE, now(pod("busy", cpu="1", node="n")), True, id="a Pod is scaled down"),
    pytest.param(
        PACKED, SINGLE, now(pod("busy", cpu="2", node="n", priority=-1)), True, id="a Pod loses rank"
    ),
    pytest.param(
        PACKED, TWO_SIZES, now(web("busy", cpu="2", node="n")), False, id="a gang does not see labels"
    ),
    # Nodes
    pytest.param(PACKED, SINGLE, fact(node("m", cpu="4")), True, id="a node comes"),
    pytest.param(PACKED, SINGLE, fact(node("m", cpu="3")), False, id="one comes that is too small"),
    pytest.param(PACKED, SINGLE, fact(node("m", taints=TAINT)), False, id="one comes that is tainted"),
    pytest.param(PACKED, SINGLE, fact(node("m", unschedulable=True)), False, id="one comes that is cordoned"),
    pytest.param(
        PACKED, [pod("p", cpu="4", **ON_SSD)], fact(node("m")), False, id="one comes without the label"
    ),
    pytest.param(PACKED, SINGLE, now(node("n", cpu="4")), False, id="a node says the same again"),
    pytest.param(PACKED, SINGLE, now(node("n", cpu="4", labels={"a": "b"})), False, id="a node gets a label"),
    pytest.param(PACKED, SINGLE, now(node("n", cpu="5")), True, id="a node grows"),
    pytest.param(PACKED, SINGLE, now(node("n", cpu="4", gpu=8)), False, id="a node grows where nobody asks"),
    pytest.param(
        [node("n", cpu="9", taints=TAINT)], SINGLE, now(node("n", cpu="9")), True, id="a taint goes"
    ),
    pytest.param([node("n", unschedulable=True)], SINGLE, now(node("n")), True, id="a cordon ends"),
    pytest.param(
        [node("n")], [pod("p", **ON_SSD)], now(node("n", labels={"disk": "ssd"})), True, id="the label comes"
    ),
    pytest.param(PACKED, SINGLE, ev.NodeDeleted(key="n", uid="uid-of-n"), False, id="a node goes"),
    # Rules about other Pods
    pytest.param(
        [node("n")], [pod("p", **NEAR_WEB)], fact(web("w", node="n")), True, id="one to be near comes"
    ),
    pytest.param(
        [node("n")],
        [pod("p", **NEAR_WEB)],
        fact(web("w", "db", node="n")),
        False,
        id="one of no interest comes",
    ),
    pytest.param(
        [node("n"), web("w", node="n"), web("d", "db", node="n")],
        [pod("p", **FAR_FROM_WEB)],
        gone("w"),
        True,
        id="one to be avoided goes",
    ),
    pytest.param(
        [node("n"), web("w", node="n"), web("d", "db", node="n")],
        [pod("p", **FAR_FROM_WEB)],
        gone("d"),
        False,
        id="one of no interest goes",
    ),
    pytest.param(
        [node("n"), web("w", node="n"), web("d", "db", node="n")],
        [pod("p", **FAR_FROM_WEB)],
        now(web("d", "cache", node="n")),
        False,
        id="one of no interest is relabelled",
    ),
    pytest.param(
        [node("n"), web("w", node="n"), web("d", "db", node="n")],
        [pod("p", **FAR_FROM_WEB)],
        now(web("w", "cache", node="n")),
        True,
        id="one to be avoided is relabelled",
    ),
    pytest.param(
        [node("n"), node("m", unschedulable=True), pod("w", node="n", affinity=REPELS_ALL)],
        [pod("p")],
        gone("w"),
        True,
        id="one that keeps it away goes",
    ),
    pytest.param([], SINGLE, fact(node("n", cpu="1")), True, id="the first node comes, too small"),
    pytest.param([], gang(2), fact(node("n", taints=TAINT)), True, id="the first node comes, tainted"),
    pytest.param(
        [node("m", cpu="1")], SINGLE, fact(node("n", cpu="1")), False, id="another node comes, too small"
    ),
    # Budgets, groups
    pytest.param(
        PACKED,
        SINGLE,
        fact({"kind": "PodDisruptionBudget", "metadata": {"name": "b"}}),
        False,
        id="a budget comes",
    ),
    pytest.param(PACKED, SINGLE, fact(group("other", 1)), False, id="a group comes"),
    pytest.param(
        [*PACKED, group("other", 1), pod("o-0", node="n", group="other")],
        SINGLE,
        now(group("other", 1, priority=-1)),
        True,
        id="a group that runs loses rank",
    ),
]


@pytest.mark.parametrize(("before", "waiting", "event", "wakes"), ROWS)
def test_who_is_woken(
    before: list[Manifest], waiting: list[Manifest], event: ev.Payload, wakes: bool
) -> None:
    story = Story(*before, *waiting).decide()
    name = "PodGroup/default/g" if len(waiting) > 1 else "Pod/default/p"
    assert not story.state.queue.awake(story.state.queue.entities[name])
    story.append(event)
    assert story.state.queue.awake(story.state.queue.entities[name]) is wakes
    assert lost_wake_ups(story.state, story.now) == []


@pytest.mark.parametrize(("size", "woken"), [(2, False), (3, True)])
def test_of_gangs_alike_those_are_woken_that_could_use_it(size: int, woken: bool) -> None:
    """There was cpu for two; that a third gets room does not matter to a gang of two."""
    story = Story(node("n", cpu="4", gpu=1), pod("busy", cpu="2", node="n"))
    story.add(*gang(size, cpu="1", gpu=1)).decide().append(gone("busy"))
    assert story.state.queue.awake(story.state.queue.entities["PodGroup/default/g"]) is woken


def test_a_change_during_an_attempt_counts_as_any_of_its_kind() -> None:
    """Who was not asleep yet is not asked what it wants."""
    story = Story(node("n", cpu="1"), node("m", cpu="1"), pod("x", cpu="1", node="m"), pod("p", cpu="2"))
    snapshot = story.state.position
    attempt = ev.GroupAttempted(
        at=story.now,
        entity="Pod/default/p",
        number=1,
        outcome="unschedulable",
        scheduler="",
        snapshot=snapshot,
    )
    story.append(gone("x", "m"), attempt)
    assert story.state.queue.awake(story.state.queue.entities["Pod/default/p"])


@given(
    st.sampled_from(NODES[False] + NODES[True]),
    st.sampled_from(PODS[False] + PODS[True]),
    st.sets(st.sampled_from(FILTERS)),
)
def test_one_node_is_judged_as_all_are(kind: Manifest, wanted: Manifest, off: set[str]) -> None:
    facts, shape = node_facts(named(kind, "node-a")), shape_of(wanted["spec"])
    has = {resource: int(amount) for resource, amount in facts.allocatable.items()}
    large = all(int(amount) <= has.get(name, 0) for name, amount in (*shape.requests, ("pods", 1)))
    table = NodeTable()
    table.put(facts)
    room = table.for_cycle(Profile(disabled_filters=tuple(name for name in FILTERS if name in off)))
    allowed = bool(eligibility(room, shape).allowed[0])
    assert could_have(facts, shape, off) is (allowed and (large or "NodeResourcesFit" in off))


RIGHT = {"disk": "ssd"}
RUNS = msgspec.Raw(b'{"phase":"Running"}')
USELESS: dict[str, Callable[[int], ev.Payload]] = {
    "a Pod leaves a tainted node": lambda n: gone(f"t-{n}", "tainted"),
    "a Pod leaves a cordoned node": lambda n: gone(f"c-{n}", "cordoned"),
    "a Pod leaves a small node": lambda n: gone(f"s-{n}", "small"),
    "a Pod leaves a node of the wrong label": lambda n: gone(f"w-{n}", "wrong"),
    "a Pod is relabelled": lambda n: now(web(f"k-{n}", f"v{n}", cpu=100, node="full")),
    "a Pod leaves where only gpus lack": lambda n: gone(f"f-{n}", "full"),
    "a node says the same again": lambda n: now(node("small", cpu="1", labels=RIGHT)),
    "a useless node comes": lambda n: fact(node(f"new-{n}", taints=TAINT)),
    "a Pod waits": lambda n: fact(pod(f"gated-{n}", gates=["x/y"])),
    "a Pod runs": lambda n: ev.PodUpdated(key=f"default/k-{n}", node="full", status=RUNS),
    "a Pod comes": lambda n: fact(pod(f"came-{n}", node="full")),
    "a budget comes": lambda n: fact({"kind": "PodDisruptionBudget", "metadata": {"name": f"b{n}"}}),
}


def no_room() -> Story:
    """Nodes that are of no use to who waits, each for a reason of its own, with Pods to leave them."""
    story = Story(
        node("tainted", gpu=8, labels=RIGHT, taints=TAINT),
        node("cordoned", gpu=8, labels=RIGHT, unschedulable=True),
        node("small", cpu="1", labels=RIGHT),
        node("wrong", gpu=8),
        node("full", cpu="64", gpu=1, labels=RIGHT),
        pod("gpu", gpu=1, node="full"),
    )
    for n in range(20):
        for name, on in (
            ("t", "tainted"),
            ("c", "cordoned"),
            ("s", "small"),
            ("w", "wrong"),
            ("f", "full"),
            ("k", "full"),
        ):
            story.add(pod(f"{name}-{n}", cpu=100, node=on))
    return story.add(pod("p", cpu="2", gpu=1, **ON_SSD), *gang(3, 2, cpu="2", gpu=1, **ON_SSD))


@given(st.lists(st.sampled_from(sorted(USELESS)), max_size=20))
def test_what_cannot_help_brings_no_attempt(useless: list[str]) -> None:
    story = no_room().decide()
    for number, what in enumerate(useless):
        story.append(USELESS[what](number))
    story.wait(60).decide()
    attempts = [event for event in story.events if isinstance(event.payload, ev.GroupAttempted)]
    assert len(attempts) == 2
    assert lost_wake_ups(story.state, story.now) == []
    story.append(gone("gpu", "full")).wait(60).decide()
    assert story.state.pods["default/p"].node == "full"


class Town:
    """A small cluster in which nodes differ in all that keeps Pods off, and Pods in what they want."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self._made = 0
        self._sizes = draw.choice([[0], [500, 1000], [1000, 1500, 2000]])
        self._gpus = draw.choice([[None], [None, 1]])
        self._ports: list[Any] = draw.choice([[[]], [PORT, PORT, OTHER_PORT]])
        self._picky = draw.choice([0.0, 0.5])
        self._ruled = draw.choice([0.0, 0.0, 0.6])
        self._alike = draw.choice([0.1, 0.9])
        self._ranks = draw.choice([[0], [0, 0, 5]])
        self.story = Story()

    def change(self) -> None:
        """Let something happen."""
        does = [self._node, self._pod, self._pod, self._gang, self._gang, self._end, self._end, self._resize,
                self._leave, self._drop_node]  # fmt: skip
        self._draw.choice(does)()

    def tries(self) -> bool:
        """Whether the scheduler gets round to trying now."""
        return self._draw.random() < 0.7

    def _node(self) -> None:
        draw = self._draw
        name = f"n{draw.randrange(3)}"
        odd = draw.random() < self._picky
        made = node(
            name,
            cpu=draw.choice(["1", "2", "3"]),
            gpu=draw.choice([None, 1, 2]),
            pods=draw.choice([2, 3, 110]),
            labels={"disk": "ssd"} if odd else {},
            taints=draw.choice([TAINT, SOFT_TAINT, []]) if odd else [],
            unschedulable=odd and draw.random() < 0.3,
        )
        self.story.append(fact(made, "Updated" if name in self.story.state.node_records else "Added"))

    def _drop_node(self) -> None:
        records = self.story.state.node_records
        if records:
            key = self._draw.choice(sorted(records))
            self.story.append(ev.NodeDeleted(key=key, uid=records[key].uid))

    def _new(self, priority: int, **given: Any) -> Manifest:
        draw = self._draw
        self._made += 1
        more: Manifest = {}
        if draw.random() < self._picky:
            more = draw.choice([ON_SSD, {"tolerations": [{"operator": "Exists"}]}, ON_N])
        if draw.random() < self._ruled:
            more = {**more, "affinity": {**more.get("affinity", {}), **draw.choice(RULES)}}
        made = pod(
            f"p{self._made}",
            cpu=draw.choice(self._sizes),
            gpu=draw.choice(self._gpus),
            ports=draw.choice(self._ports),
            priority=priority,
            **more,
            **given,
        )
        made["metadata"]["labels"] = {"app": draw.choice(["web", "db"])}
        return made

    def _pod(self) -> None:
        placed = {"node": self._draw.choice(["n0", "n1", "gone"])} if self._draw.random() < 0.4 else {}
        self.story.add(self._new(self._draw.choice(self._ranks), **placed))

    def _gang(self) -> None:
        draw = self._draw
        self._made += 1
        name, priority, size = f"g{self._made}", draw.choice(self._ranks), draw.randint(1, 3)
        members = [self._new(priority, group=name)]
        for number in range(1, size):
            if draw.random() < self._alike:
                twin = msgspec.json.decode(msgspec.json.encode(members[0]))
                twin["metadata"]["name"] += f"-{number}"
                members.append(twin)
            else:
                members.append(self._new(priority, group=name))
        mode: Manifest = draw.choice([{"single": {}}, {"all": {}}])
        self.story.add(group(name, draw.randint(1, size), priority=priority, disruptionMode=mode), *members)

    def _some_pod(self) -> Any:
        pods = self.story.state.pods
        return pods[self._draw.choice(sorted(pods))] if pods else None

    def _end(self) -> None:
        found = self._some_pod()
        if found is not None:
            self.story.append(ev.PodDeleted(key=found.key, uid=found.uid, group=found.group, node=found.node))

    def _leave(self) -> None:
        found = self._some_pod()
        if found is not None and found.deletion is None:
            at = ev.Deletion(at=self.story.now, grace=30)
            self.story.append(ev.PodUpdated(key=found.key, group=found.group, node=found.node, deletion=at))

    def _resize(self) -> None:
        found = self._some_pod()
        if found is None or found.node is None:
            return
        stored = self.story.events[found.manifest - 1].payload
        assert isinstance(stored, ev.PodAdded | ev.PodUpdated)
        manifest = msgspec.json.decode(stored.object)
        manifest["spec"]["nodeName"] = found.node
        requests = manifest["spec"]["containers"][0]["resources"]["requests"]
        requests["cpu"] = self._draw.choice(["0", "500m", "1"])
        manifest["metadata"]["labels"] = {"app": self._draw.choice(["web", "db"])}
        self.story.append(now(manifest))


RULES: list[Manifest] = [
    {"podAntiAffinity": {REQUIRED: [of("web")]}},
    {"podAntiAffinity": {REQUIRED: [of("db")]}},
    {"podAffinity": {REQUIRED: [of("web")]}},
]


@given(st.integers(0, 2**32))
def test_nobody_sleeps_whom_a_change_helped(seed: int) -> None:
    town = Town(Random(seed))
    for _ in range(30):
        town.change()
        if town.tries():
            town.story.wait(60).decide()
        state = town.story.state
        assert lost_wake_ups(state, town.story.now) == []
    assert encode_state(decode_state(encode_state(state))) == encode_state(state)
