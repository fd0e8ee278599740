import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.bodies import LIMIT
from api.patches import JSON_PATCH, MERGE_PATCH, MOST_OPERATIONS, PATCH_TYPES, STRATEGIC_MERGE_PATCH
from api_world import GROUPS, NODES, PODS, Api
from build import group, node, pod

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
}


def _patch(api: Api, path: str, media_type: str, patch: Any, **params: str) -> Any:
    """The answer to a patch that is taken."""
    reply = api.client.patch(
        path, content=json.dumps(patch), headers={"Content-Type": media_type}, params=params
    )
    assert reply.status_code == 200, reply.text
    return reply.json()


def _refused(api: Api, path: str, media_type: str, patch: Any) -> tuple[int, str, str]:
    return api.refused(
        "PATCH", path, content=json.dumps(patch), headers={"Content-Type": f"{media_type}; charset=utf-8"}
    )


@pytest.fixture
def bound(api: Api) -> Api:
    """A Pod of a PodGroup that runs on a node, a second one that fits nowhere, and a budget."""
    api.post(NODES, node("n", cpu="2"))
    api.post(GROUPS, group("g", min_count=1))
    api.post(PODS, pod("p", cpu="2", group="g"), pod("q", cpu="2"))
    api.post(BUDGETS, BUDGET)
    api.settle()
    return api


OBJECTS = [f"{NODES}/n", f"{GROUPS}/g", f"{PODS}/p", f"{PODS}/q", f"{BUDGETS}/b"]
NOTING = {
    JSON_PATCH: [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}],
    MERGE_PATCH: {"metadata": {"annotations": {"a": "b"}}},
    STRATEGIC_MERGE_PATCH: {"metadata": {"annotations": {"a": "b"}}},
}


@pytest.mark.parametrize("path", OBJECTS)
@pytest.mark.parametrize("media_type", PATCH_TYPES)
def test_an_annotation_is_all_that_changes(bound: Api, path: str, media_type: str) -> None:
    before = bound.get(path)
    patched = _patch(bound, path, media_type, NOTING[media_type])
    head = bound.served.cluster.log.head().position
    assert patched == {
        **before,
        "metadata": {**before["metadata"], "annotations": {"a": "b"}, "resourceVersion": str(head)},
    }
    assert bound.get(path) == patched
    assert _patch(bound, path, media_type, NOTING[media_type]) == patched
    assert bound.served.cluster.log.head().position == head


@pytest.mark.parametrize("path", OBJECTS)
@pytest.mark.parametrize("part", ["", "/status"])
def test_what_was_read_and_comes_back_changes_nothing(bound: Api, path: str, part: str) -> None:
    if part and path.startswith(GROUPS):
        return
    before = bound.get(path)
    head = bound.served.cluster.log.head().position
    assert bound.client.put(path + part, json=before).json() == before
    for media_type in (MERGE_PATCH, STRATEGIC_MERGE_PATCH):
        assert _patch(bound, path + part, media_type, before) == before
    assert bound.served.cluster.log.head().position == head


def test_a_patch_of_the_status_leaves_the_rest(bound: Api) -> None:
    ready = {"type": "Ready", "status": "True"}
    patch = {"metadata": {"labels": {"a": "b"}}, "status": {"conditions": [ready]}}
    before = bound.get(f"{PODS}/p")
    patched = _patch(bound, f"{PODS}/p/status", STRATEGIC_MERGE_PATCH, patch)
    assert "labels" not in patched["metadata"]
    assert patched["status"]["conditions"] == [ready, *before["status"]["conditions"]]
    stored = bound.served.cluster.new_batch().get("Pod", "default/p")
    assert stored is not None
    assert stored["status"]["conditions"] == [ready]


def test_a_status_that_ends_a_pod(bound: Api) -> None:
    _patch(bound, f"{PODS}/p/status", MERGE_PATCH, {"status": {"phase": "Succeeded"}})
    bound.settle()
    assert bound.get(f"{PODS}/q")["spec"]["nodeName"] == "n"


def test_a_patch_is_admitted_as_a_replacement_is(bound: Api) -> None:
    assert _refused(bound, f"{GROUPS}/g", MERGE_PATCH, {"spec": {"priority": 3}})[:2] == (422, "Invalid")
    patch = [{"op": "replace", "path": "/spec/schedulingPolicy/gang/minCount", "value": 2}]
    _patch(bound, f"{GROUPS}/g", JSON_PATCH, patch)
    older = f"{GROUPS}/g".replace("v1beta1", "v1alpha3")
    patched = _patch(bound, older, MERGE_PATCH, {"metadata": {"annotations": {"a": "b"}}})
    assert (patched["apiVersion"], patched["spec"]["schedulingPolicy"]["gang"]["minCount"]) == (
        "scheduling.k8s.io/v1alpha3",
        2,
    )


def test_a_dry_run_changes_nothing(bound: Api) -> None:
    before = bound.get(f"{NODES}/n")
    patched = _patch(bound, f"{NODES}/n", MERGE_PATCH, {"spec": {"unschedulable": True}}, dryRun="All")
    assert patched["spec"] == {"unschedulable": True}
    assert bound.get(f"{NODES}/n") == before


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_the_last_finalizer_ends_an_object_under_deletion(api: Api, method: str) -> None:
    kept = pod("p") | {"metadata": {"name": "p", "finalizers": ["example.com/keep"]}}
    api.post(PODS, kept)
    assert api.client.delete(f"{PODS}/p").status_code == 200
    read = api.get(f"{PODS}/p")
    assert "deletionTimestamp" in read["metadata"]
    if method == "PATCH":
        freed = _patch(api, f"{PODS}/p", MERGE_PATCH, {"metadata": {"finalizers": None}})
    else:
        metadata = {name: value for name, value in read["metadata"].items() if name != "finalizers"}
        reply = api.client.put(f"{PODS}/p", json=read | {"metadata": metadata})
        assert reply.status_code == 200, reply.text
        freed = reply.json()
    assert (freed["kind"], freed["metadata"]["name"]) == ("Pod", "p")
    assert api.refused("GET", f"{PODS}/p")[0] == 404


def test_numbers_of_a_patch_are_exact(bound: Api) -> None:
    reply = bound.client.patch(
        f"{NODES}/n/status",
        content='{"status": {"allocatable": {"cpu": 1.1}}}',
        headers={"Content-Type": MERGE_PATCH},
    )
    assert reply.json()["status"]["allocatable"]["cpu"] == "1100m"


REJECTED = "the server rejected our request due to an error in our request"
UNKNOWN = "the body of the request was in an unknown format - accepted media types include:"
CONFLICT = (
    'Operation cannot be fulfilled on nodes "n": the object has been modified; please apply your changes to'
    " the latest version and try again"
)


@pytest.mark.parametrize(
    ("media_type", "patch", "expected"),
    [
        pytest.param(
            MERGE_PATCH, {"metadata": {"resourceVersion": "999"}}, (409, "Conflict", CONFLICT), id="version"
        ),
        pytest.param(
            JSON_PATCH,
            [{"op": "test", "path": "/metadata/name", "value": "m"}],
            (422, "Invalid", REJECTED),
            id="a test that fails",
        ),
        pytest.param(
            JSON_PATCH,
            [{"op": "remove", "path": "/metadata/labels/a"}],
            (422, "Invalid", REJECTED),
            id="nothing to remove",
        ),
        pytest.param(
            JSON_PATCH,
            [
                {"op": "copy", "from": "", "path": "/metadata/annotations"},
                {"op": "copy", "from": "", "path": "/metadata/labels"},
            ]
            * 20,
            (422, "Invalid", REJECTED),
            id="copies of copies",
        ),
        pytest.param(
            JSON_PATCH,
            [{"op": "add", "path": "/metadata/annotations", "value": {"a": "x" * (LIMIT // 4)}}]
            + [{"op": "copy", "from": "/metadata/annotations/a", "path": "/metadata/annotations/b"}] * 5,
            (422, "Invalid", REJECTED),
            id="copies that come to too much",
        ),
        pytest.param(
            JSON_PATCH,
            [{"op": "mend", "path": "/metadata"}],
            (400, "BadRequest", "error decoding patch: Unknown operation 'mend'"),
            id="an operation that is none",
        ),
        pytest.param(
            JSON_PATCH,
            {"op": "remove", "path": "/metadata"},
            (400, "BadRequest", "error decoding patch: it must be a list of operations"),
            id="no list",
        ),
        pytest.param(
            JSON_PATCH,
            [{"op": "remove", "path": "/metadata"}] * (MOST_OPERATIONS + 1),
            (
                413,
                "RequestEntityTooLarge",
                "The allowed maximum operations in a JSON patch is 10000, got 10001",
            ),
            id="too many operations",
        ),
        pytest.param(
            JSON_PATCH,
            [{"op": "replace", "path": "", "value": 1}],
            (400, "BadRequest", "error decoding patch: what it leaves is no object"),
            id="no object left",
        ),
        pytest.param(
            MERGE_PATCH,
            ["a"],
            (400, "BadRequest", "error decoding patch: it must be an object"),
            id="no object",
        ),
        pytest.param(
            MERGE_PATCH,
            {"metadata": {"name": "m"}},
            (400, "BadRequest", "the name of the object (m) does not match the name on the URL (n)"),
            id="another name",
        ),
        pytest.param(
            STRATEGIC_MERGE_PATCH,
            {"kind": "Pod"},
            (400, "BadRequest", 'kind: Invalid value: "Pod": this path takes v1 Node'),
            id="another kind",
        ),
        pytest.param(
            STRATEGIC_MERGE_PATCH,
            {"spec": {"taints": [{"key": "a", "effect": "Never"}]}},
            (
                422,
                "Invalid",
                (
                    'Node "n" is invalid: metadata.taints[0].effect: Unsupported value: "Never": supported'
                    ' values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
                ),
            ),
            id="what admission refuses",
        ),
        pytest.param(
            "application/json",
            {},
            (
                415,
                "UnsupportedMediaType",
                f"{UNKNOWN} {', '.join(PATCH_TYPES)}",
            ),
            id="no patch type",
        ),
        pytest.param(
            "application/apply-patch+yaml",
            {},
            (
                415,
                "UnsupportedMediaType",
                (
                    f"{UNKNOWN} {', '.join(PATCH_TYPES)} (server-side apply is not there: ganger does not"
                    " track who owns a field)"
                ),
            ),
            id="server-side apply",
        ),
    ],
)
def test_what_is_refused(api: Api, media_type: str, patch: Any, expected: tuple[int, str, str]) -> None:
    (created,) = api.post(NODES, node("n"))
    assert _refused(api, f"{NODES}/n", media_type, patch) == expected
    assert api.get(f"{NODES}/n") == created


def test_what_did_not_apply_is_said_beside(api: Api) -> None:
    api.post(NODES, node("n"))
    reply = api.client.patch(
        f"{NODES}/n",
        content=b'[{"op": "remove", "path": "/spec/taints"}]',
        headers={"Content-Type": JSON_PATCH},
    )
    assert reply.json()["details"] == {
        "causes": [
            {
                "reason": "UnexpectedServerResponse",
                "message": "can't remove a non-existent object 'taints'",
                "field": "",
            }
        ]
    }


@pytest.mark.parametrize("media_type", PATCH_TYPES)
def test_what_cannot_be_read_or_is_not_there(api: Api, media_type: str) -> None:
    api.post(NODES, node("n"))
    headers = {"Content-Type": media_type}
    for body in (b"", b"{", b'{"a": 1, "a": 2}', b"\xff", b"[" * 100_000):
        code, reason, message = api.refused("PATCH", f"{NODES}/n", content=body, headers=headers)
        assert (code, reason) == (400, "BadRequest")
        assert message.startswith("error decoding patch")
    patch = [] if media_type == JSON_PATCH else {}
    assert _refused(api, f"{NODES}/m", media_type, patch) == (404, "NotFound", 'nodes "m" not found')
    assert _refused(api, f"{GROUPS}/g/status", media_type, patch)[0] == 404


KEYS = st.sampled_from(["metadata", "spec", "status", "labels", "taints", "$patch", "x", "0", "-"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["delete", "replace", "merge", "a", "n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
POINTERS = st.lists(KEYS, max_size=4).map(lambda parts: "".join(f"/{part}" for part in parts)) | VALUES
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]) | VALUES},
    optional={"path": POINTERS, "from": POINTERS, "value": VALUES},
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sent=st.tuples(st.just(JSON_PATCH), st.lists(OPERATIONS | VALUES, max_size=4))
    | st.tuples(st.sampled_from(PATCH_TYPES), VALUES | st.dictionaries(KEYS, VALUES))
)
def test_whatever_is_sent_is_taken_or_refused(api: Api, sent: tuple[str, Any]) -> None:
    media_type, patch = sent
    if api.client.get(f"{NODES}/n").status_code == 404:
        api.post(NODES, node("n", taints=[{"key": "k", "effect": "NoSchedule"}]))
    before = api.get(f"{NODES}/n")
    reply = api.client.patch(f"{NODES}/n", content=json.dumps(patch), headers={"Content-Type": media_type})
    assert reply.status_code < 500, reply.text
    assert api.get(f"{NODES}/n") == (reply.json() if reply.status_code == 200 else before)
