"""What would help: each kind of change, said as it should be, and true when a user makes it."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from build import Manifest, composite, group, node, pod
from domain.whathelps.budget import Budget
from domain.whathelps.search import Help
from helping import starts
from live import Live
from store.engine import Store, open_store
from strategies import priority_class
from trees import leaf, within
from worker.proving import help_for

GANG = "PodGroup/default/trainer"
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = open_store(str(tmp_path_factory.mktemp("help") / "ganger.db"), create=True, durable=False)
    yield opened
    opened.close()


_streams = count()

Make = Callable[[Live], object]


def a_cluster(store: Store, make: Make) -> Live:
    """A new cluster on which `make` was done."""
    live = Live(store, f"c{next(_streams)}")
    make(live)
    return live


def offered(live: Live, subject: str, budget: Budget | None = None) -> Help:
    kind, _, key = subject.partition("/")
    state = live.cluster.state.copy()
    return help_for(live.cluster, state, kind, key, now=live.clock.now(), budget=budget or Budget())


def texts(help_: Help) -> list[str]:
    return [proved.candidate.text for proved in help_.changes]


def gang(members: int, **spec: object) -> list[Manifest]:
    return [pod(f"trainer-{number}", group="trainer", **spec) for number in range(members)]  # type: ignore[arg-type]


def then(*batches: list[Manifest]) -> Make:
    """Apply one batch after the other, each once all is at rest."""

    def make(live: Live) -> None:
        for batch in batches:
            live.apply(*batch).settle()

    return make


NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
NEAR_LEADER = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"role": "leader"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


def leaving(made: Manifest) -> Manifest:
    """A Pod that is being deleted, and that its finalizer keeps."""
    deletion = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    return {**made, "metadata": {**made["metadata"], **deletion, "finalizers": ["example.com/hold"]}}


CASES = [
    pytest.param(
        then([node("n1", gpu=8), group("trainer", 3), *gang(3, gpu=8)]),
        GANG,
        ["add 2 nodes like n1", "lower minCount to 1"],
        id="nodes and minCount",
    ),
    pytest.param(
        then(
            [node("n1", gpu=8), node("n2", gpu=8, unschedulable=True), group("trainer", 2), *gang(2, gpu=8)]
        ),
        GANG,
        ["uncordon node n2"],
        id="a cordon",
    ),
    pytest.param(
        then([node("n1", gpu=8, taints=[NOT_READY]), node("n2", taints=[NOT_READY]), pod("a", gpu=8)]),
        "Pod/default/a",
        [
            "bring node n1 back, which is tainted node.kubernetes.io/not-ready:NoExecute",
            "add a node like n1",
        ],
        id="a node that is not ready",
    ),
    pytest.param(
        then([pod("a", gpu=8, cpu="2", nodeSelector={"pool": "b200"})]),
        "Pod/default/a",
        ["add a node with 2 cpu, 8 nvidia.com/gpu labelled pool=b200"],
        id="no node to add another like it",
    ),
    pytest.param(
        then([pod("a")]), "Pod/default/a", ["add a node with room for 1 Pod"], id="a node for next to nothing"
    ),
    pytest.param(
        then(
            [
                priority_class("train", 100),
                node("n1"),
                group("trainer", 2, priorityClassName="train"),
                pod("trainer-0", group="trainer", priorityClassName="train"),
                pod("trainer-1", group="trainer"),
            ]
        ),
        GANG,
        ["create Pod trainer-1 anew with priorityClassName train"],
        id="a member without the class of its group",
    ),
    pytest.param(
        then(
            [
                node("n1"),
                group("trainer", 2),
                pod("trainer-9", group="trainer", node="n1", schedulerName="other"),
                *gang(2),
            ]
        ),
        GANG,
        ["delete Pod trainer-9, which runs"],
        id="a running member of another scheduler",
    ),
    pytest.param(
        then(
            [
                priority_class("train", 100),
                node("n1"),
                composite("top", 2, priorityClassName="train"),
                *leaf(
                    "one",
                    1,
                    [1],
                    parent="top",
                    priorityClassName="train",
                    pods={"priorityClassName": "train"},
                ),
                *leaf("two", 1, [1], parent="top", pods={"priorityClassName": "train"}),
            ]
        ),
        "CompositePodGroup/default/top",
        ["create PodGroup default/two anew with priorityClassName train, with its Pods"],
        id="a child group without the class of the root",
    ),
    pytest.param(
        then(
            [
                *(node(f"n{number}", cpu="2", labels={"rack": "a"}) for number in (1, 2)),
                node("n3", cpu="2", labels={"rack": "a"}),
                group("trainer", 2, **within("rack")),
                *gang(2, cpu="2"),
            ],
            [node("n2", cpu="2", labels={"rack": "b"})],
            [pod("trainer-2", cpu="2", group="trainer")],
        ),
        GANG,
        ["label node n2 rack=a"],
        id="members in two racks",
    ),
    pytest.param(
        then([node("n1"), group("trainer", 2), *gang(1), pod("v", group="trainer", schedulerName="other")]),
        GANG,
        ["create Pod v anew with schedulerName default-scheduler", "lower minCount to 1"],
        id="a member that waits for another scheduler",
    ),
    pytest.param(
        then(
            [
                priority_class("calm", 10, "Never"),
                node("n1", cpu="2"),
                pod("low", cpu="2", node="n1"),
                pod("a", cpu="2", priorityClassName="calm"),
            ]
        ),
        "Pod/default/a",
        ["create Pod default/a anew with preemptionPolicy PreemptLowerPriority (of a new PriorityClass)"],
        id="leave to preempt",
    ),
    pytest.param(
        then(
            [
                node("n1"),
                group("trainer", 3),
                *gang(2, affinity=NEAR_LEADER),
                pod("leader", group="trainer", labels={"role": "leader"}),
            ]
        ),
        GANG,
        [
            "lower minCount to 1",
            "create 2 Pods (trainer-0, trainer-1) anew, which are then tried after the others",
        ],
        id="the order of members",
    ),
    pytest.param(
        then([node("n1"), group("trainer", 2), *gang(1), leaving(pod("trainer-1", group="trainer"))]),
        GANG,
        ["create 1 more Pod for PodGroup default/trainer", "lower minCount to 1"],
        id="a member that is being deleted",
    ),
    pytest.param(
        then(
            [node("n1"), composite("top", 1), *leaf("one", 1, [1], parent="top")],
            leaf("two", 2, [1], parent="top"),
        ),
        "PodGroup/default/two",
        ["create 1 more Pod for PodGroup default/two", "lower minCount of PodGroup default/two to 1"],
        id="a late group of a tree that lacks members",
    ),
    pytest.param(
        then([node("n1", gpu=8, taints=[TAINT]), pod("a", gpu=8)]),
        "Pod/default/a",
        ["let Pod a tolerate the taint dedicated=gpu:NoSchedule of n1"],
        id="a taint",
    ),
    pytest.param(
        then([node("n1", gpu=8), node("n2", gpu=8), pod("a", gpu=8, nodeSelector={"disk": "ssd"})]),
        "Pod/default/a",
        ["label node n1 disk=ssd", "create Pod a anew without its nodeSelector"],
        id="a label that Pods select by",
    ),
    pytest.param(
        then([node("n1"), node("n2"), group("trainer", 2, **within("rack")), *gang(2, cpu="6")]),
        GANG,
        [
            "label nodes n1, n2 rack=a",
            "create PodGroup default/trainer anew without its topology constraint (rack) and its Pods",
        ],
        id="a label that divides nodes",
    ),
    pytest.param(
        then(
            [node("n1", gpu=8), pod("b", gpu=2), pod("notebook", gpu=5)],
            [group("trainer", 1), *gang(1, gpu=4)],
        ),
        GANG,
        [
            "delete Pod default/notebook (priority 0, 5 nvidia.com/gpu)",
            "create Pod trainer-0 anew with a request of 1 nvidia.com/gpu instead of 4",
            "create PodGroup default/trainer and its Pods anew with priority 1 (of a new PriorityClass)",
        ],
        id="others, requests and priority",
    ),
    pytest.param(
        then(
            [priority_class("high", 100), node("n1", gpu=8), pod("notebook", gpu=8)],
            [pod("a", gpu=8)],
        ),
        "Pod/default/a",
        ['create Pod default/a anew with priority 100 (PriorityClass "high")'],
        id="an existing PriorityClass",
    ),
    pytest.param(
        then(
            [
                node("n1"),
                pod("a", ports=[{"containerPort": 80, "hostPort": 80}]),
                pod("b", ports=[{"containerPort": 80, "hostPort": 80}]),
            ]
        ),
        "Pod/default/b",
        ["create Pod b anew without its host ports"],
        id="host ports",
    ),
    pytest.param(
        then([node("n1"), group("trainer", 2), *gang(2, gates=["example.com/quota"])]),
        GANG,
        ["remove the scheduling gate example.com/quota of 2 Pods (trainer-0, trainer-1)"],
        id="gates",
    ),
    pytest.param(
        then([node("n1"), group("trainer", 3), *gang(1)]),
        GANG,
        ["create 2 more Pods for PodGroup default/trainer", "lower minCount to 1"],
        id="members that are missing",
    ),
    pytest.param(
        then([node("n1"), *gang(1)]),
        "Pod/default/trainer-0",
        ["create PodGroup default/trainer, which is missing; tried with the basic policy"],
        id="a group that is missing",
    ),
    pytest.param(
        then([node("n1"), *leaf("one", 1, [1], parent="top")]),
        "PodGroup/default/one",
        ["create CompositePodGroup default/top, which is missing; tried with the basic policy"],
        id="a parent that is missing",
    ),
    pytest.param(
        then([node("n1"), composite("top", 2), *leaf("one", 1, [1], parent="top")]),
        "CompositePodGroup/default/top",
        ["create 1 more PodGroup with 1 more Pod for PodGroup default/one-1"],
        id="a group of a tree that is missing",
    ),
    pytest.param(
        then(
            [
                node("n1", cpu="3"),
                composite("top", 2),
                *leaf("one", 1, [1, 1, 1], parent="top"),
                *leaf("two", 1, [1], parent="top"),
            ]
        ),
        "CompositePodGroup/default/top",
        ["configure siblings: lean, with which each group gets its minimum before any gets more"],
        id="how siblings divide",
    ),
    pytest.param(
        then([node("n1", gpu=8), group("trainer", 2), *gang(2, gpu=8, gates=["example.com/quota"])]),
        GANG,
        [
            (
                "remove the scheduling gate example.com/quota of 2 Pods (trainer-0, trainer-1), "
                "and add a node like n1"
            )
        ],
        id="a gate, and room beyond it",
    ),
    pytest.param(
        then([node("n1", gpu=8, taints=[TAINT, {"key": "slow", "effect": "NoSchedule"}]), pod("a", gpu=8)]),
        "Pod/default/a",
        [
            (
                "let Pod a tolerate the taint dedicated=gpu:NoSchedule of n1, "
                "and let Pod a tolerate the taint slow:NoSchedule of n1"
            )
        ],
        id="two taints of one node",
    ),
    pytest.param(
        then(
            [
                node("n1", gpu=8, taints=[TAINT]),
                pod("notebook", gpu=5, tolerations=[{"operator": "Exists"}]),
                pod("train", gpu=1, tolerations=[{"operator": "Exists"}]),
            ],
            [group("trainer", 2), *gang(2, gpu=4)],
        ),
        GANG,
        [
            (
                "let 2 Pods (trainer-0, trainer-1) tolerate the taint dedicated=gpu:NoSchedule of n1, "
                "and add a node like n1"
            ),
            (
                "let 2 Pods (trainer-0, trainer-1) tolerate the taint dedicated=gpu:NoSchedule of n1, and "
                "delete Pod default/notebook (priority 0, 5 nvidia.com/gpu), "
                "Pod default/train (priority 0, 1 nvidia.com/gpu)"
            ),
        ],
        id="a taint, and room behind it",
    ),
    pytest.param(
        then(
            [
                node("n1", gpu=8, taints=[TAINT]),
                pod("a", gpu=16, affinity=NEAR_LEADER, tolerations=[{"operator": "Exists"}]),
            ]
        ),
        "Pod/default/a",
        [
            "add a node with 16 nvidia.com/gpu, and create Pod a anew without its required pod affinity",
            (
                "create Pod a anew with a request of 8 nvidia.com/gpu instead of 16, "
                "and create Pod a anew without its required pod affinity"
            ),
        ],
        id="two changes of one Pod",
    ),
]


@pytest.mark.parametrize(("make", "subject", "expected"), CASES)
def test_what_is_offered(store: Store, make: Make, subject: str, expected: list[str]) -> None:
    live = a_cluster(store, make)
    before = live.position
    help_ = offered(live, subject)
    said = texts(help_)
    assert [text for text in said if text in expected] == expected, said
    assert not help_.cut_off
    assert live.position == before
    kind, _, key = subject.partition("/")
    for proved in help_.changes:
        again = a_cluster(store, make)
        assert starts(again.cluster, again.clock, kind, key, proved), proved.candidate.text


@pytest.mark.parametrize("change", ["lowerRequest", "dropConstraint", "raisePriority"])
def test_a_new_start_that_helps_by_itself_is_not_credited_to_a_change(store: Store, change: str) -> None:
    live = a_cluster(
        store,
        then(
            [
                node("n1", cpu="4"),
                node("n2", cpu="6", gpu=1),
                group("trainer", 2),
                pod("head", group="trainer", cpu="2"),
                pod("worker", group="trainer", cpu="5", gpu=1),
            ]
        ),
    )
    offered_kinds = [proved.candidate.kind for proved in offered(live, GANG).changes]
    assert "reorder" in offered_kinds
    assert change not in offered_kinds


@pytest.mark.parametrize(
    ("make", "subject"),
    [
        pytest.param(then([node("n1"), pod("a")]), "Pod/default/a", id="it runs"),
        pytest.param(
            lambda live: live.apply(node("n1"), pod("a")), "Pod/default/a", id="it will start anyway"
        ),
        pytest.param(then([node("n1")]), "Node/n1", id="nothing that is placed"),
    ],
)
def test_nothing_is_offered(store: Store, make: Make, subject: str) -> None:
    assert offered(a_cluster(store, make), subject) == Help()


def test_who_would_be_evicted(store: Store) -> None:
    live = a_cluster(store, then([node("n1", gpu=8), pod("notebook", gpu=8)], [pod("a", gpu=8)]))
    raised = offered(live, "Pod/default/a").changes[-1]
    assert (raised.candidate.kind, raised.evicted) == ("raisePriority", ("default/notebook",))


def test_a_job_that_will_end_is_no_help(store: Store) -> None:
    ends = pod("short", gpu=8, annotations={"ganger.dev/run-seconds": "60"})
    live = a_cluster(
        store, lambda live: live.apply(node("n1", gpu=8), ends).wait(5).apply(pod("a", gpu=8)).wait(5)
    )
    assert offered(live, "Pod/default/a").changes
    assert live.wait(120).cluster.state.pods["default/a"].node == "n1"


@pytest.mark.parametrize("decisions", [0, 3, 12])
def test_what_was_found_until_it_was_cut_off(store: Store, decisions: int) -> None:
    live = a_cluster(store, then([node("n1", gpu=8), group("trainer", 3), *gang(3, gpu=8)]))
    whole = offered(live, GANG)
    part = offered(live, GANG, Budget(decisions))
    assert part.cut_off
    assert len(part.changes) < len(whole.changes)
    assert texts(part) == texts(whole)[: len(part.changes)]


def test_who_asks_may_stop_it(store: Store) -> None:
    live = a_cluster(store, then([node("n1", gpu=8), group("trainer", 3), *gang(3, gpu=8)]))
    assert offered(live, GANG, Budget(stop=lambda: True)) == Help(cut_off=True)


@st.composite
def crowded(draw: st.DrawFn) -> list[list[Manifest]]:
    """Who runs first, and a gang that comes later."""
    priorities = st.sampled_from([{}, {"priorityClassName": "high"}])
    gates = st.sampled_from([(), (), ("example.com/quota",)])
    first = [
        priority_class("high", 100),
        *(
            node(
                f"n{number}",
                cpu=draw(st.sampled_from(["2", "4"])),
                unschedulable=draw(st.booleans()),
                taints=draw(st.sampled_from([(), (TAINT,)])),
                labels={"rack": draw(st.sampled_from("ab"))},
            )
            for number in range(draw(st.integers(1, 3)))
        ),
        *(
            pod(f"p{number}", cpu=draw(st.sampled_from([1000, 2000])), **draw(priorities))
            for number in range(draw(st.integers(0, 3)))
        ),
    ]
    size, rank = draw(st.integers(1, 3)), draw(priorities)
    constraint = draw(st.sampled_from([{}, within("rack")]))
    later = [
        group("trainer", draw(st.integers(1, 4)), **constraint, **rank),
        *(
            pod(
                f"trainer-{number}",
                cpu=draw(st.sampled_from([1000, 2000, 3000])),
                group="trainer",
                gates=draw(gates),
                **rank,
            )
            for number in range(size)
        ),
    ]
    return [first, later]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(batches=crowded())
def test_whatever_is_offered_is_true(store: Store, batches: list[list[Manifest]]) -> None:
    make = then(*batches)
    help_ = offered(a_cluster(store, make), GANG)
    event(f"{len(help_.changes)} changes")
    for proved in help_.changes:
        again = a_cluster(store, make)
        assert starts(again.cluster, again.clock, "PodGroup", "default/trainer", proved), (
            proved.candidate.text
        )
