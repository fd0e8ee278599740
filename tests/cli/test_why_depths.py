"""What `why` prints of trees, domains and preemption, at every level, held against golden files."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from build import composite, group, node, pod
from cli.text.why import render_why
from live import Live
from store.engine import Store, open_store
from trees import inner, leaf, rack, within

Golden = Callable[[str, str], None]

JOB = "CompositePodGroup/default/job"
RACK = "example.com/rack"
HIGH = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 10,
}


@pytest.fixture(scope="module")
def shared_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("depths") / "ganger.db"), create=True, durable=False)
    yield store
    store.close()


@pytest.fixture
def live(request: pytest.FixtureRequest, shared_sqlite: Store) -> Live:
    """An empty cluster of this test's own."""
    return Live(shared_sqlite, request.node.name)


def racks(live: Live) -> None:
    """A tree of 3 levels with 40 leaves, one of which is too large for each of the 12 racks."""
    spare = {"key": "spare", "effect": "NoSchedule"}
    for number in range(12):
        label, taints = {RACK: f"rack-{number:02}"}, [spare] if number >= 9 else []
        live.apply(
            *(
                node(f"r{number:02}-n{index}", cpu="128", gpu=8, labels=label, taints=taints)
                for index in range(8)
            )
        )
    objects = [composite("job", 4)]
    for stage in range(4):
        objects.append(inner(f"stage-{stage}", 10, parent="job"))
        for worker in range(10):
            count = 9 if (stage, worker) == (1, 3) else 2
            name = f"stage-{stage}-w{worker}"
            objects += leaf(
                name,
                count,
                [4] * count,
                parent=f"stage-{stage}",
                pods={"containers": [_gpus(8)]},
                **within(RACK),
            )
    live.apply(*objects).settle().wait(20)


def _gpus(count: int) -> dict[str, Any]:
    amount = {"nvidia.com/gpu": str(count), "cpu": "4"}
    return {"name": "main", "image": "app", "resources": {"requests": amount, "limits": amount}}


def greedy(live: Live) -> None:
    """The first child takes what the second one needs."""
    live.apply(
        node("n", cpu="4"),
        composite("job", 2),
        *leaf("first", 1, [1] * 4, parent="job"),
        *leaf("second", 2, [1, 1], parent="job"),
    ).settle()


def started(live: Live) -> None:
    """A tree in one rack, with nodes of which some are better."""
    live.apply(
        *(node(f"n{index}", cpu=str(4 + index), labels={"rack": f"r{index // 3}"}) for index in range(6)),
        composite("job", 2, **rack()),
        *leaf("first", 1, [2], parent="job"),
        *leaf("second", 2, [1, 1], parent="job"),
    ).settle()


def gated(live: Live) -> None:
    live.apply(
        composite("job", 2),
        inner("stage", 2, parent="job"),
        *leaf("first", 1, [1], parent="stage"),
        *leaf("second", 3, [1, 1], parent="stage"),
        *leaf("third", 1, [1], parent="job"),
    ).settle()


def evicting(live: Live) -> None:
    """A gang that evicts another one as a whole, while a single Pod may stay."""
    live.apply(HIGH, *(node(f"n{index}", gpu=8) for index in range(4))).settle()
    live.apply(group("batch", 2, disruptionMode={"all": {}}), *members("batch", 2)).settle().wait(10)
    live.apply(pod("notebook", gpu=4), pod("shell", gpu=8)).settle().wait(10)
    live.apply(group("urgent", 2, priorityClassName="high"), *members("urgent", 2, priorityClassName="high"))
    while not live.cluster.state.evicted:
        live.worker.step()


def members(name: str, count: int, **spec: Any) -> list[dict[str, Any]]:
    return [pod(f"{name}-{index}", gpu=8, group=name, **spec) for index in range(count)]


def evicted(live: Live) -> None:
    evicting(live)
    live.wait(60)


def clearing(live: Live) -> None:
    """A single Pod that can have either of two nodes, one of them at a lower price."""
    live.apply(HIGH, *(node(f"n{index}", gpu=8) for index in range(3))).settle()
    live.apply(*(pod(f"half-{index}", gpu=4, node="n0") for index in range(2))).settle().wait(10)
    live.apply(pod("full", gpu=8, node="n1"), pod("system", gpu=8, node="n2", priorityClassName="high"))
    live.settle().wait(10).apply(pod("urgent", gpu=8, priorityClassName="high")).worker.step()


def in_racks(live: Live) -> None:
    live.apply(
        *(node(f"n{index}", cpu="4", labels={"rack": f"r{index // 2}"}) for index in range(6)),
        node("old", cpu="64", labels={"rack": "r9"}, unschedulable=True),
        *leaf("gang", 3, [3, 3, 3], **rack()),
    ).settle().wait(10)


@pytest.mark.parametrize(
    ("name", "prepare", "subject", "level"),
    [
        pytest.param("why-tree", racks, JOB, 1, id="a tree of 40 leaves"),
        pytest.param(
            "why-tree-decisive-leaf", racks, "PodGroup/default/stage-1-w3", 1, id="its deciding leaf"
        ),
        pytest.param("why-tree-untried-leaf", racks, "PodGroup/default/stage-2-w5", 1, id="a leaf not tried"),
        pytest.param("why-tree-pod", racks, "Pod/default/stage-1-w3-0", 1, id="a Pod of a tree"),
        pytest.param("why-tree-level-0", racks, JOB, 0, id="a tree, in short"),
        pytest.param("why-tree-level-2", racks, JOB, 2, id="a tree, its domains in full"),
        pytest.param("why-tree-greedy", greedy, JOB, 1, id="a tree that would start lean"),
        pytest.param("why-tree-started", started, JOB, 1, id="a tree that runs"),
        pytest.param("why-tree-started-level-3", started, "Pod/default/second-0", 3, id="every score"),
        pytest.param("why-tree-gated", gated, JOB, 1, id="a tree that lacks a Pod"),
        pytest.param("why-racks", in_racks, "PodGroup/default/gang", 1, id="a gang with a constraint"),
        pytest.param("why-racks-level-2", in_racks, "PodGroup/default/gang", 2, id="its domains in full"),
        pytest.param("why-evicting", evicting, "PodGroup/default/urgent", 2, id="a gang that evicts"),
        pytest.param("why-evicted-group", evicting, "PodGroup/default/batch", 2, id="a gang that goes"),
        pytest.param("why-evicted-pod", evicted, "Pod/default/batch-0", 1, id="a Pod that went"),
        pytest.param("why-clearing", clearing, "Pod/default/urgent", 2, id="a Pod that clears a node"),
    ],
)
def test_why(
    live: Live, golden: Golden, name: str, prepare: Callable[[Live], None], subject: str, level: int
) -> None:
    prepare(live)
    golden(name, render_why(live.why(subject, level=level), level=level).plain + "\n")


@pytest.mark.parametrize(
    "subject",
    [JOB, "CompositePodGroup/default/stage-1", "PodGroup/default/stage-1-w3", "PodGroup/default/stage-2-w5"],
)
def test_a_rejected_tree_fits_on_a_screen(live: Live, subject: str) -> None:
    racks(live)
    told = render_why(live.why(subject)).plain.splitlines()
    summary = told.pop(1)  # Kubernetes' own words, as long as they are
    assert len(told) + len(summary) // 110 + 1 <= 30
    assert max(map(len, told)) <= 120
    shown = "\n".join(told)
    for decisive in ("stage-1-w3", "nvidia.com/gpu", "rack-04"):
        assert decisive in shown
