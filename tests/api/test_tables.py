import json
from typing import Any

import pytest

from api.resource import all_resources
from api.tables import _COLUMNS
from api_world import CORE, GROUPS, NODES, PODS, Api
from build import composite, group, node, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ACCEPT = f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
SCHEDULING = "/apis/scheduling.k8s.io"


@pytest.fixture
def full(api: Api) -> Api:
    """Something of every kind; a minute has passed."""
    api.post(NODES, node("n", cpu="1", taints=[{"key": "k", "value": "v", "effect": "PreferNoSchedule"}]))
    api.post(GROUPS, group("g", 1))
    api.post(PODS, pod("p", cpu="1", group="g"), pod("q", cpu="1"), pod("r", gates=["a/b"]))
    api.post(f"{SCHEDULING}/v1alpha3/namespaces/default/compositepodgroups", composite("c", 2))
    api.post(f"{CORE}/namespaces", {"metadata": {"name": "team"}})
    api.post(f"{SCHEDULING}/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 5})
    templates = [{"name": "a", "schedulingPolicy": {"gang": {"minCount": 1}}}]
    api.post(
        f"{SCHEDULING}/v1beta1/namespaces/default/workloads",
        {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": templates}},
    )
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    api.post(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets", {"metadata": {"name": "b"}, "spec": spec}
    )
    api.settle()
    api.clock.advance_to(api.clock.now() + 60_000_000)
    return api


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        pytest.param(
            PODS,
            [
                "p|Running|g|n|60s|<none>|0",
                "q|Pending|<none>|<none>|60s|<none>|0",
                "r|SchedulingGated|<none>|<none>|60s|<none>|0",
            ],
            id="Pod",
        ),
        pytest.param(NODES, ["n|Ready|60s|k=v:PreferNoSchedule"], id="Node"),
        pytest.param(f"{CORE}/namespaces", ["team|Active|60s"], id="Namespace"),
        pytest.param(GROUPS, ["g|Gang|1|Scheduled|60s|0|<none>"], id="PodGroup"),
        pytest.param(
            f"{SCHEDULING}/v1alpha3/namespaces/default/compositepodgroups",
            ["c|Gang|2|Pending|60s|0|<none>"],
            id="CompositePodGroup",
        ),
        pytest.param(f"{SCHEDULING}/v1beta1/namespaces/default/workloads", ["w|1|60s"], id="Workload"),
        pytest.param(
            f"{SCHEDULING}/v1/priorityclasses",
            [
                "high|5|false|60s|PreemptLowerPriority",
                "system-cluster-critical|2000000000|false|<unknown>|PreemptLowerPriority",
                "system-node-critical|2000001000|false|<unknown>|PreemptLowerPriority",
            ],
            id="PriorityClass",
        ),
        pytest.param(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            ["b|1|N/A|0|60s"],
            id="PodDisruptionBudget",
        ),
        pytest.param(
            f"{CORE}/events?fieldSelector=reason%3DScheduled",
            ["60s|Normal|Scheduled|pod/p|Successfully assigned default/p to n"],
            id="Event",
        ),
        pytest.param(
            "/apis/events.k8s.io/v1/events?fieldSelector=reason%3DScheduled",
            ["60s|Normal|Scheduled|pod/p|Successfully assigned default/p to n"],
            id="Event of the newer API",
        ),
    ],
)
def test_what_rows_say(full: Api, path: str, rows: list[str]) -> None:
    listed = full.get(path)
    found = full.get(path, Accept=ACCEPT)
    assert ["|".join(row["cells"]) for row in found["rows"]] == rows
    assert all(len(row["cells"]) == len(found["columnDefinitions"]) for row in found["rows"])
    assert (found["kind"], found["apiVersion"], found["metadata"]) == (
        "Table",
        "meta.k8s.io/v1",
        listed["metadata"],
    )
    beside = [row["object"]["metadata"] for row in found["rows"]]
    assert beside == [item["metadata"] for item in listed["items"]]


def test_every_kind_has_columns() -> None:
    assert {resource.kind.name for resource in all_resources()} == set(_COLUMNS)


def test_one_object_is_one_row(full: Api) -> None:
    shown = full.get(f"{PODS}/p")
    found = full.get(f"{PODS}/p", Accept=ACCEPT)
    assert [row["cells"][0] for row in found["rows"]] == ["p"]
    assert found["metadata"] == {"resourceVersion": shown["metadata"]["resourceVersion"]}
    whole = full.get(f"{PODS}/p?includeObject=Object", Accept=ACCEPT)
    assert whole["rows"][0]["object"] == shown
    bare = full.get(f"{PODS}/p?includeObject=None", Accept=ACCEPT)
    assert set(bare["rows"][0]) == {"cells"}


def test_pages_of_a_table(full: Api) -> None:
    first = full.get(f"{PODS}?limit=2", Accept=ACCEPT)
    second = full.get(f"{PODS}?limit=2&continue={first['metadata']['continue']}", Accept=ACCEPT)
    assert [[row["cells"][0] for row in page["rows"]] for page in (first, second)] == [["p", "q"], ["r"]]


def test_a_watch_in_tables(full: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.watches.LONGEST_S", 0.0)
    text = full.client.get(f"{NODES}?watch=true", headers={"Accept": ACCEPT}).text
    line: dict[str, Any] = json.loads(text)
    assert (line["type"], line["object"]["kind"]) == ("ADDED", "Table")
    assert [row["cells"][0] for row in line["object"]["rows"]] == ["n"]


@pytest.mark.parametrize(
    "accept", ["*/*", "application/json", "application/json;as=Table", f"text/html,{TABLE}"]
)
def test_who_asks_for_no_table_first_gets_objects(full: Api, accept: str) -> None:
    assert full.get(f"{PODS}/p", Accept=accept)["kind"] == "Pod"
    assert full.get(PODS, Accept=accept)["kind"] == "PodList"


def test_a_refusal_is_no_table(full: Api) -> None:
    assert full.refused("GET", f"{PODS}/absent", headers={"Accept": ACCEPT})[0] == 404
