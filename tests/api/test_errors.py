import logging

import pytest

from api.bodies import LIMIT
from api_world import BOOK, CORE, NODES, PODS, Api
from build import node, pod
from store.errors import StoreLocked

_NO_ROUTE = "the server could not find the requested resource"
_NO_METHOD = "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        pytest.param("GET", "/nothing", (404, "NotFound", _NO_ROUTE), id="no route"),
        pytest.param("GET", "/api/v1/deployments", (404, "NotFound", _NO_ROUTE), id="no such resource"),
        pytest.param("GET", "/apis/apps", (404, "NotFound", _NO_ROUTE), id="no such group"),
        pytest.param("GET", "/apis/apps/v1", (404, "NotFound", _NO_ROUTE), id="no such version"),
        pytest.param(
            "POST", "/api/v1/pods", (405, "MethodNotAllowed", _NO_METHOD), id="POST without namespace"
        ),
        pytest.param("PATCH", PODS, (405, "MethodNotAllowed", _NO_METHOD), id="PATCH of a collection"),
        pytest.param("PUT", PODS, (405, "MethodNotAllowed", _NO_METHOD), id="PUT of a collection"),
        pytest.param("POST", f"{BOOK}/queue", (405, "MethodNotAllowed", _NO_METHOD), id="POST to the book"),
    ],
)
def test_routes_that_are_not_there(api: Api, method: str, path: str, expected: tuple[int, str, str]) -> None:
    assert api.refused(method, path) == expected


def test_an_answer_to_a_wrong_method_names_the_right_ones(api: Api) -> None:
    assert api.client.patch(f"{BOOK}/queue").headers["allow"] == "GET"


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        pytest.param(
            "application/x-www-form-urlencoded",
            b"a=b",
            (
                415,
                "UnsupportedMediaType",
                (
                    "the body of the request was in an unknown format - accepted media types include:"
                    " application/json, application/yaml (it was application/x-www-form-urlencoded)"
                ),
            ),
            id="what curl sends by itself",
        ),
        pytest.param(
            "application/json",
            b'{"metadata":\n {"name": }}',
            (400, "BadRequest", "body: line 2, column 11: Expecting value"),
            id="malformed JSON",
        ),
        pytest.param(
            "application/json",
            b'{"a": NaN}',
            (400, "BadRequest", "body: JSON is malformed: invalid character (byte 6)"),
            id="a number that JSON has not",
        ),
        pytest.param(
            "application/json",
            b'{"a": "\xff"}',
            (400, "BadRequest", "body, line 1, column 8: not UTF-8"),
            id="bytes that are no text",
        ),
        pytest.param(
            "application/json",
            b"[1]",
            (400, "BadRequest", "body, document 1, line 1: an object is a mapping of fields"),
            id="a list",
        ),
        pytest.param(
            "application/json",
            b'{"kind": "NodeList", "items": [{}, {}]}',
            (400, "BadRequest", "body: a request holds one object, this one has 2"),
            id="a list of objects",
        ),
        pytest.param(
            "application/json",
            b'{"kind": "Node", "kind": "Node"}',
            (
                400,
                "BadRequest",
                "body, document 1, line 1, column 18: the key 'kind' stands twice in one mapping",
            ),
            id="a key twice",
        ),
        pytest.param(
            "application/json",
            b'{"value": ' + b"9" * 5000 + b"}",
            (400, "BadRequest", "body, document 1, line 1, column 11: a number of too many digits"),
            id="a number of too many digits",
        ),
        pytest.param(
            "application/json",
            b'{"a": ' * 200 + b"1" + b"}" * 200,
            (400, "BadRequest", "body, document 1, line 1, column 601: it is nested too deep"),
            id="nested too deep",
        ),
        pytest.param(
            "application/json",
            b"[" * 100_000,
            (400, "BadRequest", "body: it is nested too deep"),
            id="nested deeper than can be looked at",
        ),
        pytest.param(
            "application/json",
            b"metadata: {}",
            (400, "BadRequest", "body: line 1, column 1: Expecting value"),
            id="YAML that is called JSON",
        ),
        pytest.param(
            "application/json",
            b" ",
            (400, "BadRequest", "body: Required value: the request holds no object"),
            id="nothing",
        ),
        pytest.param(
            "application/yaml",
            b"a: 1\n---\nb: 2\n",
            (400, "BadRequest", "body: a request holds one object, this one has 2"),
            id="two documents",
        ),
        pytest.param(
            "application/json",
            b" " * (LIMIT + 1),
            (413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"),
            id="too large",
        ),
    ],
)
def test_bodies_that_are_not_taken(
    api: Api, content_type: str, body: bytes, expected: tuple[int, str, str]
) -> None:
    assert api.refused("POST", NODES, content=body, headers={"Content-Type": content_type}) == expected


def test_malformed_yaml_names_line_and_column(api: Api) -> None:
    body = b"metadata:\n  name: [a\n"
    code, reason, message = api.refused(
        "POST", NODES, content=body, headers={"Content-Type": "application/yaml"}
    )
    assert (code, reason) == (400, "BadRequest")
    assert message.startswith("body")
    assert "line 3, column 1" in message


def test_a_body_of_unknown_length_is_too_large_as_well(api: Api) -> None:
    chunks = iter([b" " * LIMIT, b" "])
    reply = api.refused("POST", NODES, content=chunks, headers={"Content-Type": "application/json"})
    assert reply[:2] == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            "/clusters/other/api/v1/pods", (404, "NotFound", 'clusters "other" not found'), id="none"
        ),
        pytest.param(
            "/clusters/No_Body/api/v1/pods",
            (
                400,
                "BadRequest",
                (
                    'cluster: Invalid value: "No_Body": must be a lowercase RFC 1123 subdomain,'
                    " such as 'team-a'"
                ),
            ),
            id="bad name",
        ),
        pytest.param("/clusters", (404, "NotFound", _NO_ROUTE), id="no name"),
    ],
)
def test_clusters_that_are_not_there(api: Api, path: str, expected: tuple[int, str, str]) -> None:
    assert api.refused("GET", path) == expected


def test_another_cluster_is_made_by_its_first_object(api: Api) -> None:
    other = f"/clusters/team-a{PODS}"
    assert api.refused("POST", other, json={"metadata": {"name": "Bad_Name"}})[0] == 422
    assert api.refused("GET", other)[0] == 404
    assert api.refused("DELETE", f"{other}/p") == (404, "NotFound", 'clusters "team-a" not found')
    api.post(other, pod("p"))
    assert [item["metadata"]["name"] for item in api.get(other)["items"]] == ["p"]
    assert api.get(f"/clusters/team-a{BOOK}/log/head")["position"] == 1
    assert api.get(PODS)["items"] == []
    assert api.get(f"/clusters/default{PODS}")["items"] == []


def test_a_store_that_cannot_be_used_is_503(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object, **__: object) -> None:
        raise StoreLocked("the store x is locked by another process: try again, or stop that process")

    monkeypatch.setattr(type(api.served.cluster.log), "append_all", locked)
    assert api.refused("POST", PODS, json=pod("p")) == (
        503,
        "ServiceUnavailable",
        "the store x is locked by another process: try again, or stop that process",
    )


def test_a_defect_is_500_and_gives_nothing_away(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(type(api.served.cluster), "refresh", broken)
    with caplog.at_level(logging.ERROR, "ganger.api"):
        code, reason, message = api.refused("GET", PODS)
    assert (code, reason) == (500, "InternalError")
    assert "secret" not in message


@pytest.mark.parametrize("before", ["", "/clusters/default"])
@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param(f"{PODS}/%00", 404, id="a name"),
        pytest.param(f"{CORE}/namespaces/a%00/pods", 404, id="a namespace"),
        pytest.param(f"{BOOK}/nodes/%00/history", 404, id="a history"),
        pytest.param(f"{BOOK}/namespaces/%00/pods/x/why", 404, id="why"),
        pytest.param(f"{CORE}/namespaces/default/events/%00.1", 404, id="an Event"),
        pytest.param(f"{BOOK}/attempts?entity=Pod/%00", 400, id="an entity"),
        pytest.param(
            f"{CORE}/namespaces/default/events?fieldSelector=involvedObject.name%3D%00", 400, id="a field"
        ),
    ],
)
def test_no_store_is_asked_for_a_name_with_nul(api_on_both: Api, before: str, path: str, code: int) -> None:
    """PostgreSQL has no such text, and says so as a failure of its own."""
    api_on_both.post(NODES, node("n"))
    assert api_on_both.refused("GET", f"{before}{path}")[0] == code
