"""Preemption: who is evicted for whom, who is spared, what is said and shown, and what is kept free."""

from typing import Any

import pytest

from books import Book
from build import Manifest, composite, group, node, pod
from domain import events as ev
from domain.conflict import stands
from domain.explanation import Fate
from domain.queue import Verdict
from domain.scheduling.cycle import Decision, decide
from trees import inner, leaf
from worker.shown import as_shown

FOUND = ", pod group preemption: found a placement for podgroup, preempting"
HELD = "example.com/hold"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}


def _class(name: str, value: int) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


CLASSES = [_class("low", 10), _class("mid", 50), _class("high", 100)]


def running(
    name: str, on: str, *, started: int | None = None, app: str | None = None, **spec: Any
) -> Manifest:
    """A Pod on a node, of priority 0 unless it says otherwise, since second `started` of the hour."""
    made = pod(name, node=on, **spec)
    made["status"] = {"phase": "Running"}
    if started is not None:
        made["status"]["startTime"] = f"2025-12-31T23:00:{started:02}Z"
    if app is not None:
        made["metadata"]["labels"] = {"app": app}
    return made


def held(manifest: Manifest) -> Manifest:
    """A Pod that its finalizer keeps on its node once it is evicted."""
    manifest["metadata"]["finalizers"] = [HELD]
    manifest["spec"]["terminationGracePeriodSeconds"] = 0
    return manifest


def gang(name: str, size: int, *, least: int | None = None, cpu: str = "1", **spec: Any) -> list[Manifest]:
    """A gang of priority 100 with its Pods."""
    more: Manifest = {"priorityClassName": "high", **spec}
    members = [
        pod(f"{name}-{number}", cpu=cpu, group=name, priorityClassName=more["priorityClassName"])
        for number in range(size)
    ]
    return [group(name, size if least is None else least, **more), *members]


def budget(name: str, selector: Manifest, *, allowed: int | None = None, **spec: Any) -> Manifest:
    """A PodDisruptionBudget, with a status where `allowed` is given."""
    made: Manifest = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": selector, **spec},
    }
    if allowed is not None:
        made["status"] = {"disruptionsAllowed": allowed}
    return made


def after(*manifests: Manifest) -> Book:
    """A cluster to which `manifests` came as one batch."""
    return Book(*CLASSES, *manifests)


def evicted(book: Book) -> list[str]:
    """The names of all Pods that were evicted, in order."""
    return [e.payload.pod[8:] for e in book.events if isinstance(e.payload, ev.PodEvicted)]


def attempts(book: Book) -> list[ev.GroupAttempted]:
    return [event.payload for event in book.events if isinstance(event.payload, ev.GroupAttempted)]


def text(book: Book, kind: str, name: str) -> str:
    """The message of the condition of an object that waits."""
    objects = book.state.groups if kind == "PodGroup" else book.state.pods
    condition = objects[f"default/{name}"].condition
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "Unschedulable")
    return condition.message


def nominations(book: Book) -> dict[str, str]:
    return {key[8:]: str(book.state.pods[key].nominated) for key in sorted(book.state.nominated)}


# A group


def test_a_gang_evicts_whom_it_needs_in_the_batch_of_its_attempt() -> None:
    book = after(
        node("n1", cpu="2"),
        node("n2", cpu="2"),
        running("old", "n1", cpu="1", started=1),
        running("new", "n1", cpu="1", started=2),
        running("mate", "n2", cpu="500m", priorityClassName="high"),
        *gang("g", 2),
    )
    decision = book.cycle()
    assert decision is not None
    assert [type(payload).__name__ for payload in decision.payloads] == [
        "GroupAttempted",
        "PodNominated",
        "PodNominated",
        "PodEvicted",
    ]
    assert decision.attempt.outcome == "waitingOnPreemption"
    assert decision.attempt.victims == ("default/new",)
    assert nominations(book) == {"g-0": "n1", "g-1": "n2"}
    assert (
        text(book, "PodGroup", "g")
        == f"minCount (2) cannot be satisfied: 1 scheduled, 0 remaining{FOUND} 1 victims"
    )


def test_texts_of_members_that_wait_for_a_preemption() -> None:
    book = after(node("n1", cpu="2"), held(running("low", "n1", cpu="1")), *gang("g", 3, cpu="600m"))
    book.cycle()
    assert text(book, "PodGroup", "g") == (
        f"minCount (3) cannot be satisfied: 1 scheduled, 1 remaining{FOUND} 1 victims"
    )
    assert text(book, "Pod", "g-0") == text(book, "PodGroup", "g")
    assert text(book, "Pod", "g-1") == "0/1 nodes are available: 1 Insufficient cpu."
    assert text(book, "Pod", "g-2") == "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"
    assert nominations(book) == {"g-0": "n1", "g-1": "n1", "g-2": "n1"}


def test_while_the_victims_end_nobody_else_is_evicted() -> None:
    book = after(node("n1", cpu="1"), held(running("a", "n1", cpu="1")), *gang("g", 1)).settle()
    assert text(book, "PodGroup", "g") == (
        "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining, "
        "pod group preemption: ongoing preemption on nominated nodes"
    )
    book.apply([node("n3", cpu="500m")])
    book.settle()
    assert evicted(book) == ["a"]
    assert nominations(book) == {"g-0": "n1"}
    assert {attempt.outcome for attempt in attempts(book)} == {"waitingOnPreemption"}


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        pytest.param("Never", "not eligible due to preemptionPolicy=Never.", id="Never"),
        pytest.param(
            "PreemptLowerPriority",
            "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
            id="the rerun fails",
        ),
    ],
)
def test_a_gang_that_may_not_or_cannot_be_helped_evicts_nobody(policy: str, answer: str) -> None:
    calm = {**_class("calm", 100), "preemptionPolicy": policy}
    top = _class("top", 200)
    book = after(calm, top, node("n1", cpu="2"))
    book.apply([running("low", "n1", cpu="1"), running("rock", "n1", cpu="1", priorityClassName="top")])
    book.apply(gang("g", 2, priorityClassName="calm"))
    book.settle()
    assert evicted(book) == []
    assert nominations(book) == {}
    refusal = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    assert text(book, "PodGroup", "g") == f"{refusal}, pod group preemption: {answer}"


def test_members_beyond_the_minimum_preempt_in_a_cycle_of_their_own() -> None:
    book = after(node("n1", cpu="2"), running("low", "n1", cpu="1"), *gang("g", 2, least=1))
    book.cycle()
    assert evicted(book) == []
    book.cycle()
    assert evicted(book) == ["low"]
    assert text(book, "Pod", "g-1") == "0/1 nodes are available: 1 Insufficient cpu."
    book.settle()
    assert book.state.pods["default/g-1"].node == "n1"
    condition = book.state.groups["default/g"].condition
    assert condition is not None
    assert condition.status == "True"


HIGH: Manifest = {"priorityClassName": "high"}


@pytest.mark.parametrize(
    ("children", "promised"),
    [
        pytest.param(
            leaf("m", 2, [1, 9], parent="t", pods=HIGH, **HIGH),
            ["m-0", "n-0"],
            id="in a PodGroup that fails",
        ),
        pytest.param(
            [
                inner("m", 2, parent="t", **HIGH),
                *leaf("m1", 1, [1], parent="m", pods=HIGH, **HIGH),
                *leaf("m2", 1, [9], parent="m", pods=HIGH, **HIGH),
            ],
            ["m1-0", "n-0"],
            id="in a PodGroup that its composite pulls down",
        ),
    ],
)
def test_who_finds_a_place_in_vain_is_made_room_for_all_the_same(
    children: list[Manifest], promised: list[str]
) -> None:
    old = [running("a", "n1", cpu="1"), running("b", "n1", cpu="1")]
    sibling = leaf("n", 1, [1], parent="t", pods=HIGH, **HIGH)
    book = after(node("n1", cpu="2"), *old, composite("t", None, **HIGH), *children, *sibling)
    book.cycle()
    assert evicted(book) == ["a", "b"]
    assert nominations(book) == dict.fromkeys(promised, "n1")
    book.settle()
    assert [pod.key for pod in book.state.pods.values() if pod.node] == ["default/n-0"]


# Units, their order, budgets


@pytest.mark.parametrize(
    ("others", "victims"),
    [
        pytest.param(
            [running("a", "n1", cpu="1"), running("b", "n1", cpu="1", priorityClassName="low")],
            ["a"],
            id="lower priority goes",
        ),
        pytest.param(
            [group("s", 1), running("a", "n1", cpu="1"), running("s-0", "n1", cpu="1", group="s")],
            ["a"],
            id="a plain Pod goes before a member",
        ),
        pytest.param(
            [running("a", "n1", cpu="1"), running("s-0", "n1", cpu="1", group="unknown")],
            ["a"],
            id="a plain Pod goes before a member of a group that is not there",
        ),
        pytest.param(
            [
                group("s", 1, priorityClassName="low"),
                running("a", "n1", cpu="1", priorityClassName="low"),
                running("s-0", "n1", cpu="1", group="s", priorityClassName="mid"),
            ],
            ["a"],
            id="a member has the priority of its group",
        ),
        pytest.param(
            [running("a", "n1", cpu="1", started=1), running("b", "n1", cpu="1", started=2)],
            ["b"],
            id="who started later goes",
        ),
        pytest.param(
            [
                group("w", 1, disruptionMode={"all": {}}),
                running("w-0", "n1", cpu="1", group="w"),
                running("w-1", "n2", cpu="1", group="w"),
                running("b", "n1", cpu="1", priorityClassName="low"),
            ],
            ["w-0", "w-1"],
            id="all: goes whole, over all nodes",
        ),
        pytest.param(
            [
                running("a", "n1", cpu="1", app="store"),
                running("b", "n1", cpu="1", priorityClassName="low"),
                budget("keep", {"matchLabels": {"app": "store"}}, allowed=0),
            ],
            ["b"],
            id="who is protected stays",
        ),
        pytest.param(
            [
                running("a", "n1", cpu="1", app="store"),
                running("b", "n1", cpu="1", priorityClassName="low"),
                budget("keep", {"matchLabels": {"app": "store"}}),
            ],
            ["b"],
            id="a budget without status is counted",
        ),
        pytest.param(
            [
                running("a", "n1", cpu="1", app="store"),
                running("b", "n1", cpu="1", priorityClassName="low"),
                budget("keep", {}, allowed=0),
            ],
            ["a"],
            id="an empty selector protects nobody",
        ),
    ],
)
@pytest.mark.parametrize("preemptor", ["group", "pod"])
def test_who_goes(others: list[Manifest], victims: list[str], preemptor: str) -> None:
    book = after(node("n1", cpu="2"), node("n2", cpu="1", taints=[TAINT]), *others)
    single = [pod("boss", cpu="1", priorityClassName="high")]
    book.apply(gang("g", 1) if preemptor == "group" else single)
    book.cycle()
    assert evicted(book) == victims


# A single Pod


def boss(**spec: Any) -> Manifest:
    return pod("boss", cpu="2", priorityClassName="high", **spec)


@pytest.mark.parametrize(
    ("others", "taken"),
    [
        pytest.param(
            [
                running("a", "n1", cpu="2", app="store"),
                running("b", "n2", cpu="2", priorityClassName="mid"),
                budget("keep", {"matchLabels": {"app": "store"}}, allowed=0),
            ],
            "n2",
            id="fewest broken budgets",
        ),
        pytest.param(
            [
                group("w", 1, disruptionMode={"all": {}}),
                running("w-0", "n1", cpu="1", group="w", app="store"),
                running("w-1", "n1", cpu="1", group="w", app="store"),
                running("b", "n2", cpu="2", app="store", priorityClassName="mid"),
                budget("keep", {"matchLabels": {"app": "store"}}, allowed=0),
            ],
            "n2",
            id="fewest broken budgets, each Pod of a group counted",
        ),
        pytest.param(
            [running("a", "n1", cpu="2", priorityClassName="low"), running("b", "n2", cpu="2")],
            "n2",
            id="lowest of the highest priorities",
        ),
        pytest.param(
            [
                running("a1", "n1", cpu="1", priorityClassName="low"),
                running("a2", "n1", cpu="1", priorityClassName="low"),
                running("b1", "n2", cpu="1", priorityClassName="low"),
                running("b2", "n2", cpu="1"),
            ],
            "n2",
            id="smallest sum of priorities",
        ),
        pytest.param(
            [
                running("a1", "n1", cpu="1", started=9),
                running("a2", "n1", cpu="1", started=1),
                running("b1", "n2", cpu="1", started=3),
                running("b2", "n2", cpu="1", started=2),
            ],
            "n2",
            id="latest of the earliest starts",
        ),
        pytest.param(
            [running("b", "n2", cpu="2", started=1), running("a", "n1", cpu="2", started=1)],
            "n1",
            id="smaller name",
        ),
    ],
)
def test_which_node_a_single_pod_clears(others: list[Manifest], taken: str) -> None:
    book = after(node("n1", cpu="2"), node("n2", cpu="2"), *others, boss())
    book.cycle()
    victims = len(evicted(book))
    assert nominations(book) == {"boss": taken}
    assert text(book, "Pod", "boss") == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on "
        f"node {taken}, preempting {victims} victims"
    )


def test_a_single_pod_that_no_node_can_be_cleared_for_says_why() -> None:
    book = after(
        node("n1", cpu="2"),
        node("n2", cpu="2", taints=[TAINT]),
        node("n3", cpu="2"),
        running("a", "n1", cpu="2", priorityClassName="high"),
        running("b", "n3", cpu="1", priorityClassName="high"),
        running("c", "n3", cpu="1"),
        boss(),
    )
    book.settle()
    assert evicted(book) == []
    assert text(book, "Pod", "boss") == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: "
        "0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_a_single_pod_waits_for_the_end_of_its_victim() -> None:
    book = after(node("n1", cpu="2"), held(running("a", "n1", cpu="2")), boss()).settle()
    assert text(book, "Pod", "boss").endswith(
        "found a potential placement for pod on node n1, preempting 1 victims"
    )
    book.apply([node("n1", cpu="2", labels={"new": "label"})])
    book.settle()
    assert text(book, "Pod", "boss").endswith(
        "preemption: not eligible due to a terminating pod on the nominated node."
    )
    assert evicted(book) == ["a"]
    assert nominations(book) == {"boss": "n1"}


# Among rules about other Pods


def near(app: str, key: str = HOST) -> Manifest:
    return {"podAffinity": {REQUIRED: [of(app, key)]}}


def apart(app: str, key: str = HOST) -> Manifest:
    return {"podAntiAffinity": {REQUIRED: [of(app, key)]}}


def of(app: str, key: str) -> Manifest:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def evenly(app: str, key: str = ZONE) -> list[Manifest]:
    hard = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "nodeAffinityPolicy": "Ignore"}
    return [{**of(app, key), **hard}]


def in_zone(name: str, zone: str) -> Manifest:
    return node(name, cpu="2", labels={ZONE: zone})


def labelled(manifest: Manifest, app: str) -> Manifest:
    manifest["metadata"]["labels"] = {"app": app}
    return manifest


def ending(manifest: Manifest) -> Manifest:
    """A Pod on a node that is being deleted already."""
    held(manifest)["metadata"].update(deletionTimestamp="2025-12-31T23:59:00Z", deletionGracePeriodSeconds=0)
    return manifest


@pytest.mark.parametrize(
    ("others", "wants", "victims"),
    [
        pytest.param(
            [running("a", "n1", app="web"), running("b", "n1", app="db"), running("c", "n2", app="web")],
            {"affinity": apart("web")},
            ["a"],
            id="whom it cannot stand on its node",
        ),
        pytest.param(
            [running("a", "n2", app="web"), running("b", "n3", app="web"), running("c", "n1", app="db")],
            {"affinity": apart("web", ZONE)},
            ["a"],
            id="whom it cannot stand in its zone",
        ),
        pytest.param(
            [
                running("a", "n2", affinity=apart("g", ZONE)),
                running("b", "n3", affinity=apart("g", ZONE)),
                running("c", "n1"),
            ],
            {},
            ["a"],
            id="who cannot stand it in its zone",
        ),
        pytest.param(
            [
                running("a", "n1", app="g", started=1),
                running("b", "n2", app="g", started=2),
                running("c", "n3", app="g", started=0),
                running("d", "n1", app="db"),
            ],
            {"topologySpreadConstraints": evenly("g")},
            ["b"],
            id="as many as are too many in its zone",
        ),
        pytest.param(
            [
                running("a", "n1", app="g"),
                ending(running("b", "n2", app="g")),
                running("c", "n3", cpu="2", app="db"),
            ],
            {"topologySpreadConstraints": evenly("g")},
            ["a"],
            id="who is ending is not spread over",
        ),
        pytest.param(
            [
                group("w", 1, disruptionMode={"all": {}}),
                running("w-0", "n1", app="web", group="w"),
                running("w-1", "n3", app="db", group="w"),
                running("c", "n2", app="db"),
            ],
            {"affinity": apart("web")},
            ["w-0", "w-1"],
            id="all: goes whole for one of its Pods",
        ),
    ],
)
def test_who_goes_by_the_rules_of_both_sides(
    others: list[Manifest], wants: Manifest, victims: list[str]
) -> None:
    book = after(in_zone("n1", "a"), in_zone("n2", "a"), in_zone("n3", "b"), *others)
    member = pod("g-0", group="g", priorityClassName="high", nodeSelector={HOST: "n1"}, **wants)
    book.apply([group("g", 1, priorityClassName="high"), labelled(member, "g")])
    book.cycle()
    assert evicted(book) == victims


def test_members_are_judged_after_those_before_them() -> None:
    """The first begins a series, which the second joins: whoever would have to be near it goes, too."""
    full, like = running("full", "n1", cpu="2"), running("like", "n3", cpu="2", app="g")
    book = after(in_zone("n1", "a"), in_zone("n3", "b"), full, like)
    rules: Manifest = {"priorityClassName": "high", "affinity": near("g", ZONE)}
    members = [labelled(pod(f"g-{number}", cpu="1", group="g", **rules), "g") for number in range(2)]
    book.apply([group("g", 2, priorityClassName="high"), *members])
    book.cycle()
    assert sorted(evicted(book)) == ["full", "like"]
    assert nominations(book) == {"g-0": "n1", "g-1": "n1"}
    book.settle()
    assert {book.state.pods[f"default/g-{number}"].node for number in range(2)} == {"n1"}


@pytest.mark.parametrize(
    ("others", "taken", "victims"),
    [
        pytest.param(
            [running("a", "n1", app="web", started=1), running("b", "n2", app="web", started=2)],
            "n2",
            ["b"],
            id="a node's own Pods go",
        ),
        pytest.param(
            [
                running("a", "n1", app="web"),
                running("rock", "n1", app="web", priorityClassName="high"),
                running("b", "n2", app="web", priorityClassName="mid"),
            ],
            "n2",
            ["b"],
            id="not where a higher Pod is that it cannot stand",
        ),
        pytest.param(
            [
                group("w", 1, disruptionMode={"all": {}}),
                running("w-0", "n1", app="web", group="w"),
                running("w-1", "n2", app="web", group="w"),
                running("c", "n1", app="db"),
            ],
            "n1",
            ["w-0", "w-1"],
            id="all: a unit goes from all nodes",
        ),
    ],
)
def test_which_node_a_single_pod_clears_among_rules(
    others: list[Manifest], taken: str, victims: list[str]
) -> None:
    book = after(node("n1", cpu="2"), node("n2", cpu="2"), *others)
    book.apply([pod("boss", priorityClassName="high", affinity=apart("web"))])
    book.cycle()
    assert evicted(book) == victims
    assert nominations(book) == {"boss": taken}


def test_for_a_single_pod_nobody_goes_from_another_node() -> None:
    one, other = running("a", "n1", app="web"), running("b", "n2", app="web")
    book = after(in_zone("n1", "a"), in_zone("n2", "a"), one, other)
    book.apply([pod("boss", priorityClassName="high", affinity=apart("web", ZONE))])
    book.settle()
    assert evicted(book) == []
    refused = "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    assert text(book, "Pod", "boss") == f"{refused} preemption: {refused}"


def test_a_unit_that_comes_to_a_node_can_be_cleared_from_it_with_the_pod_that_keeps_others_away() -> None:
    fence = running("w-0", "n2", group="w", affinity=apart("boss", ZONE))
    whole = group("w", 1, disruptionMode={"all": {}})
    book = after(in_zone("n1", "a"), in_zone("n2", "a"), whole, fence)
    book.apply([labelled(boss(nodeSelector={HOST: "n1"}), "boss")])
    book.settle()
    assert evicted(book) == []
    book.apply([running("w-1", "n1", group="w")])
    book.settle()
    assert evicted(book) == ["w-0", "w-1"]
    assert book.state.pods["default/boss"].node == "n1"


# What is kept free, and for whom


@pytest.mark.parametrize(
    ("late", "on"),
    [
        pytest.param("low", None, id="not for lower rank"),
        pytest.param("high", None, id="not for equal rank"),
        pytest.param("top", "n1", id="for higher rank"),
    ],
)
def test_room_is_kept_for_nominated_pods(late: str, on: str | None) -> None:
    top = _class("top", 200)
    book = after(top, node("n1", cpu="3"), held(running("a", "n1", cpu="2")), boss()).settle()
    assert nominations(book) == {"boss": "n1"}
    book.apply([pod("late", cpu="1", priorityClassName=late)])
    book.settle()
    assert book.state.pods["default/late"].node == on


def test_a_single_pod_takes_the_nominations_of_lower_ones_away() -> None:
    book = after(_class("top", 200), node("n1", cpu="2"), held(running("a", "n1", cpu="2")), boss()).settle()
    book.apply([pod("late", cpu="2", priorityClassName="top")])
    book.cycle()
    assert nominations(book) == {"late": "n1"}
    assert evicted(book) == ["a"]


def test_a_refused_attempt_clears_nominations() -> None:
    book = after(node("n1", cpu="1"), held(running("a", "n1", cpu="1")), *gang("g", 1)).settle()
    assert nominations(book) == {"g-0": "n1"}
    book.delete("Node", "n1")
    book.settle()
    assert nominations(book) == {}
    assert attempts(book)[-1].outcome == "unschedulable"


@pytest.mark.parametrize(
    ("late", "on"),
    [
        pytest.param({"affinity": apart("boss")}, None, id="cannot stand who is expected"),
        pytest.param({"affinity": near("boss")}, None, id="needs who is not there yet"),
        pytest.param({}, "n1", id="does not mind"),
    ],
)
def test_rules_see_who_is_nominated(late: Manifest, on: str | None) -> None:
    book = after(node("n1", cpu="3"), held(running("a", "n1", cpu="2")), labelled(boss(), "boss")).settle()
    assert nominations(book) == {"boss": "n1"}
    book.apply([pod("late", **late)])
    book.settle()
    assert book.state.pods["default/late"].node == on


def test_who_is_nominated_keeps_others_away() -> None:
    keeps = boss(affinity=apart("late"))
    book = after(node("n1", cpu="3"), held(running("a", "n1", cpu="2")), keeps).settle()
    book.apply([labelled(pod("late"), "late")])
    book.settle()
    assert text(book, "Pod", "late").startswith(
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."
    )


# What is shown


def test_what_victims_and_their_groups_show() -> None:
    book = after(
        node("n1", cpu="2"),
        group("w", 1, disruptionMode={"all": {}}),
        group("s", 1),
        held(running("w-0", "n1", cpu="1", group="w")),
        held(running("s-0", "n1", cpu="1", group="s")),
        *gang("g", 2),
    )
    book.cycle()
    state = book.state
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority podgroup",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }

    def conditions(kind: str, key: str) -> list[Manifest]:
        record = state.pods[key] if kind == "Pod" else state.groups[key]
        shown = as_shown(record, book.manifest_at(record.manifest)).get("status", {})
        return [each for each in shown.get("conditions", ()) if each["type"] == "DisruptionTarget"]

    assert conditions("Pod", "default/w-0") == [condition | {"observedGeneration": 1}]
    assert conditions("Pod", "default/s-0") == [condition | {"observedGeneration": 1}]
    assert conditions("PodGroup", "default/w") == [condition]
    assert conditions("PodGroup", "default/s") == []
    assert conditions("PodGroup", "default/g") == []


def test_an_eviction_uses_the_grace_period_of_the_pod() -> None:
    slow = running("a", "n1", cpu="2", terminationGracePeriodSeconds=40)
    book = after(node("n1", cpu="2"), slow, boss())
    book.cycle()
    deletion = book.state.pods["default/a"].deletion
    assert deletion == ev.Deletion(at=book.now, grace=40)
    assert book.kubelet.next_due(book.state) == book.now + 40_000_000
    book.settle()
    assert book.state.pods["default/boss"].node == "n1"


@pytest.mark.parametrize("subject", ["PodGroup/default/g", "Pod/default/g-0"])
def test_why_says_whose_end_is_waited_for(subject: str) -> None:
    book = after(node("n1", cpu="1"), held(running("a", "n1", cpu="1")), *gang("g", 1)).settle()
    told = book.why(subject)
    assert told.verdict is Fate.WAITING_ON_PREEMPTION
    assert told.note.startswith("it waits for Pod default/a, evicted at 2026-01-01T00:00:00Z; ")
    assert told.preemption is not None
    assert told.preemption.victims == ("default/a",)
    assert book.state.queue.entities["PodGroup/default/g"].verdict is Verdict.WAITING


# What a decision with victims relies on


def _with_victim() -> tuple[Book, Decision]:
    book = after(node("n1", cpu="2"), running("a", "n1", cpu="2"), running("b", "n1"), boss())
    decision = decide(book.state, book.now)
    assert decision is not None
    assert decision.victims == {"default/a"}
    return book, decision


@pytest.mark.parametrize(
    ("change", "still"),
    [
        pytest.param(lambda book: book.delete("Pod", "default/a", grace=0), False, id="the victim is gone"),
        pytest.param(lambda book: book.delete("Pod", "default/a", grace=9), False, id="the victim ends"),
        pytest.param(lambda book: book.delete("Pod", "default/b", grace=0), True, id="another Pod is gone"),
        pytest.param(lambda book: book.apply([budget("k", {})]), False, id="a budget came"),
        pytest.param(lambda book: book.apply([group("g", 1)]), False, id="a group came: ranks may differ"),
        pytest.param(lambda book: book.apply([node("n1", cpu="1")]), False, id="its node shrank"),
        pytest.param(lambda book: book.apply([node("n9")]), True, id="another node came"),
    ],
)
def test_which_changes_a_decision_with_victims_survives(change: Any, still: bool) -> None:
    book, decision = _with_victim()
    change(book)
    later = book.events[decision.snapshot :]
    assert all(stands(decision, event, book.state) for event in later) is still
