"""The configuration over HTTP: what GET shows PUT takes."""

from typing import Any

import pytest

from api_world import BOOK, NODES, PODS, Api
from build import node, pod

CONFIG = f"{BOOK}/config"


def document(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **fields,
    }


def head(api: Api) -> int:
    position: int = api.get(f"{BOOK}/log/head")["position"]
    return position


def test_what_is_shown_is_taken(api_on_both: Api) -> None:
    api = api_on_both
    shown = api.get(CONFIG)
    assert (shown["podMaxBackoffSeconds"], shown["ganger"]) == (
        10,
        {"retry": "onChange", "siblings": "greedy"},
    )
    changed = shown | {"podMaxBackoffSeconds": 60}
    assert api.client.put(CONFIG, json=changed).json() == changed
    assert api.get(CONFIG) == changed
    assert head(api) == 1
    assert api.client.put(CONFIG, json=changed).json() == changed
    assert head(api) == 1
    assert api.client.put(CONFIG, json=shown).json() == shown
    assert api.get(f"{CONFIG}?at=1") == changed


def test_a_body_need_not_repeat_what_the_path_says(api: Api) -> None:
    reply = api.client.put(CONFIG, content="parallelism: 8", headers={"Content-Type": "application/yaml"})
    assert reply.json() == api.get(CONFIG)
    assert reply.headers["Warning"] == (
        '299 - "parallelism has no effect in ganger: all nodes are looked at at once"'
    )


def test_a_dry_run_changes_nothing(api: Api) -> None:
    before = api.get(CONFIG)
    reply = api.client.put(f"{CONFIG}?dryRun=All", json=document(podMaxBackoffSeconds=60))
    assert reply.json()["podMaxBackoffSeconds"] == 60
    assert api.get(CONFIG) == before
    assert head(api) == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            document(extenders=[{}]),
            (
                422,
                "Invalid",
                "KubeSchedulerConfiguration is invalid: extenders: Forbidden: ganger calls no extenders",
            ),
            id="fault",
        ),
        pytest.param(
            node("n"),
            (
                400,
                "BadRequest",
                (
                    'apiVersion: Invalid value: "v1": this path takes kubescheduler.config.k8s.io/v1'
                    " KubeSchedulerConfiguration"
                ),
            ),
            id="another kind",
        ),
    ],
)
def test_what_is_refused_changes_nothing(api: Api, body: Any, expected: tuple[int, str, str]) -> None:
    assert api.refused("PUT", CONFIG, json=body) == expected
    assert head(api) == 0


def test_every_fault_is_a_cause(api: Api) -> None:
    reply = api.client.put(CONFIG, json=document(extenders=[{}], colour="red"))
    causes = reply.json()["details"]["causes"]
    assert [(cause["field"], cause["message"]) for cause in causes] == [
        ("colour", "Forbidden: unknown field"),
        ("extenders", "Forbidden: ganger calls no extenders"),
    ]


def test_decisions_follow_at_once(api: Api) -> None:
    api.post(NODES, node("n1", unschedulable=True))
    api.client.put(
        CONFIG,
        json=document(profiles=[{"plugins": {"filter": {"disabled": [{"name": "NodeUnschedulable"}]}}}]),
    )
    api.post(PODS, pod("a"))
    api.settle()
    assert api.get(f"{PODS}/a")["spec"]["nodeName"] == "n1"
