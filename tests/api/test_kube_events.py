"""Kubernetes Events over HTTP, in both of their APIs."""

from collections.abc import Callable
from typing import Any

import pytest

from api_world import CORE, GROUPS, NODES, PODS, Api
from build import group, node, pod
from domain.times import SECOND

EVENTS = f"{CORE}/namespaces/default/events"
NEWER = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.fixture
def told(api: Api) -> Api:
    """A gang that was refused, a Pod that was bound, and one of another namespace."""
    api.post(NODES, node("n1", cpu="1"))
    api.post(GROUPS, group("g", 2))
    api.post(PODS, pod("g-0", cpu="1", group="g"), pod("g-1", cpu="1", group="g"), pod("a"))
    api.post(f"{CORE}/namespaces/team/pods", pod("b", namespace="team"))
    api.settle()
    return api


def _pods(body: Any) -> str:
    about = "regarding" if body["apiVersion"].startswith("events") else "involvedObject"
    return " ".join(item[about]["name"] for item in body["items"])


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        pytest.param(EVENTS, "", "a g-0 g-1", id="of a namespace"),
        pytest.param(f"{CORE}/events", "", "a g-0 g-1 b", id="of all"),
        pytest.param(NEWER, "", "a g-0 g-1", id="in the newer API"),
        pytest.param("/apis/events.k8s.io/v1/events", "", "a g-0 g-1 b", id="of all, in the newer API"),
        pytest.param(EVENTS, "fieldSelector=involvedObject.name%3Dg-0", "g-0", id="about a Pod"),
        pytest.param(
            f"{CORE}/events",
            "fieldSelector=involvedObject.name%3Db,involvedObject.namespace%3Dteam",
            "b",
            id="about a Pod of a namespace",
        ),
        pytest.param(f"{CORE}/events", "fieldSelector=involvedObject.name%3Db", "b", id="by name alone"),
        pytest.param(
            EVENTS,
            "fieldSelector=involvedObject.name%3Dg,involvedObject.kind%3DPodGroup",
            "",
            id="about a group",
        ),
        pytest.param(EVENTS, "fieldSelector=involvedObject.uid%3Dnobody", "", id="about another uid"),
        pytest.param(NEWER, "fieldSelector=regarding.name%3Dg-1", "g-1", id="regarding a Pod"),
        pytest.param(EVENTS, "fieldSelector=reason%3DScheduled", "a", id="reason"),
        pytest.param(EVENTS, "fieldSelector=type!%3DNormal", "g-0 g-1", id="type"),
        pytest.param(EVENTS, "fieldSelector=source%3Ddefault-scheduler", "a g-0 g-1", id="source"),
        pytest.param(NEWER, "fieldSelector=reportingController%3Dother", "", id="controller"),
        pytest.param(EVENTS, "labelSelector=app", "", id="labels, of which there are none"),
        pytest.param(EVENTS, "at=3", "", id="before it all"),
    ],
)
def test_what_is_listed(told: Api, path: str, query: str, expected: str) -> None:
    assert _pods(told.get(f"{path}?{query}")) == expected


def test_a_list_says_what_it_is(told: Api) -> None:
    body = told.get(NEWER)
    assert (body["kind"], body["apiVersion"]) == ("EventList", "events.k8s.io/v1")
    assert body["metadata"] == {"resourceVersion": str(told.served.cluster.state.position)}


def test_pages(told: Api) -> None:
    whole = told.get(f"{CORE}/events")["items"]
    first = told.get(f"{CORE}/events?limit=3")
    told.clock.advance_to(told.clock.now() + 7200 * SECOND)
    second = told.get(f"{CORE}/events?limit=3&continue={first['metadata']['continue']}")
    assert (first["metadata"]["remainingItemCount"], second["metadata"]) == (
        1,
        {"resourceVersion": first["metadata"]["resourceVersion"]},
    )
    assert first["items"] + second["items"] == whole
    assert "remainingItemCount" not in told.get(f"{EVENTS}?limit=1&fieldSelector=type%3DWarning")["metadata"]


def test_one_event_by_its_name(told: Api) -> None:
    for event in told.get(EVENTS)["items"]:
        assert told.get(f"{EVENTS}/{event['metadata']['name']}") == event
    name = event["metadata"]["name"]
    assert told.get(f"{NEWER}/{name}")["note"] == event["message"]


def test_after_an_hour_only_a_pod_tells_of_its_events(told: Api) -> None:
    before = told.get(f"{EVENTS}?fieldSelector=involvedObject.name%3Da")["items"]
    position = told.served.cluster.state.position
    told.clock.advance_to(told.clock.now() + 3600 * SECOND)
    assert told.get(EVENTS)["items"] == []
    assert told.get(f"{EVENTS}?fieldSelector=involvedObject.name%3Da")["items"] == before
    assert told.get(f"{EVENTS}/{before[0]['metadata']['name']}") == before[0]
    assert _pods(told.get(f"{EVENTS}?at={position}")) == "a g-0 g-1"
    assert _pods(told.get(f"{EVENTS}?resourceVersion={position}&resourceVersionMatch=Exact")) == "a g-0 g-1"


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        pytest.param(
            "GET", f"{EVENTS}/nobody.1", (404, "NotFound", 'events "nobody.1" not found'), id="no such"
        ),
        pytest.param(
            "GET",
            f"{NEWER}/a.1",
            (404, "NotFound", 'events.events.k8s.io "a.1" not found'),
            id="in the newer API",
        ),
        *(
            pytest.param(
                method,
                path,
                (405, "MethodNotAllowed", "the server does not allow this method on the requested resource"),
                id=f"{method} {path}",
            )
            for collection in (EVENTS, NEWER)
            for method, path in (
                ("POST", collection),
                ("DELETE", collection),
                ("PUT", f"{collection}/a.1"),
                ("PATCH", f"{collection}/a.1"),
                ("DELETE", f"{collection}/a.1"),
            )
        ),
    ],
)
def test_what_is_refused(told: Api, method: str, path: str, answer: tuple[int, str, str]) -> None:
    assert told.refused(method, path) == answer


@pytest.mark.parametrize(
    ("query", "code"),
    [
        pytest.param("fieldSelector=regarding.name%3Da", 400, id="a field of the other API"),
        pytest.param("fieldSelector=spec.nodeName%3Da", 400, id="a field of other kinds"),
        pytest.param("watch=true", 405, id="watch"),
        pytest.param("at=999", 410, id="the future"),
        pytest.param("at=soon", 400, id="no moment"),
        pytest.param("continue=x", 400, id="no token"),
    ],
)
def test_lists_that_are_refused(told: Api, query: str, code: int) -> None:
    assert told.refused("GET", f"{EVENTS}?{query}")[0] == code


# What is shown that the log does not hold


def _budget(**spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"selector": selector, **spec},
    }


BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.fixture
def budget(api: Api) -> Callable[..., dict[str, Any]]:
    """Makes a budget over three Pods of which two run, and gives its status as it is then read."""

    def make(**spec: Any) -> dict[str, Any]:
        for name in ("a", "b", "c"):
            manifest = pod(name, node=None if name == "c" else "n1")
            manifest["metadata"]["labels"] = {"app": "web"}
            manifest["status"] = {"phase": "Pending" if name == "c" else "Running"}
            api.post(PODS, manifest)
        (created,) = api.post(BUDGETS, _budget(**spec))
        shown: dict[str, Any] = api.get(f"{BUDGETS}/web")
        assert shown == created
        assert [shown] == api.get(BUDGETS)["items"]
        status: dict[str, Any] = shown["status"]
        return status

    return make


def test_a_budget_shows_what_is_counted_for_it(budget: Callable[..., dict[str, Any]]) -> None:
    assert budget(minAvailable=1) == {
        "disruptionsAllowed": 1,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 3,
    }


def test_a_budget_shows_the_status_that_somebody_wrote(
    api: Api, budget: Callable[..., dict[str, Any]]
) -> None:
    budget(maxUnavailable=1)
    written = {"disruptionsAllowed": 7, "currentHealthy": 9, "desiredHealthy": 2, "expectedPods": 9}
    reply = api.client.put(f"{BUDGETS}/web/status", json=_budget(maxUnavailable=1) | {"status": written})
    assert reply.status_code == 200
    assert api.get(f"{BUDGETS}/web")["status"] == written


CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def test_every_cluster_has_two_priority_classes(api: Api) -> None:
    api.post(NODES, node("n1"))
    listed = api.get(CLASSES)["items"]
    assert [(each["metadata"]["name"], each["value"]) for each in listed] == [
        ("system-cluster-critical", 2_000_000_000),
        ("system-node-critical", 2_000_001_000),
    ]
    assert listed == [api.get(f"{CLASSES}/{each['metadata']['name']}") for each in listed]
    assert api.get(f"{CLASSES}?fieldSelector=metadata.name%3Dsystem-node-critical")["items"] == listed[1:]
    page = api.get(f"{CLASSES}?limit=1")
    assert page["items"] == listed[:1]


def test_the_two_classes_stay_as_they_are(api: Api) -> None:
    api.post(NODES, node("n1"))
    path = f"{CLASSES}/system-node-critical"
    shown = api.get(path)
    code, reason, message = api.refused("DELETE", path)
    assert (code, reason) == (403, "Forbidden")
    assert message.endswith("this is a system priority class and cannot be deleted")
    assert api.refused("PUT", path, json=shown | {"value": 1})[:2] == (422, "Invalid")
    assert api.refused("POST", CLASSES, json=shown)[:2] == (409, "AlreadyExists")
    assert api.client.put(path, json=shown).json() == shown
    assert api.served.cluster.state.position == 1


def test_a_class_of_the_two_can_be_described_anew(api: Api) -> None:
    api.post(NODES, node("n1"))
    path = f"{CLASSES}/system-node-critical"
    shown = api.get(path)
    changed = api.client.put(path, json=shown | {"description": "ours"})
    assert (changed.status_code, changed.json()["description"]) == (200, "ours")
    again = api.client.put(path, json=changed.json() | {"description": "theirs"})
    assert (again.status_code, again.json()["metadata"]["resourceVersion"]) == (200, "3")
    assert again.json()["metadata"]["uid"] == shown["metadata"]["uid"]
    assert [each["value"] for each in api.get(CLASSES)["items"]] == [2_000_000_000, 2_000_001_000]
