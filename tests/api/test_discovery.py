from typing import Any

import pytest

from api_world import Api


def test_groups_and_versions(api: Api) -> None:
    assert api.get("/api")["versions"] == ["v1"]
    groups = {each["name"]: each for each in api.get("/apis")["groups"]}
    assert {name: [each["version"] for each in group["versions"]] for name, group in groups.items()} == {
        "scheduling.k8s.io": ["v1", "v1beta1", "v1alpha3"],
        "policy": ["v1"],
        "events.k8s.io": ["v1"],
    }
    for name, group in groups.items():
        assert group["preferredVersion"] == group["versions"][0]
        assert api.get(f"/apis/{name}") == {"kind": "APIGroup", "apiVersion": "v1"} | group


@pytest.mark.parametrize(
    ("path", "names"),
    [
        pytest.param("/api/v1", "nodes nodes/status namespaces pods pods/status events", id="core"),
        pytest.param("/apis/scheduling.k8s.io/v1", "priorityclasses", id="v1"),
        pytest.param("/apis/scheduling.k8s.io/v1beta1", "podgroups workloads", id="v1beta1"),
        pytest.param(
            "/apis/scheduling.k8s.io/v1alpha3", "podgroups compositepodgroups workloads", id="v1alpha3"
        ),
        pytest.param("/apis/policy/v1", "poddisruptionbudgets poddisruptionbudgets/status", id="policy"),
        pytest.param("/apis/events.k8s.io/v1", "events", id="events"),
    ],
)
def test_resources(api: Api, path: str, names: str) -> None:
    found = api.get(path)
    assert found["groupVersion"] == path.removeprefix("/apis/").removeprefix("/api/")
    assert " ".join(each["name"] for each in found["resources"]) == names


def test_every_verb_that_is_named_has_its_route(api: Api) -> None:
    documented: dict[str, Any] = api.app.openapi()["paths"]
    methods = {"create": "post", "delete": "delete", "get": "get", "list": "get", "patch": "patch"}
    methods |= {"deletecollection": "delete", "update": "put", "watch": "get"}
    roots = ["/api/v1"]
    for group in api.get("/apis")["groups"]:
        roots += [f"/apis/{each['groupVersion']}" for each in group["versions"]]
    for root in roots:
        for resource in api.get(root)["resources"]:
            name, _, part = resource["name"].partition("/")
            place = f"{root}/namespaces/{{namespace}}" if resource["namespaced"] else root
            for verb in resource["verbs"]:
                path = f"{place}/{name}"
                if part:
                    path += f"/{{name}}/{part}"
                elif verb not in ("create", "deletecollection", "list", "watch"):
                    path += "/{name}"
                assert methods[verb] in documented[path], (verb, path)


@pytest.mark.parametrize("path", ["/version", "/api", "/apis", "/api/v1", "/apis/policy", "/apis/policy/v1"])
def test_a_slash_at_the_end_changes_nothing(api: Api, path: str) -> None:
    assert api.get(f"{path}/") == api.get(path)
    assert api.get(f"/clusters/default{path}/") == api.get(path)


def test_version_names_both(api: Api) -> None:
    version = api.get("/version")
    assert (version["major"], version["minor"]) == ("1", "37")
    assert version["gitVersion"].startswith("v1.37.0+ganger-")


def test_openapi_says_what_each_group_takes(api: Api) -> None:
    found = api.get("/openapi/v3")["paths"]
    resources = {path: api.get(f"/{path}")["resources"] for path in found}
    assert sorted(found) == [
        "api/v1",
        "apis/events.k8s.io/v1",
        "apis/policy/v1",
        "apis/scheduling.k8s.io/v1",
        "apis/scheduling.k8s.io/v1alpha3",
        "apis/scheduling.k8s.io/v1beta1",
    ]
    for path, where in found.items():
        document = api.get(where["serverRelativeURL"])
        kinds = {
            (operation["x-kubernetes-group-version-kind"]["kind"], operation["x-kubernetes-action"])
            for operations in document["paths"].values()
            for operation in operations.values()
        }
        assert kinds == {
            (each["kind"], verb)
            for each in resources[path]
            if "/" not in each["name"]
            for verb in each["verbs"]
            if verb != "watch"
        }
        for operations in document["paths"].values():
            if patch := operations.get("patch"):
                names = {each["name"] for each in patch["parameters"]}
                assert {"dryRun", "fieldValidation"} <= names
    assert api.refused("GET", "/openapi/v3/apis/apps/v1")[0] == 404


def test_openapi_in_version_2_says_the_same(api: Api) -> None:
    older = api.get("/openapi/v2")
    newer = [api.get(where["serverRelativeURL"]) for where in api.get("/openapi/v3")["paths"].values()]
    assert older["swagger"] == "2.0"
    assert set(older["paths"]) == {path for each in newer for path in each["paths"]}
    assert set(older["definitions"]) == {name for each in newer for name in each["components"]["schemas"]}
    patch = older["paths"]["/api/v1/nodes/{name}"]["patch"]
    assert patch["consumes"] == ["application/json-patch+json", "application/merge-patch+json"]
    assert {"name": "fieldValidation", "in": "query", "type": "string"} in patch["parameters"]


def test_openapi_is_not_written_in_protobuf(api: Api) -> None:
    protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert api.refused("GET", "/openapi/v2", headers={"Accept": protobuf}) == (
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json",
    )
