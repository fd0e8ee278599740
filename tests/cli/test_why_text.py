"""What `why` and `history` print, held against golden files (`pytest --rewrite-golden` writes them)."""

from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from build import group, node, pod
from cli.text.history import render_history
from cli.text.lines import listed
from cli.text.why import render_why
from golden import FOLDER
from live import Live
from store.engine import Store, open_store

Golden = Callable[[str, str], None]

GANG = "PodGroup/default/trainer"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def gang(members: int, *, first: int = 0, **spec: Any) -> list[dict[str, Any]]:
    return [pod(f"trainer-{index}", group="trainer", **spec) for index in range(first, first + members)]


def gpu_nodes(count: int, **spec: Any) -> list[dict[str, Any]]:
    return [node(f"gpu-{index:03}", cpu="128", memory="1Ti", gpu=8, **spec) for index in range(count)]


@pytest.fixture
def live(request: pytest.FixtureRequest, shared_sqlite: Store) -> Live:
    """An empty cluster of this test's own."""
    return Live(shared_sqlite, request.node.name)


@pytest.fixture(scope="module")
def shared_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("text") / "ganger.db"), create=True, durable=False)
    yield store
    store.close()


def plain(told: RenderableType) -> str:
    """What is printed where nobody watches."""
    out = StringIO()
    Console(file=out, highlight=False, soft_wrap=True, markup=False, no_color=True).print(told)
    return out.getvalue()


def rejected(live: Live) -> None:
    """A gang of leaders and workers; workers are out of GPUs on some nodes and not tolerated on others."""
    live.apply(
        *gpu_nodes(6),
        *(node(f"cpu-{index}", cpu="64", memory="256Gi") for index in range(4)),
        node("old-0", gpu=8, unschedulable=True),
        node("own-0", cpu="128", memory="1Ti", gpu=8, taints=[GPU_TAINT]),
        pod("notebook", gpu=4, node="gpu-005"),
        group("trainer", 8),
        pod("trainer-leader", cpu="4", memory="16Gi", group="trainer"),
        *gang(8, gpu=8, cpu="96", memory="512Gi"),
    ).settle().wait(10)


def thousand(live: Live) -> None:
    live.apply(*gpu_nodes(100), group("trainer", 1000), *gang(1000, gpu=1, cpu="4")).settle().wait(100)


def bound(live: Live) -> None:
    live.apply(*gpu_nodes(2), group("trainer", 3), *gang(3, gpu=4)).settle()


def many_nodes(live: Live) -> None:
    live.apply(*gpu_nodes(12), group("trainer", 24), *gang(24, gpu=4)).settle()


def left_over(live: Live) -> None:
    live.apply(*gpu_nodes(1), group("trainer", 2), *gang(3, gpu=4)).settle()


def too_few(live: Live) -> None:
    live.apply(*gpu_nodes(1), group("trainer", 8), *gang(5, gpu=1)).settle()


def gated(live: Live) -> None:
    live.apply(group("trainer", 2), *gang(1), *gang(1, first=1, gates=["example.com/data"])).settle()


def no_group(live: Live) -> None:
    live.apply(*gang(2)).settle()


def in_line(live: Live) -> None:
    """Not tried yet, behind others."""
    live.apply(
        *(group(f"early-{index}", 1) for index in range(7)),
        *(pod(f"early-{index}", group=f"early-{index}") for index in range(7)),
    )
    live.apply(group("trainer", 1), *gang(1))


def deleted(live: Live) -> None:
    bound(live)
    live.wait(60).delete("Pod/default/trainer-0").settle()


def deleted_group(live: Live) -> None:
    rejected(live)
    pods = [f"Pod/default/trainer-{name}" for name in ("leader", *range(8))]
    live.delete(GANG, *pods).settle()


def single(live: Live) -> None:
    live.apply(node("n1", cpu="2"), node("n2", cpu="4", unschedulable=True), pod("web", cpu="3")).settle()


def disagreeing(live: Live) -> None:
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 10,
    }
    live.apply(high, *gpu_nodes(1), group("trainer", 1), *gang(1, priorityClassName="high")).settle()


@pytest.mark.parametrize(
    ("name", "prepare", "subject", "level"),
    [
        pytest.param("why-rejected-level-0", rejected, GANG, 0, id="rejected, in short"),
        pytest.param("why-rejected", rejected, GANG, 1, id="rejected"),
        pytest.param("why-member-fitted", rejected, "Pod/default/trainer-0", 1, id="member that fitted"),
        pytest.param("why-member-misfit", rejected, "Pod/default/trainer-6", 1, id="member that did not fit"),
        pytest.param("why-thousand", thousand, GANG, 1, id="a thousand members"),
        pytest.param("why-bound", bound, GANG, 1, id="bound"),
        pytest.param("why-bound-many-nodes", many_nodes, GANG, 1, id="bound to many nodes"),
        pytest.param("why-member-bound", bound, "Pod/default/trainer-2", 1, id="member that is bound"),
        pytest.param("why-left-over", left_over, GANG, 1, id="a member left over"),
        pytest.param("why-too-few", too_few, GANG, 1, id="members missing"),
        pytest.param("why-gated", gated, GANG, 1, id="gated"),
        pytest.param("why-no-group", no_group, "Pod/default/trainer-1", 1, id="group missing"),
        pytest.param("why-in-line", in_line, GANG, 1, id="in line"),
        pytest.param("why-in-line-level-0", in_line, GANG, 0, id="in line, in short"),
        pytest.param("why-deleted-pod", deleted, "Pod/default/trainer-0", 1, id="a deleted Pod"),
        pytest.param("why-deleted-group", deleted_group, GANG, 1, id="a deleted group"),
        pytest.param("why-single-pod", single, "Pod/default/web", 1, id="a single Pod"),
        pytest.param("why-error", disagreeing, GANG, 1, id="members that disagree"),
        pytest.param("why-node", rejected, "Node/gpu-005", 1, id="a node"),
    ],
)
def test_why(
    live: Live, golden: Golden, name: str, prepare: Callable[[Live], None], subject: str, level: int
) -> None:
    prepare(live)
    golden(name, plain(render_why(live.why(subject), level=level)))


@pytest.mark.parametrize(
    ("name", "prepare", "subject", "wide"),
    [
        pytest.param("history-group", deleted, GANG, False, id="a group"),
        pytest.param("history-group-wide", deleted, GANG, True, id="a group, wide"),
        pytest.param("history-pod", deleted, "Pod/default/trainer-0", False, id="a Pod"),
        pytest.param("history-member", rejected, "Pod/default/trainer-0", False, id="a refused member"),
        pytest.param("history-node", deleted, "Node/gpu-000", False, id="a node"),
    ],
)
def test_history(
    live: Live, golden: Golden, name: str, prepare: Callable[[Live], None], subject: str, wide: bool
) -> None:
    prepare(live)
    golden(name, plain(render_history(live.history(subject), wide=wide)))


def test_colour_is_on_top_of_the_same_text(live: Live) -> None:
    rejected(live)
    told = render_why(live.why(GANG))
    out = StringIO()
    Console(file=out, highlight=False, soft_wrap=True, force_terminal=True, color_system="standard").print(
        told
    )
    assert "\x1b[31mUnschedulable\x1b[0m" in out.getvalue()
    assert "\x1b" not in plain(told)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_golden_texts_are_clean(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    assert [line for line in lines if line != line.rstrip()] == []
    assert all(lines[index] or lines[index + 1] for index in range(len(lines) - 2))


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(0, "", id="none"),
        pytest.param(1, "a0", id="one"),
        pytest.param(5, "a0, a1, a2, a3, a4", id="as many as fit"),
        pytest.param(6, "a0, a1, a2, a3 and 2 more", id="one too many"),
        pytest.param(1000, "a0, a1, a2, a3 and 996 more", id="a thousand"),
    ],
)
def test_long_lists_are_cut(count: int, expected: str) -> None:
    assert listed(f"a{index}" for index in range(count)) == expected
