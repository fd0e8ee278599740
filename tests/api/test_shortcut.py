"""The short way answers as the routes do, and takes what it is made for."""

from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from api.shortcut import Shortcut
from api_world import CORE, GROUPS, NODES, PODS, Api
from build import group, node, pod

BY_ROUTE = {"by": "route"}
"""A parameter that no route knows, and that the short way leaves to them."""


REQUESTS = [
    pytest.param("POST", NODES, {"json": node("n")}, id="a Node"),
    pytest.param("POST", PODS, {"json": pod("p", cpu="1")}, id="a Pod"),
    pytest.param("POST", GROUPS, {"json": group("g", min_count=2)}, id="a PodGroup"),
    pytest.param("POST", PODS, {"json": {**pod("p"), "surplus": 1}}, id="a warning"),
    pytest.param("POST", PODS, {"json": {"metadata": {"name": "p"}}}, id="nothing in it"),
    pytest.param("POST", PODS, {"json": node("n")}, id="another kind"),
    pytest.param("POST", PODS, {"json": pod("taken")}, id="a name that is taken"),
    pytest.param("POST", f"{CORE}/namespaces/a/pods", {"json": {**pod("p")}}, id="a namespace"),
    pytest.param("POST", PODS, {"content": b"{"}, id="no JSON"),
    pytest.param("POST", PODS, {"content": b""}, id="no body"),
    pytest.param("POST", PODS, {"content": b"a", "headers": {"content-type": "text/plain"}}, id="no format"),
    pytest.param("POST", PODS, {"content": b" " * (4 << 20)}, id="too large"),
    pytest.param("POST", f"{PODS}/taken", {"json": pod("p")}, id="an item"),
    pytest.param("POST", f"{CORE}/pods", {"json": pod("p")}, id="no namespace"),
    pytest.param("POST", f"{CORE}/namespaces/default/nodes", {"json": node("n")}, id="a namespace too many"),
    pytest.param("POST", f"{CORE}/namespaces/default/others", {"json": node("n")}, id="no such kind"),
    pytest.param("POST", f"/clusters/new-{{}}{NODES}", {"json": node("n")}, id="a new cluster"),
    pytest.param("GET", f"{PODS}/taken", {}, id="an object"),
    pytest.param("GET", f"{PODS}/absent", {}, id="no object"),
    pytest.param("GET", f"{CORE}/namespaces/default", {}, id="no Namespace"),
    pytest.param("GET", PODS, {}, id="a list"),
    pytest.param("HEAD", f"{PODS}/taken", {}, id="no such method"),
    pytest.param("GET", f"/clusters/absent{PODS}/taken", {}, id="no such cluster"),
    pytest.param("GET", f"/clusters/Not_a_name{PODS}/taken", {}, id="no name of a cluster"),
]


@pytest.mark.parametrize(("method", "path", "request_"), REQUESTS)
def test_both_ways_answer_the_same(api: Api, method: str, path: str, request_: Any) -> None:
    answers = []
    for cluster, params in (("one", {}), ("another", BY_ROUTE)):
        api.post(f"/clusters/{cluster}{PODS}", pod("taken"))
        own = path.format(cluster) if path.startswith("/clusters") else f"/clusters/{cluster}{path}"
        reply = api.client.request(method, own, params=params, **request_)
        answers.append((reply.status_code, _headers(reply), _without_uid(reply)))
    assert answers[0] == answers[1]


def _headers(reply: Any) -> list[tuple[str, str]]:
    return sorted(reply.headers.items())


def _without_uid(reply: Any) -> Any:
    """The body, without what is drawn anew for every object."""
    if not reply.content:
        return None
    body = reply.json()
    for item in body.get("items", [body]):
        item["metadata"].pop("uid", None)
    return body


@pytest.mark.parametrize(
    ("method", "path", "short"),
    [
        pytest.param("POST", PODS, True, id="create"),
        pytest.param("POST", NODES, True, id="create for the whole cluster"),
        pytest.param("GET", f"{PODS}/p", True, id="read"),
        pytest.param("GET", PODS, False, id="list"),
        pytest.param("DELETE", f"{PODS}/p", False, id="delete"),
        pytest.param("POST", f"{PODS}?dryRun=All", False, id="with a parameter"),
        pytest.param("GET", f"{PODS}/p?at=1", False, id="of the past"),
    ],
)
def test_what_takes_the_short_way(api: Api, method: str, path: str, short: bool) -> None:
    api.post(NODES, node("n"))
    left: list[str] = []

    async def routes(scope: Scope, receive: Receive, send: Send) -> None:
        left.append(scope["path"])

    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [],
        "app": api.app,
    }
    assert (Shortcut(routes)._answer(scope) is not None) is short
