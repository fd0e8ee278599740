import hashlib
import json
from itertools import pairwise
from typing import Any

import pytest

from api_world import BOOK, CORE, GROUPS, NODES, PODS, Api
from build import group, node, pod
from domain.envelope import GENESIS

GANG = f"{BOOK}/namespaces/default/podgroups/g"


@pytest.fixture
def rejected(api_on_both: Api) -> Api:
    """A gang of two, tried and refused since there is room for one only."""
    api = api_on_both
    api.post(NODES, node("n1", cpu="1"))
    api.post(GROUPS, group("g", min_count=2))
    api.post(PODS, pod("a", cpu="1", group="g"), pod("b", cpu="1", group="g"))
    api.settle()
    return api


def _types(body: Any) -> list[str]:
    return [item["event"]["type"] for item in body["items"]]


def test_from_a_refusal_to_a_binding_to_the_end(rejected: Api) -> None:
    api = rejected
    assert api.get(f"{GANG}/why")["lane"] == "backoff"
    api.clock.advance_to(api.clock.now() + 10_000_000)
    why = api.get(f"{GANG}/why")
    assert (why["verdict"], why["lane"], why["attempts"]) == ("Unschedulable", "unschedulable", 1)
    assert why["summary"].startswith("minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")
    (waiter,) = api.get(f"{BOOK}/queue")["waiters"]
    assert (waiter["entity"], waiter["lane"], waiter["pods"]) == ("PodGroup/default/g", "unschedulable", 2)

    api.post(NODES, node("n2", cpu="1"))
    api.settle()
    assert api.get(f"{GANG}/why")["verdict"] == "Scheduled"
    assert api.get(f"{BOOK}/queue")["waiters"] == []
    assert [each["spec"]["nodeName"] for each in api.get(PODS)["items"]] == ["n1", "n2"]

    api.client.delete(f"{PODS}/a?gracePeriodSeconds=0")
    api.client.delete(f"{PODS}/b?gracePeriodSeconds=0")
    api.client.delete(f"{GROUPS}/g")
    assert api.refused("GET", f"{GROUPS}/g")[0] == 404
    assert api.get(f"{GANG}/why")["verdict"] == "Deleted"
    history = _types(api.get(f"{GANG}/history"))
    assert history[0] == "PodGroupAdded"
    assert history.count("GroupAttempted") == 2
    assert history[-1] == "PodGroupDeleted"


def test_the_log_passes_through_byte_for_byte(rejected: Api) -> None:
    stored = list(rejected.served.cluster.log.read())
    reply = rejected.client.get(f"{BOOK}/log")
    for event in stored:
        assert b'{"hash":"%b","event":%b}' % (event.hash.hex().encode(), event.line) in reply.content
    assert [item["event"]["position"] for item in reply.json()["items"]] == [each.position for each in stored]
    assert reply.json()["next"] is None


def test_the_chain_can_be_checked_with_what_is_served(rejected: Api) -> None:
    lines = rejected.client.get(
        f"{BOOK}/log", headers={"Accept": "application/x-ndjson"}
    ).content.splitlines()
    before = GENESIS
    for line in lines:
        event = line[line.index(b'"event":') + len(b'"event":') : -1]
        before = hashlib.sha256(before + event).digest()
        assert json.loads(line)["hash"] == before.hex()
    head = rejected.get(f"{BOOK}/log/head")
    assert (head["position"], head["hash"]) == (len(lines), before.hex())


def test_pages_of_the_log_lead_on(rejected: Api) -> None:
    whole = rejected.get(f"{BOOK}/log")["items"]
    found, after = [], 0
    while after is not None:
        page = rejected.get(f"{BOOK}/log?after={after}&limit=2")
        found += page["items"]
        after = page["next"]
    assert found == whole


def test_one_event(rejected: Api) -> None:
    entry = rejected.get(f"{BOOK}/log/1")
    item = rejected.get(f"{BOOK}/log?limit=1")["items"][0]
    assert entry == {"position": 1, "time": "2026-01-01T00:00:00.000000Z"} | item


def test_the_head_of_nothing(api: Api) -> None:
    assert api.get(f"{BOOK}/log/head") == {"position": 0, "hash": GENESIS.hex(), "time": None}
    assert api.get(f"{BOOK}/log") == {"items": [], "next": None}
    assert api.get(f"{BOOK}/state")["objects"]["pods"] == []


def test_pages_of_a_history_lead_on(rejected: Api) -> None:
    whole = rejected.get(f"{GANG}/history")
    assert _types(whole)[0] == "PodGroupAdded"
    found, after = [], 0
    while after is not None:
        page = rejected.get(f"{GANG}/history?after={after}&limit=1")
        found += page["items"]
        after = page["next"]
    assert found == whole["items"]
    assert all(a < b for a, b in pairwise(item["event"]["position"] for item in found))


def test_a_part_of_a_history(api: Api) -> None:
    api.post(NODES, node("n"))
    for cpu in ("2", "3"):
        api.clock.advance_to(api.clock.now() + 10_000_000)
        status = {"status": {"allocatable": {"cpu": cpu, "pods": "5"}}}
        assert api.client.put(f"{NODES}/n/status", json=node("n") | status).status_code == 200

    def positions(query: str) -> list[int]:
        items = api.get(f"{BOOK}/nodes/n/history?{query}")["items"]
        return [item["event"]["position"] for item in items]

    assert positions("") == [1, 2, 3]
    assert positions("since=2026-01-01T00:00:10Z") == [2, 3]
    assert positions("until=2026-01-01T00:00:10Z") == [1, 2]
    assert positions("since=-10s") == [2, 3]
    assert positions("since=2&until=2") == [2]
    assert positions("after=1&limit=1") == [2]


def test_a_history_is_sent_once(rejected: Api) -> None:
    path = f"{GANG}/history"
    tag = rejected.client.get(path).headers["etag"]
    again = rejected.client.get(path, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    for known in ("*", f'"other", W/{tag}'):
        assert rejected.client.get(path, headers={"If-None-Match": known}).status_code == 304
    rejected.post(PODS, pod("c", group="g"))
    assert rejected.client.get(path, headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("name", ["at", "since", "until"])
def test_a_moment_that_is_none_is_told_by_its_name(rejected: Api, name: str) -> None:
    assert rejected.refused("GET", f"{GANG}/history?{name}=x")[2].startswith(f'{name}: Invalid value: "x"')


def test_a_parameter_that_a_route_does_not_have_is_refused(api: Api) -> None:
    api.post(NODES, node("n"))
    own = {path: each for path, each in api.app.openapi()["paths"].items() if path.startswith(f"{BOOK}/")}
    assert len(own) > 10
    for path, operations in own.items():
        filled = path.format(namespace="default", kind="podgroups", name="g", position="1")
        for method in operations:
            code, _, message = api.refused(method.upper(), f"{filled}?att=1")
            assert (code, message.partition(":")[0]) == (400, "att"), (method, path)
    takes = "att: there is no such parameter: this takes the parameters at"
    assert api.refused("GET", f"{BOOK}/queue?att=1")[2] == takes


@pytest.mark.parametrize("kind", ["podgroups", "PodGroup", "pg", "podgroups.scheduling.k8s.io"])
def test_kinds_have_the_names_kubectl_takes(rejected: Api, kind: str) -> None:
    assert rejected.get(f"{BOOK}/namespaces/default/{kind}/g/why")["object"]["kind"] == "PodGroup"


def test_why_at_a_moment_and_at_a_level(rejected: Api) -> None:
    assert rejected.get(f"{GANG}/why?at=3")["verdict"] == "Gated"
    brief = rejected.get(f"{GANG}/why?level=0")
    assert brief == {name: rejected.get(f"{GANG}/why")[name] for name in brief}
    assert list(brief) == ["object", "at", "verdict", "summary", "note"]
    usual, alike, full = (rejected.get(f"{GANG}/why?level={level}") for level in (1, 2, 3))
    assert usual["looks"] == []
    ((second,), (third,)) = alike["looks"], full["looks"]
    assert second == third | {"nodes": []}
    refusal = {"filter": "NodeResourcesFit", "reason": "Insufficient cpu", "preemptionMayHelp": True}
    assert second["alike"] == [
        {
            "nodes": ["n1"],
            "count": 1,
            "verdict": [refusal],
            "free": [{"name": "cpu", "least": "0", "most": "0"}],
        }
    ]
    assert third["nodes"] == [
        {"node": "n1", "verdict": [refusal], "free": {"cpu": "0"}, "scores": None, "total": None}
    ]
    assert full["placements"] == []
    assert rejected.get(f"{GANG}/why?at=3&level=3")["verdict"] == "Gated"
    assert rejected.get(f"{BOOK}/nodes/n1/why")["object"]["name"] == "n1"


def test_what_would_help(rejected: Api) -> None:
    told = rejected.get(f"{GANG}/why?deadline=50")
    assert {"change": "lower minCount to 1", "from": "2", "to": "1"}.items() <= told["wouldHelp"][1].items()
    assert told["wouldHelpCutOff"] is False
    assert rejected.get(f"{GANG}/why?deadline=0")["wouldHelp"] == []
    assert rejected.get(f"{GANG}/why?at=3&deadline=50")["wouldHelp"][0]["kind"] == "lowerMinimum"
    assert rejected.refused("GET", f"{GANG}/why?deadline=-1")[0] == 400


def test_attempts_are_newest_first(rejected: Api) -> None:
    api = rejected
    api.post(PODS, pod("single", cpu="1"))
    api.post(NODES, node("n2", cpu="2"))
    api.settle()
    attempts = api.get(f"{BOOK}/attempts")
    told = [
        (each["event"]["payload"]["entity"], each["event"]["payload"]["outcome"])
        for each in attempts["items"]
    ]
    assert told[-1] == ("PodGroup/default/g", "unschedulable")
    positions = [each["event"]["position"] for each in attempts["items"]]
    assert positions == sorted(positions, reverse=True)
    assert _types(attempts) == ["GroupAttempted"] * len(told)

    def entities(query: str) -> list[tuple[str, str]]:
        items = api.get(f"{BOOK}/attempts?{query}")["items"]
        return [(each["event"]["payload"]["entity"], each["event"]["payload"]["outcome"]) for each in items]

    assert entities("outcome=scheduled") == [each for each in told if each[1] == "scheduled"]
    assert entities("entity=pg/g") == [each for each in told if each[0] == "PodGroup/default/g"]
    assert entities("entity=Pod/default/single") == [each for each in told if each[0] == "Pod/default/single"]
    assert entities(f"after={positions[-1]}") == told[:-1]
    first = api.get(f"{BOOK}/attempts?limit=1")
    assert first["items"] == attempts["items"][:1]
    assert api.get(f"{BOOK}/attempts?before={first['next']}")["items"] == attempts["items"][1:]


def test_one_decision_with_what_was_decided(rejected: Api) -> None:
    api = rejected
    api.post(NODES, node("n2", cpu="1"))
    api.settle()
    newest = api.get(f"{BOOK}/attempts?limit=1")["items"][0]
    decision = api.get(f"{BOOK}/attempts/{newest['event']['position']}")
    assert decision["attempt"] == newest
    assert _types({"items": decision["decided"]}) == ["PodBound", "PodBound"]
    assert decision["findings"] is None


def test_findings_stand_with_the_attempt_that_made_them(api: Api) -> None:
    api.post(NODES, node("n1", cpu="1"))
    api.post(PODS, pod("a", cpu="2"))
    api.settle()
    api.post(NODES, node("n2", cpu="2"))
    api.client.delete(f"{NODES}/n2")
    api.settle()
    newest, *_, first = api.get(f"{BOOK}/attempts")["items"]
    repeated = newest["event"]["payload"].get("sameAs")
    decision = api.get(f"{BOOK}/attempts/{newest['event']['position']}")
    assert decision["findings"] == (first if repeated else None)


def test_the_whole_state(rejected: Api) -> None:
    api = rejected
    state = api.get(f"{BOOK}/state")
    assert state["objects"]["pods"] == api.get(PODS)["items"]
    assert state["objects"]["podgroups.scheduling.k8s.io"] == api.get(GROUPS)["items"]
    assert state["queue"]["waiters"] == api.get(f"{BOOK}/queue")["waiters"]
    head = api.get(f"{BOOK}/log/head")
    assert (state["position"], state["hash"]) == (head["position"], head["hash"])
    before = api.get(f"{BOOK}/state?at=3")
    assert [each["metadata"]["name"] for each in before["objects"]["pods"]] == ["a"]
    assert before["objects"]["pods"] == api.get(f"{CORE}/pods?at=3")["items"]
    assert before["queue"] == api.get(f"{BOOK}/queue?at=3")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(f"{GANG}/history", (404, "NotFound"), id="history of what never was"),
        pytest.param(f"{GANG}/why", (404, "NotFound"), id="why of what never was"),
        pytest.param(f"{BOOK}/namespaces/default/jobs/g/why", (404, "NotFound"), id="unknown kind"),
        pytest.param(f"{BOOK}/namespaces/default/nodes/n/why", (404, "NotFound"), id="no namespace there"),
        pytest.param(f"{BOOK}/pods/p/history", (404, "NotFound"), id="in a namespace only"),
        pytest.param(f"{GANG}/why?level=4", (400, "BadRequest"), id="a level that is not there"),
        pytest.param(f"{GANG}/why?at=7", (410, "Expired"), id="why in the future"),
        pytest.param(f"{GANG}/why?at=x", (400, "BadRequest"), id="no moment"),
        pytest.param(f"{GANG}/history?since=x", (400, "BadRequest"), id="since no moment"),
        pytest.param(f"{GANG}/history?limit=0", (400, "BadRequest"), id="no page"),
        pytest.param(f"{BOOK}/queue?at=7", (410, "Expired"), id="queue in the future"),
        pytest.param(f"{BOOK}/state?at=7", (410, "Expired"), id="state in the future"),
        pytest.param(f"{BOOK}/log/7", (410, "Expired"), id="event of the future"),
        pytest.param(f"{BOOK}/log/{2**70}", (410, "Expired"), id="event of a future that no log reaches"),
        pytest.param(f"{BOOK}/attempts/{2**70}", (404, "NotFound"), id="attempt that no log reaches"),
        pytest.param(f"{BOOK}/log/-1", (400, "BadRequest"), id="event before the beginning"),
        pytest.param(f"{BOOK}/log/{-(2**70)}", (400, "BadRequest"), id="event far before the beginning"),
        pytest.param(f"{BOOK}/attempts/-1", (400, "BadRequest"), id="attempt before the beginning"),
        pytest.param(f"{BOOK}/log/x", (400, "BadRequest"), id="position that is none"),
        pytest.param(f"{BOOK}/log?after=-1", (400, "BadRequest"), id="before the beginning"),
        pytest.param(f"{BOOK}/log?limit=10001", (400, "BadRequest"), id="too large a page"),
        *(
            pytest.param(f"{path}?after={position}", (410, "Expired"), id=f"{what} after {position}")
            for what, path in {
                "log": f"{BOOK}/log",
                "attempts": f"{BOOK}/attempts",
                "history": f"{BOOK}/nodes/n/history",
            }.items()
            for position in (1, 2**70)
        ),
        pytest.param(f"{GANG}/history?at=1&until=1", (400, "BadRequest"), id="an end twice"),
        pytest.param(f"{BOOK}/attempts/1", (404, "NotFound"), id="no attempt there"),
        pytest.param(f"{BOOK}/attempts?outcome=lost", (400, "BadRequest"), id="outcome that is none"),
        pytest.param(f"{BOOK}/attempts?entity=pg/a/b/c", (400, "BadRequest"), id="entity that is none"),
        pytest.param(f"{BOOK}/attempts?entity=job/a", (404, "NotFound"), id="entity of an unknown kind"),
    ],
)
def test_what_the_book_cannot_say(api: Api, path: str, expected: tuple[int, str]) -> None:
    assert api.refused("GET", path)[:2] == expected


def test_the_log_is_checked_on_request(rejected: Api) -> None:
    told = rejected.client.post(f"{BOOK}/replay").json()
    head = rejected.get(f"{BOOK}/log/head")
    assert (told["same"], told["attempts"], told["divergence"]) == (True, 1, None)
    assert (told["events"], told["headHash"]) == (head["position"], head["hash"])
