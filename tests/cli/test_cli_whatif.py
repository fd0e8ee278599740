"""whatif: who would fare otherwise."""

import json
from pathlib import Path

import pytest
import yaml

from build import node, pod
from cli_world import Book, Ganger, Golden

NOW = "2026-01-01T00:01:30Z"


@pytest.fixture
def more(folder: Path) -> str:
    """The path of a manifest of one more node."""
    (folder / "n3.yaml").write_text(yaml.safe_dump(node("n3", gpu=8)))
    return "n3.yaml"


def test_at_a_past_moment(book: Book, ganger: Ganger, golden: Golden, more: str) -> None:
    found = ganger("whatif", "--at", "5", "-f", more, "--delete", "pod/trainer-0")

    assert (found.code, found.err) == (1, "")
    golden("whatif-past", found.out)


def test_at_the_end(book: Book, ganger: Ganger, golden: Golden, more: str) -> None:
    golden("whatif", ganger("whatif", "--at", NOW, "-f", more).out)


def test_an_eviction(book: Book, ganger: Ganger, golden: Golden, folder: Path) -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    vip = pod("vip", gpu=8, priorityClassName="high")
    (folder / "vip.yaml").write_text(yaml.safe_dump_all([high | {"value": 1000}, vip]))

    golden("whatif-eviction", ganger("whatif", "--at", NOW, "-f", "vip.yaml").out)


def test_nothing_differs(book: Book, ganger: Ganger, golden: Golden) -> None:
    found = ganger("whatif", "--at", NOW)

    assert found.code == 0
    golden("whatif-same", found.out)


def test_cut_off(book: Book, ganger: Ganger, golden: Golden, more: str) -> None:
    golden("whatif-cut-off", ganger("whatif", "--at", NOW, "-f", more, "--deadline", "0").out)


def test_json(book: Book, ganger: Ganger, folder: Path, more: str) -> None:
    (folder / "gone").mkdir()
    (folder / "gone" / "big.yaml").write_text(yaml.safe_dump(pod("big-0")))
    found = ganger("whatif", "--at", NOW, "-f", more, "--delete-file", "gone", "--for", "1m", "-o", "json")

    told = json.loads(found.out)
    assert told["changes"] == ["Pod/default/big-0 deleted", "Node/n3 created"]
    assert told["fork"] == {"position": int(book.position), "time": "2026-01-01T00:01:30.000000Z"}
    assert told["until"] == "2026-01-01T00:02:30.000000Z"
    (big,) = told["differences"]
    assert (big["entity"], big["with"]["pods"]) == ("PodGroup/default/big", 1)


def test_another_configuration(book: Book, ganger: Ganger, folder: Path) -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(document))

    found = ganger("whatif", "--at", "5", "--config", "config.yaml")

    assert found.out.startswith("What if  KubeSchedulerConfiguration configured\n")


def test_a_fork_that_is_kept(book: Book, ganger: Ganger, more: str) -> None:
    found = ganger("whatif", "--at", "5", "-f", more, "--save", "try")

    assert found.err == "Kept as cluster try: ganger --cluster try queue, why, history, replay\n"
    assert "is Scheduled" in ganger.out("--cluster", "try", "why", "pg/big")
    assert ganger("--cluster", "try", "log", "verify").code == 0
    again = ganger.error("whatif", "--save", "try")
    assert again.startswith("error: stream 'try' already has")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--for", "x"], "'x' must be a length of time, such as 90s", id="no span"),
        pytest.param(["--for", f"{10**9}d"], "must be at most 36500d", id="no end"),
        pytest.param(["--save", ""], 'save: Invalid value: "": must be a lowercase', id="no cluster"),
        pytest.param(["--deadline", "x"], "is no number of seconds, such as 5s or 0.5", id="no deadline"),
        pytest.param(["--at", "99"], "position 99 is in the future", id="the future"),
        pytest.param(["--delete", "pod/none"], 'pods "none" not found', id="nothing to delete"),
        pytest.param(["--delete", "pod"], "an object is named by KIND NAME or KIND/NAME", id="no name"),
        pytest.param(["-f", "wrong.yaml"], "wrong.yaml, document 1, line 1: Node", id="a refused manifest"),
        pytest.param(["--config", "two.yaml"], "a configuration is one document, there are 2", id="two"),
    ],
)
def test_wrong_use(book: Book, ganger: Ganger, folder: Path, words: list[str], told: str) -> None:
    (folder / "wrong.yaml").write_text(yaml.safe_dump(node("N")))
    (folder / "two.yaml").write_text(yaml.safe_dump_all([node("a"), node("b")]))

    assert told in ganger.error("whatif", *words)
