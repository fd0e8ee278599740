from typing import Any

import pytest

from api_world import CORE, GROUPS, NODES, PODS, Api
from build import group, node, pod


def _labelled(manifest: dict[str, Any], **labels: str) -> dict[str, Any]:
    return manifest | {"metadata": manifest["metadata"] | {"labels": labels}}


@pytest.fixture
def crowd(api: Api) -> Api:
    """Pods of two namespaces, of which one is bound, one has ended, and some have labels."""
    api.post(PODS, pod("b"), _labelled(pod("a"), app="x"), pod("c", node="n1"))
    done = pod("d", node="n2") | {"status": {"phase": "Succeeded"}}
    api.post(PODS, done)
    api.post(f"{CORE}/namespaces/team/pods", _labelled(pod("e", namespace="team"), app="y"))
    return api


def _names(body: Any) -> str:
    return "".join(item["metadata"]["name"] for item in body["items"])


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        pytest.param(PODS, "", "abcd", id="by name"),
        pytest.param(f"{CORE}/pods", "", "abcde", id="all namespaces"),
        pytest.param(f"{CORE}/namespaces/nobody/pods", "", "", id="an empty namespace"),
        pytest.param(f"{CORE}/pods", "labelSelector=app", "ae", id="labels"),
        pytest.param(f"{CORE}/pods", "labelSelector=app+in+(y,z)", "e", id="labels in a list"),
        pytest.param(PODS, "fieldSelector=metadata.name%3Db", "b", id="name"),
        pytest.param(PODS, "fieldSelector=spec.nodeName%3Dn1", "c", id="node"),
        pytest.param(PODS, "fieldSelector=spec.nodeName%3D", "ab", id="no node"),
        pytest.param(PODS, "fieldSelector=status.phase%3DSucceeded", "d", id="phase"),
        pytest.param(PODS, "fieldSelector=status.phase!%3DSucceeded,spec.nodeName!%3D", "c", id="both"),
        pytest.param(PODS, "fieldSelector=spec.schedulerName%3Dother", "", id="of the manifest alone"),
        pytest.param(PODS, "at=2", "ab", id="as of a position"),
        pytest.param(
            PODS, "resourceVersion=2&resourceVersionMatch=Exact", "ab", id="as Kubernetes asks for it"
        ),
        pytest.param(PODS, "resourceVersion=2", "abcd", id="not older than"),
        pytest.param(PODS, "resourceVersion=0", "abcd", id="any version"),
        pytest.param(PODS, "nonsense=1", "abcd", id="unknown parameters are ignored"),
    ],
)
def test_what_is_listed(crowd: Api, path: str, query: str, expected: str) -> None:
    assert _names(crowd.get(f"{path}?{query}")) == expected


def test_the_version_of_a_list_is_the_position(crowd: Api) -> None:
    assert crowd.get(PODS)["metadata"] == {"resourceVersion": "5"}
    assert crowd.get(f"{PODS}?at=2")["metadata"] == {"resourceVersion": "2"}
    assert crowd.get(NODES) == {
        "kind": "NodeList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "5"},
        "items": [],
    }


def test_pages_are_of_one_moment(crowd: Api) -> None:
    first = crowd.get(f"{PODS}?limit=2")
    assert (_names(first), first["metadata"]["remainingItemCount"]) == ("ab", 2)
    crowd.post(PODS, pod("cc"))
    second = crowd.get(f"{PODS}?limit=2&continue={first['metadata']['continue']}")
    assert (_names(second), second["metadata"]) == ("cd", {"resourceVersion": "5"})


def test_pages_of_what_is_selected_are_not_counted(crowd: Api) -> None:
    first = crowd.get(f"{CORE}/pods?limit=1&labelSelector=app")
    assert (_names(first), sorted(first["metadata"])) == ("a", ["continue", "resourceVersion"])
    token = first["metadata"]["continue"]
    second = crowd.get(f"{CORE}/pods?limit=1&labelSelector=app&continue={token}")
    assert (_names(second), sorted(second["metadata"])) == ("e", ["resourceVersion"])


def test_objects_as_they_were(api: Api) -> None:
    (before,) = api.post(GROUPS, group("g", min_count=1))
    api.clock.advance_to(api.clock.now() + 10_000_000)
    api.post(PODS, pod("p", group="g"))
    api.settle()
    assert "status" in api.get(f"{GROUPS}/g")
    for at in ("1", "2026-01-01T00:00:05Z", "-5s"):
        assert api.get(f"{GROUPS}/g?at={at}") == before
    assert api.refused("GET", f"{PODS}/p?at=1")[0] == 404


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            f"{PODS}?at=99",
            (410, "Expired", "position 99 is in the future: the log ends at 1"),
            id="list of the future",
        ),
        pytest.param(
            f"{NODES}/n?at=99",
            (410, "Expired", "position 99 is in the future: the log ends at 1"),
            id="object of the future",
        ),
        pytest.param(
            f"{PODS}?resourceVersion=99",
            (410, "Expired", "resourceVersion 99 is in the future: the log ends at 1"),
            id="version of the future",
        ),
        pytest.param(
            f"{PODS}?resourceVersion=new",
            (400, "BadRequest", 'resourceVersion: Invalid value: "new": must be a position of the log'),
            id="version that is none",
        ),
        pytest.param(
            f"{PODS}?at=yesterday",
            (
                400,
                "BadRequest",
                (
                    'at: Invalid value: "yesterday": must be a position (120), an RFC 3339 time'
                    " (2026-01-01T00:00:00Z) or an age (-2h)"
                ),
            ),
            id="moment that is none",
        ),
        pytest.param(
            f"{PODS}?limit=-1",
            (400, "BadRequest", 'limit: Invalid value: "-1": must be greater than or equal to 0'),
            id="limit below zero",
        ),
        pytest.param(
            f"{PODS}?limit={2**63}",
            (
                400,
                "BadRequest",
                f'limit: Invalid value: "{2**63}": must be less than or equal to {2**63 - 1}',
            ),
            id="limit beyond 64 bits",
        ),
        pytest.param(
            f"{PODS}?at=1&resourceVersion=1",
            (
                400,
                "BadRequest",
                'at: Invalid value: "1": a resourceVersion says another moment: give one of them',
            ),
            id="two moments",
        ),
        *(
            pytest.param(
                f"{path}?{query}",
                (422, "Invalid", f'ListOptions.meta.k8s.io "" is invalid: {fault}'),
                id=f"{query} of {path.rpartition('/')[2]}",
            )
            for path in (PODS, f"{CORE}/events")
            for query, fault in {
                "resourceVersionMatch=Exact": (
                    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless"
                    " resourceVersion is provided"
                ),
                "resourceVersion=1&resourceVersionMatch=exact": (
                    'resourceVersionMatch: Unsupported value: "exact": supported values: "Exact",'
                    ' "NotOlderThan", ""'
                ),
                "resourceVersion=0&resourceVersionMatch=Exact": (
                    'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for'
                    ' resourceVersion "0"'
                ),
                "sendInitialEvents=true": (
                    "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"
                ),
            }.items()
        ),
        pytest.param(
            f"{PODS}?limit=many",
            (
                400,
                "BadRequest",
                'limit: Invalid value: "many": must be a valid integer, unable to parse string as an integer',
            ),
            id="limit that is no number",
        ),
        pytest.param(
            f"{PODS}?continue=there",
            (400, "BadRequest", 'continue: Invalid value: "there": must be the token of an earlier page'),
            id="token that is none",
        ),
        pytest.param(
            f"{PODS}?labelSelector=a+b",
            (400, "BadRequest", "labelSelector: Invalid value: \"a b\": unable to parse requirement 'a b'"),
            id="labels that cannot be read",
        ),
    ],
)
def test_what_cannot_be_listed(api: Api, path: str, expected: tuple[int, str, str]) -> None:
    api.post(NODES, node("n"))
    assert api.refused("GET", path) == expected
