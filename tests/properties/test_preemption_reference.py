"""Preemption beside a plain model of its rules: the same victims, the same nodes, the same texts."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beside import WatchedBook
from build import Manifest, group, node, pod
from domain.times import rfc3339

CLASSES = {"low": 10, "mid": 20, "high": 30}
NODES = ("n0", "n1", "n2", "n3")
OLD_GROUPS = ("v", "w")
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
OFTEN = [pytest.param(0, id="no rules"), pytest.param(0.3, id="rules about other Pods")]


def _rule(kind: str, app: str, key: str) -> Manifest:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _evenly(app: str, key: str, **more: int) -> Manifest:
    selector = {"matchLabels": {"app": app}}
    rule = {"labelSelector": selector, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{"maxSkew": 1, **rule, **more}]}


RULES: list[Manifest] = [
    *(_rule("podAntiAffinity", app, key) for app in "xyz" for key in (HOST, HOST, ZONE)),
    *(_rule("podAffinity", app, key) for app in "xy" for key in (HOST, ZONE)),
    *(_evenly(app, key) for app in "xy" for key in (HOST, ZONE)),
    _evenly("x", HOST, maxSkew=2, minDomains=9),
]


def _classes(random: Random) -> list[Manifest]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "Never" if random.random() < 0.05 else "PreemptLowerPriority",
        }
        for name, value in CLASSES.items()
    ]


def _pod(random: Random, name: str, priority: str, rules: float = 0, **more: str) -> Manifest:
    """A Pod that has rules about others with a chance of `rules`."""
    port = {"containerPort": 80, "hostPort": random.choice([80, 81])}
    made = pod(
        name,
        cpu=random.choice(["500m", "1", "1", "2"]),
        memory=random.choice([None, "1Gi"]),
        ports=[port] if random.random() < 0.2 else [],
        priorityClassName=priority,
        **more,
    )
    made["metadata"]["labels"] = {"app": random.choice("xyz")}
    if random.random() < rules:
        made["spec"].update(random.choice(RULES))
    return made


def _running(random: Random, book: WatchedBook, number: int, rules: float) -> Manifest:
    where = random.choice(book.state.nodes.names())
    made = _pod(random, f"r{number}", random.choice(list(CLASSES)), rules, node=where)
    if random.random() < 0.4:
        made["spec"]["schedulingGroup"] = {"podGroupName": random.choice([*OLD_GROUPS, "unknown"])}
    made["status"] = {"phase": "Running"}
    if random.random() < 0.8:
        made["status"]["startTime"] = rfc3339(book.now - random.randrange(5) * 1_000_000)
    return made


def _budget(random: Random, name: str) -> Manifest:
    status: Manifest = {"disruptionsAllowed": random.randrange(3)}
    if random.random() < 0.3:
        status["disruptedPods"] = {f"r{random.randrange(8)}": "2025-12-31T23:59:00Z"}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": random.choice("xyz")}}},
        "status": status,
    }


def _cluster(random: Random, rules: float) -> WatchedBook:
    book = WatchedBook(*_classes(random))
    for name in NODES[: random.randint(1, len(NODES))]:
        cpu, slots = random.choice(["2", "3", "4"]), random.choice([2, 3, 110])
        made = node(name, cpu=cpu, pods=slots, memory="3Gi", unschedulable=random.random() < 0.1)
        made["metadata"]["labels"][ZONE] = random.choice("ab")
        book.apply([made])
    for name in OLD_GROUPS:
        mode: Manifest = random.choice([{"single": {}}, {"all": {}}])
        book.apply([group(name, 1, priorityClassName=random.choice(list(CLASSES)), disruptionMode=mode)])
    book.apply([_running(random, book, number, rules) for number in range(random.randint(0, 12))])
    book.apply([_budget(random, f"b{number}") for number in range(random.randint(0, 2))])
    return book


def _answer(book: WatchedBook, tail: str) -> str | None:
    """What preemption says for what waits, as the model does; None if it is not asked."""
    decision = book.cycle()
    assert decision is not None
    attempt = decision.attempt
    if attempt.outcome not in ("unschedulable", "waitingOnPreemption"):
        return None
    return (attempt.groups or attempt.shapes)[0].message.partition(tail)[2]


def check_group(random: Random, rules: float = 0) -> str | None:
    book = _cluster(random, rules)
    size = random.randint(1, 4)
    members = [_pod(random, f"g-{number}", "high", rules, group="g") for number in range(size)]
    book.apply([group("g", random.choice([None, *range(1, size + 1)]), priorityClassName="high"), *members])
    return _answer(book, "pod group preemption: ")


def check_pod(random: Random, rules: float = 0) -> str | None:
    book = _cluster(random, rules)
    book.apply([_pod(random, "boss", random.choice(["mid", "high"]), rules)])
    return _answer(book, " preemption: ")


@pytest.mark.parametrize("rules", OFTEN)
@given(st.randoms(use_true_random=False))
def test_a_group_evicts_whom_the_model_says(rules: float, random: Random) -> None:
    check_group(random, rules)


@pytest.mark.parametrize("rules", OFTEN)
@given(st.randoms(use_true_random=False))
def test_a_single_pod_evicts_whom_the_model_says(rules: float, random: Random) -> None:
    check_pod(random, rules)


@pytest.mark.parametrize("rules", OFTEN)
@pytest.mark.parametrize(
    ("check", "wanted"),
    [
        pytest.param(check_group, "found a placement for podgroup, preempting 2 victims", id="for a group"),
        pytest.param(check_group, "No preemption victims found for incoming preemptor", id="group, nobody"),
        pytest.param(check_pod, "preempting 2 victims", id="for a Pod"),
        pytest.param(check_pod, "No preemption victims found for incoming pod", id="Pod, nobody"),
    ],
)
def test_the_clusters_are_worth_it(
    check: Callable[[Random, float], str | None], wanted: str, rules: float
) -> None:
    """What preemption can answer comes up among some of them."""
    answers = (check(Random(seed), rules) for seed in range(1000))
    assert any(answer is not None and wanted in answer for answer in answers)
