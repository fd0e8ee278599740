"""Levels of `why` over a real log: what is decided again, when, and what it shows."""

from typing import Any

import pytest

import worker.explaining
from build import Manifest, composite, group, node, pod
from domain.explanation import Explanation, Fate
from live import Live
from store.engine import Store
from trees import leaf, rack

TREE = "CompositePodGroup/default/t"
GREEDY = [composite("t", 2), *leaf("a", 1, [1, 1, 1, 1], parent="t"), *leaf("b", 2, [1, 1], parent="t")]
EXACT = [composite("t", 2), *leaf("a", 4, [1, 1, 1, 1], parent="t"), *leaf("b", 2, [1, 1], parent="t")]


@pytest.fixture
def live(sqlite_store: Store) -> Live:
    return Live(sqlite_store)


def lean(live: Live) -> None:
    live.cluster.configure(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "ganger": {"siblings": "lean"},
        }
    )


@pytest.mark.parametrize(
    ("cores", "objects", "configured", "verdict", "helps"),
    [
        pytest.param("4", GREEDY, False, Fate.UNSCHEDULABLE, True, id="it would start"),
        pytest.param("2", GREEDY, False, Fate.UNSCHEDULABLE, False, id="it would not"),
        pytest.param("2", GREEDY, True, Fate.UNSCHEDULABLE, False, id="it was lean"),
        pytest.param("4", GREEDY, True, Fate.PARTLY_SCHEDULED, False, id="it did start"),
        pytest.param("5", EXACT, False, Fate.UNSCHEDULABLE, False, id="nobody takes more than its minimum"),
    ],
)
def test_whether_the_lean_division_would_start_a_tree(
    live: Live, cores: str, objects: list[Manifest], configured: bool, verdict: Fate, helps: bool
) -> None:
    if configured:
        lean(live)
    live.apply(node("n", cpu=cores), *objects).settle()
    told = live.why(TREE)
    assert (told.verdict, told.lean) == (verdict, helps)
    assert [live.why(subject).lean for subject in ("PodGroup/default/a", "Pod/default/b-1")] == [helps] * 2


def test_level_1_decides_nothing_again_where_nothing_can_come_of_it(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.apply(node("n", cpu="5"), *EXACT, group("g", 2), pod("g-0", cpu="9", group="g")).settle()
    asked: list[int] = []

    def noted(told: Explanation, again: Any, level: int) -> Explanation:
        asked.append(level)
        return told

    monkeypatch.setattr(worker.explaining, "decided_again", noted)
    for level in (0, 1):
        for subject in (TREE, "PodGroup/default/a", "Pod/default/b-0", "Node/n"):
            live.why(subject, level=level)
    assert asked == []
    live.why(TREE, level=2)
    assert asked == [2]


ENOUGH = [
    composite("t", 2),
    *leaf("a", 1, [1], parent="t"),
    *leaf("b", 1, [1, 2, 3], parent="t", **rack()),
]


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("subject", [TREE, "PodGroup/default/b", "Pod/default/b-2"])
def test_what_members_beyond_the_minimum_lack(live: Live, subject: str, level: int) -> None:
    """Their groups were given up with the tree, which places nobody any more: the log does not keep it."""
    live.apply(node("n", cpu="2", labels={"rack": "r"}), node("m", cpu="9"), *ENOUGH).settle()
    live.apply(node("m", cpu="0")).settle()
    told = live.why(subject, level=level)
    assert told.cause is not None
    assert told.cause.path == (TREE, "PodGroup/default/b")
    assert (told.cause.resource, told.cause.domain, told.cause.topology_key) == ("cpu", "r", "rack")
    assert told.cause.text == (
        "it has the 1 it needs, b-1 beyond them has no place: "
        "it asks for 2 cpu, 1 is free on the best node, in rack r"
    )
    of_pod = subject.startswith("Pod/")
    assert [shape.pods for shape in told.shapes] == ([("b-2",)] if of_pod else [("b-1",), ("b-2",)])
    looked_at = {pod for shape in told.shapes for pod in shape.pods} if level > 1 else set()
    assert {look.pod for look in told.looks} == looked_at


def test_a_level_adds_and_changes_nothing_else(live: Live) -> None:
    live.apply(node("n", cpu="4"), *GREEDY).settle()
    usual, alike, full = (live.why(TREE, level=level) for level in (1, 2, 3))
    empty: dict[str, Any] = {"looks": (), "preemption": None}
    assert [worker.explaining.replace(each, **empty) for each in (alike, full)] == [
        worker.explaining.replace(usual, **empty)
    ] * 2
    assert [look.pod for look in alike.looks] == ["b-0"]
    assert [len(look.nodes) for look in full.looks] == [1]


@pytest.mark.parametrize("level", [2, 3])
def test_the_past_stays_as_it_was_at_every_level(live: Live, level: int) -> None:
    objects = [node("n", cpu="1", labels={"rack": "r"}), *leaf("g", 2, [1, 1], **rack())]
    position = live.apply(*objects).settle().position
    before = live.why("PodGroup/default/g", at=position, level=level)
    assert before.looks[0].where == "r"
    live.delete("PodGroup/default/g", "Pod/default/g-0", "Pod/default/g-1", "Node/n").settle()
    assert live.why("PodGroup/default/g", at=position, level=level) == before
    gone = live.why("PodGroup/default/g", level=level)
    assert gone.verdict is Fate.DELETED
    assert gone.before is not None
    assert (gone.before.looks, gone.before.placements) == (before.looks, before.placements)


def test_what_was_second_best(live: Live) -> None:
    live.apply(node("n1", cpu="4"), node("n2", cpu="8"), node("n3", cpu="2"), pod("a", cpu="2")).settle()
    (look,) = live.why("Pod/default/a", level=2).looks
    assert look.chosen is not None
    assert look.second_best is not None
    assert (look.chosen.node, look.second_best.node, look.by) == ("n2", "n1", "score")
    weighted = sum(points * look.weights[plugin] for plugin, points in look.chosen.scores.items())
    assert weighted == look.chosen.total > look.second_best.total


def test_a_class_that_every_cluster_has(live: Live) -> None:
    told = live.why("PriorityClass/system-node-critical")
    assert (told.verdict, told.placed) == (Fate.PRESENT, True)
    assert told.note == "it gives priority 2000001000, in every cluster from the start"


def test_who_preempted_a_pod_and_why_this_one(live: Live) -> None:
    live.apply(node("n1", gpu=8), node("n2", gpu=8), pod("old", gpu=8)).settle().wait(10)
    live.apply(pod("young", gpu=8)).settle().wait(10)
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 9}
    live.apply(
        {**high, "metadata": {"name": "high"}},
        group("g", 1, priorityClassName="high"),
        pod("g-0", gpu=8, group="g", priorityClassName="high"),
    )
    while not live.cluster.state.evicted:
        live.worker.step()
    (key,) = live.cluster.state.evicted
    told = live.why(f"Pod/{key}", level=2)
    assert told.evicted is not None
    assert told.evicted.by == "PodGroup/default/g"
    attempt = live.why("PodGroup/default/g").attempt
    assert attempt is not None
    assert told.evicted.attempt_position == attempt.position
    assert told.evicted.preemption is not None
    assert {unit.unit: unit.fate for unit in told.evicted.preemption.units} == {
        f"Pod/{key}": "victim",
        f"Pod/default/{'young' if key.endswith('old') else 'old'}": "reprieved",
    }
    assert told.evicted.because
    live.settle()
    gone = live.why(f"Pod/{key}")
    assert gone.note.endswith(", preempted by PodGroup default/g")
    survivor = live.why("Pod/default/young" if key.endswith("old") else "Pod/default/old", level=2)
    assert survivor.evicted is None
