"""get and describe: objects as people read them."""

import json
from typing import Any

import pytest
import yaml
from rich.text import Text

from build import START, group, node, pod
from cli.console import visible
from cli_world import Book, Ganger, Golden
from domain.times import rfc3339

REST = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: job}
spec:
  podGroupTemplates:
    - {name: workers, schedulingPolicy: {gang: {minCount: 4}}}
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: whole}
spec:
  workloadRef: {workloadName: job, templateName: workers}
  schedulingPolicy: {gang: {minGroupCount: 2}}
"""

TABLES = [
    pytest.param("pods", [], id="pods"),
    pytest.param("pods", ["-o", "wide"], id="pods-wide"),
    pytest.param("pods", ["-A"], id="pods-all-namespaces"),
    pytest.param("podgroups", [], id="podgroups"),
    pytest.param("nodes", [], id="nodes"),
    pytest.param("nodes", ["-o", "wide"], id="nodes-wide"),
    pytest.param("pods,podgroups", [], id="two-kinds"),
]


@pytest.mark.parametrize(("kinds", "options"), TABLES)
def test_tables(
    book: Book, ganger: Ganger, golden: Golden, kinds: str, options: list[str], request: pytest.FixtureRequest
) -> None:
    table = ganger.out("get", kinds, *options, "--at", book.position)

    golden(f"get-{request.node.callspec.id}", table)


@pytest.mark.parametrize(
    "kind", ["priorityclasses", "poddisruptionbudgets", "namespaces", "workloads", "compositepodgroups"]
)
def test_tables_of_the_other_kinds(book: Book, ganger: Ganger, golden: Golden, kind: str) -> None:
    book.apply(*yaml.safe_load_all(REST))

    golden(f"get-{kind}", ganger.out("get", kind, "--at", book.position))


@pytest.mark.parametrize(
    "target", ["podgroup/big", "pod/big-0", "pod/held", "pod/trainer-0", "node/n1", "node/n2"]
)
def test_describe(book: Book, ganger: Ganger, golden: Golden, target: str) -> None:
    told = ganger.out("describe", *target.split("/"), "--at", book.position)

    golden(f"describe-{target.replace('/', '-')}", told)


def test_describe_shows_the_manifest_of_other_kinds(book: Book, ganger: Ganger, golden: Golden) -> None:
    book.apply(*yaml.safe_load_all(REST))

    golden("describe-workload", ganger.out("describe", "workload", "job", "--at", book.position))


@pytest.mark.parametrize("word", ["pod", "PODS", "po", "Pod", "pods"])
def test_a_kind_has_many_names(book: Book, ganger: Ganger, word: str) -> None:
    assert ganger.out("get", word, "held", "-o", "name") == "pod/held\n"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param(["pg"], ["podgroup/big", "podgroup/few", "podgroup/trainer"], id="all"),
        pytest.param(["pg", "few", "big"], ["podgroup/few", "podgroup/big"], id="by name"),
        pytest.param(["pg/few", "no/n1"], ["podgroup/few", "node/n1"], id="of several kinds"),
        pytest.param(["po", "-n", "team-a"], ["pod/other"], id="of another namespace"),
        pytest.param(["no", "-l", "zone=a"], ["node/n1"], id="by label"),
        pytest.param(["no", "-l", "zone!=a"], ["node/n2"], id="without a label"),
    ],
)
def test_which_objects_come(book: Book, ganger: Ganger, words: list[str], names: list[str]) -> None:
    assert ganger.out("get", *words, "-o", "name").split() == names


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_manifests(book: Book, ganger: Ganger, output: str, read: Any) -> None:
    one = read(ganger.out("get", "pod", "trainer-0", "-o", output))
    several = read(ganger.out("get", "pods", "-o", output))

    assert (one["kind"], one["spec"]["nodeName"], one["status"]["phase"]) == ("Pod", "n1", "Running")
    assert one["metadata"]["creationTimestamp"] == rfc3339(START)
    assert (several["apiVersion"], several["kind"]) == ("v1", "List")
    assert [item["metadata"]["name"] for item in several["items"]] == [
        "big-0", "big-1", "few-0", "held", "trainer-0", "trainer-1",
    ]  # fmt: skip
    assert one in several["items"]


@pytest.mark.parametrize(
    ("at", "names"),
    [
        pytest.param("4", ["pod/trainer-0"], id="a position"),
        pytest.param(rfc3339(START), ["pod/trainer-0", "pod/trainer-1"], id="a time"),
        pytest.param("-0s", ["pod/big-0", "pod/big-1"], id="an age"),
    ],
)
def test_the_past(book: Book, ganger: Ganger, at: str, names: list[str]) -> None:
    assert ganger.out("get", "pods", "--at", at, "-o", "name").split()[:2] == names


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(["pods", "-n", "empty"], "No resources found in empty namespace.", id="a namespace"),
        pytest.param(["pods", "-A", "-l", "app=x"], "No resources found", id="anywhere"),
        pytest.param(["ns"], "No resources found", id="cluster-wide"),
        pytest.param(
            ["pods", "--at", "-20000d"], "No resources found in default namespace.", id="before it all"
        ),
    ],
)
def test_nothing_is_no_error(book: Book, ganger: Ganger, words: list[str], text: str) -> None:
    assert ganger("get", *words) == (0, "", f"{text}\n")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(["get", "pod", "nope"], 'error: pods "nope" not found', id="no such object"),
        pytest.param(
            ["describe", "pg", "nope"], 'error: podgroups.scheduling.k8s.io "nope" not found', id="describe"
        ),
        pytest.param(
            ["get", "foo"], 'error: the server doesn\'t have a resource type "foo"', id="no such kind"
        ),
        pytest.param(["get", "pods", "--at", "9999"], "error: position 9999 is in the future", id="future"),
        pytest.param(
            ["get", "pods", "--at", "soon"],
            "error: invalid value for --at: 'soon' must be a position (120), an RFC 3339 time"
            " (2026-01-01T00:00:00Z) or an age (-2h) (see `ganger get --help`)",
            id="no moment",
        ),
        pytest.param(
            ["get", "pods", "-l", "a in (b"],
            "error: invalid value for '-l' / '--selector': 'a in (b': unable to parse requirement",
            id="no selector",
        ),
        pytest.param(["get", "pod", "held", "-A"], "error: name objects, or select them", id="both ways"),
        pytest.param(["describe", "pods"], "error: an object is named by KIND NAME or KIND/NAME", id="all"),
        pytest.param(["get", "pod/a/b"], "error: 'pod/a/b' is not KIND/NAME", id="too many slashes"),
        pytest.param(["get", "pod/a", "b"], "error: 'b' is not KIND/NAME", id="two ways to name"),
    ],
)
def test_what_cannot_be_shown(book: Book, ganger: Ganger, words: list[str], text: str) -> None:
    assert ganger.error(*words).startswith(text)


def test_reading_makes_no_store(ganger: Ganger, folder: Any) -> None:
    assert ganger.error("get", "pods") == (
        "error: there is no store at ganger.db: check the path, or make one with `ganger apply`"
    )
    assert not list(folder.iterdir())


def test_another_cluster_has_to_be_there(book: Book, ganger: Ganger) -> None:
    assert ganger.error("--cluster", "east", "get", "pods") == (
        "error: there is no cluster 'east' in ganger.db: clusters in it are default"
    )


def test_devices_of_one_name_are_told_apart(folder: Any, ganger: Ganger) -> None:
    mixed = node("mixed", gpu=4)
    mixed["status"]["allocatable"]["amd.com/gpu"] = "2"
    book = Book(folder).apply(mixed, group("g", 1), pod("a", gpu=1, group="g")).wait(1)

    header, row = ganger.out("get", "nodes", "--at", book.position).splitlines()
    book.store.close()

    assert header.split() == [
        "NAME",
        "STATUS",
        "PODS",
        "CPU",
        "MEMORY",
        "AMD.COM/GPU",
        "NVIDIA.COM/GPU",
        "AGE",
    ]
    assert row.split()[5:7] == ["0/2", "1/4"]


@pytest.mark.parametrize("letter", ["\x1b", "\x07", "\r", "\x7f", "\x9b"], ids=ascii)
def test_what_is_printed_gives_a_terminal_no_orders(book: Book, ganger: Ganger, letter: str) -> None:
    orders = f"{letter}[31mred"
    book.apply(node("n9") | {"metadata": {"name": "n9", "annotations": {"note": orders}}})
    described = ganger.out("describe", "node", "n9")

    assert letter not in described
    assert "[31mred" in described
    assert letter not in ganger.error("get", "pods", f"x{orders}")
    shown = json.loads(ganger.out("get", "node", "n9", "-o", "json"))
    assert shown["metadata"]["annotations"]["note"] == orders


def test_a_text_keeps_its_letters_and_its_styles() -> None:
    text = Text("a\x1bb").append("c", style="red")
    assert visible("größe 🙂\tis\nfine") == "größe 🙂\tis\nfine"
    text.plain = visible(text.plain)
    assert (text.plain, [(each.start, each.end) for each in text.spans]) == ("a␛bc", [(3, 4)])
