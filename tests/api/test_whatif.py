from typing import Any

import pytest

from api_world import BOOK, GROUPS, NODES, PODS, Api
from build import group, node, pod


@pytest.fixture
def full(api: Api) -> Api:
    """A gang of two, of which there is room for one."""
    api.post(NODES, node("n1", cpu="1"))
    api.post(GROUPS, group("g", min_count=2))
    api.post(PODS, pod("a", cpu="1", group="g"), pod("b", cpu="1", group="g"))
    api.settle()
    return api


def _ask(api: Api, question: Any) -> Any:
    reply = api.client.post(f"{BOOK}/whatif", json=question)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_one_node_more(full: Api) -> None:
    head = full.get(f"{BOOK}/log/head")
    found = _ask(full, {"apply": [node("n2", cpu="1")]})

    (gang,) = found["differences"]
    assert gang["entity"] == "PodGroup/default/g"
    assert (gang["without"]["verdict"], gang["with"]["verdict"]) == ("Unschedulable", "Scheduled")
    assert gang["with"]["nodes"] == {"default/a": "n1", "default/b": "n2"}
    assert full.get(f"{BOOK}/log/head") == head


def test_at_a_past_moment(full: Api) -> None:
    found = _ask(
        full,
        {
            "at": "1",
            "delete": [{"kind": "node", "name": "n1"}],
            "apply": [node("n2", cpu="4")],
            "configuration": {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "podMaxBackoffSeconds": 60,
            },
            "for": "5m",
        },
    )

    assert found["changes"] == [
        "KubeSchedulerConfiguration configured",
        "Node/n1 deleted",
        "Node/n2 created",
    ]
    assert found["recorded"]["requests"] == 3
    assert found["differences"][0]["with"]["nodes"] == {"default/a": "n2", "default/b": "n2"}


def test_a_fork_that_is_kept(full: Api) -> None:
    _ask(full, {"apply": [node("n2", cpu="1")], "save": "try"})

    assert full.get(f"/clusters/try{BOOK}/namespaces/default/podgroups/g/why")["verdict"] == "Scheduled"
    assert full.get(f"{BOOK}/namespaces/default/podgroups/g/why")["verdict"] == "Unschedulable"
    assert full.refused("POST", f"{BOOK}/whatif", json={"save": "try"})[0] == 409


@pytest.mark.parametrize(
    ("question", "code", "told"),
    [
        pytest.param({"at": "99"}, 410, "position 99 is in the future", id="the future"),
        pytest.param({"at": "x"}, 400, 'at: Invalid value: "x"', id="no moment"),
        pytest.param({"for": "x"}, 400, 'for: Invalid value: "x": must be a length', id="no span"),
        pytest.param({"delete": [{"kind": "Pod"}]}, 400, "delete.0.name: Required value", id="no name"),
        pytest.param({"for": f"{10**9}d"}, 400, "must be at most 36500d", id="no end"),
        pytest.param(
            {"save": "a/b"}, 400, 'save: Invalid value: "a/b": must be a lowercase', id="no cluster"
        ),
        pytest.param({"aplly": []}, 400, "aplly: there is no such field", id="a field that is none"),
        pytest.param(
            {"delete": [{"kind": "Pod", "name": "a", "ns": "b"}]},
            400,
            "delete.0.ns: there is no such field",
            id="a field of a target that is none",
        ),
        pytest.param({"deadlineSeconds": 999}, 400, "deadlineSeconds: Invalid value: 999", id="too long"),
        pytest.param(
            {"delete": [{"kind": "Pod", "name": "none"}]}, 404, 'pods "none" not found', id="not there"
        ),
        pytest.param({"apply": [node("N")]}, 422, 'Node "N" is invalid', id="not admitted"),
    ],
)
def test_refusals(full: Api, question: Any, code: int, told: str) -> None:
    found, _, message = full.refused("POST", f"{BOOK}/whatif", json=question)

    assert found == code
    assert told in message
