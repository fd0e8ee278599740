import json
from typing import Any

import pytest
import yaml

from api_world import CORE, GROUPS, NODES, PODS, SCHEDULING, Api
from build import group, node, pod

PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
ALPHA_GROUPS = "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/podgroups"

WORKLOAD = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "Workload",
    "metadata": {"name": "w"},
    "spec": {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"gang": {"minCount": 1}}}]},
}
COMPOSITE = {
    "apiVersion": "scheduling.k8s.io/v1alpha3",
    "kind": "CompositePodGroup",
    "metadata": {"name": "c"},
    "spec": {
        "workloadRef": {"workloadName": "w", "templateName": "a"},
        "schedulingPolicy": {"gang": {"minGroupCount": 1}},
    },
}
CLASS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 100,
}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}


@pytest.mark.parametrize(
    ("collection", "manifest"),
    [
        pytest.param(NODES, node("n"), id="Node"),
        pytest.param(f"{CORE}/namespaces", NAMESPACE, id="Namespace"),
        pytest.param(PODS, pod("p"), id="Pod"),
        pytest.param(GROUPS, group("g", min_count=2), id="PodGroup"),
        pytest.param(f"{SCHEDULING}/namespaces/default/workloads", WORKLOAD, id="Workload"),
        pytest.param(
            "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups",
            COMPOSITE,
            id="CompositePodGroup",
        ),
        pytest.param(PRIORITIES, CLASS, id="PriorityClass"),
        pytest.param(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets", BUDGET, id="PodDisruptionBudget"
        ),
    ],
)
def test_the_life_of_an_object(api_on_both: Api, collection: str, manifest: dict[str, Any]) -> None:
    api = api_on_both
    name = manifest["metadata"]["name"]
    (created,) = api.post(collection, manifest)
    assert created["metadata"]["resourceVersion"] == "1"
    assert api.get(f"{collection}/{name}") == created

    listed = api.get(collection)
    assert (listed["kind"], listed["apiVersion"]) == (f"{manifest['kind']}List", manifest["apiVersion"])
    assert created in listed["items"]

    changed = created | {"metadata": created["metadata"] | {"labels": {"app": "a"}}}
    replaced = api.client.put(f"{collection}/{name}", json=changed)
    assert (replaced.status_code, replaced.json()["metadata"]["labels"]) == (200, {"app": "a"})
    assert replaced.json()["metadata"]["resourceVersion"] == "2"

    assert api.client.delete(f"{collection}/{name}").status_code == 200
    assert api.refused("GET", f"{collection}/{name}")[:2] == (404, "NotFound")
    assert name not in [item["metadata"]["name"] for item in api.get(collection)["items"]]


def test_a_replacement_of_an_old_version_is_refused(api: Api) -> None:
    (created,) = api.post(GROUPS, group("dup", min_count=2))
    newer = created | {"spec": created["spec"] | {"schedulingPolicy": {"gang": {"minCount": 3}}}}
    assert api.client.put(f"{GROUPS}/dup", json=newer).status_code == 200
    assert api.refused("PUT", f"{GROUPS}/dup", json=newer) == (
        409,
        "Conflict",
        (
            'Operation cannot be fulfilled on podgroups.scheduling.k8s.io "dup": the object has been'
            " modified; please apply your changes to the latest version and try again"
        ),
    )


REFUSED = [
    pytest.param(
        GROUPS,
        group("Bad_Name", min_count=2) | {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}},
        {
            "message": 'PodGroup.scheduling.k8s.io "Bad_Name" is invalid: metadata.name: Invalid value:'
            ' "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,'
            " '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex"
            " used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "reason": "Invalid",
            "details": {
                "name": "Bad_Name",
                "group": "scheduling.k8s.io",
                "kind": "PodGroup",
                "causes": [
                    {
                        "reason": "FieldValueInvalid",
                        "message": 'Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of'
                        " lower case alphanumeric characters, '-' or '.', and must start and end with an"
                        " alphanumeric character (e.g. 'example.com', regex used for validation is"
                        " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                        "field": "metadata.name",
                    }
                ],
            },
            "code": 422,
        },
        id="422 with its causes",
    ),
    pytest.param(
        GROUPS,
        group("g", min_count=2, priorityClassName="nope"),
        {
            "message": 'podgroups.scheduling.k8s.io "g" is forbidden: no PriorityClass with name nope was'
            " found",
            "reason": "Forbidden",
            "details": {"name": "g", "group": "scheduling.k8s.io", "kind": "podgroups"},
            "code": 403,
        },
        id="403 by priority admission",
    ),
    pytest.param(
        GROUPS,
        group("g", min_count="3"),  # type: ignore[arg-type]
        {
            "message": 'PodGroup in version "v1beta1" cannot be handled as a PodGroup: json: cannot unmarshal'
            " string into Go struct field GangSchedulingPolicy.spec.schedulingPolicy.gang.minCount of type"
            " int32",
            "reason": "BadRequest",
            "code": 400,
        },
        id="400 for a wrong type, without details",
    ),
    pytest.param(
        PODS,
        pod("there"),
        {
            "message": 'pods "there" already exists',
            "reason": "AlreadyExists",
            "details": {"name": "there", "kind": "pods"},
            "code": 409,
        },
        id="409 for a second one",
    ),
]


@pytest.mark.parametrize(("path", "manifest", "status"), REFUSED)
def test_a_refusal_is_a_whole_status_and_leaves_no_trace(
    api: Api, path: str, manifest: dict[str, Any], status: dict[str, Any]
) -> None:
    api.post(PODS, pod("there"))
    reply = api.client.post(path, json=manifest)
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    assert reply.json() == head | status
    assert list(reply.json()) == [*head, *status]
    assert reply.status_code == status["code"]
    assert api.served.cluster.log.head().position == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        pytest.param(
            "POST",
            NODES,
            pod("p"),
            (400, 'kind: Invalid value: "Pod": this path takes v1 Node'),
            id="another kind than the path's",
        ),
        pytest.param(
            "POST",
            NODES,
            {"kind": 1.5},
            (400, 'kind: Invalid value: "1.5": this path takes v1 Node'),
            id="a kind that is a number",
        ),
        pytest.param(
            "POST",
            ALPHA_GROUPS,
            group("g", min_count=1),
            (
                400,
                (
                    'apiVersion: Invalid value: "scheduling.k8s.io/v1beta1": this path takes'
                    " scheduling.k8s.io/v1alpha3 PodGroup"
                ),
            ),
            id="another version than the path's",
        ),
        pytest.param(
            "POST",
            PODS,
            pod("p", namespace="other"),
            (
                400,
                (
                    "the namespace of the provided object (other) does not match the namespace sent on the"
                    " request (default)"
                ),
            ),
            id="another namespace than the path's",
        ),
        pytest.param(
            "PUT",
            f"{PODS}/a",
            pod("b"),
            (400, "the name of the object (b) does not match the name on the URL (a)"),
            id="another name than the path's",
        ),
        pytest.param(
            "PUT",
            f"{PODS}/a",
            {"metadata": {}},
            (400, "the name of the object (a based on URL) was undeterminable: name must be provided"),
            id="no name",
        ),
        pytest.param("PUT", f"{PODS}/a", pod("a"), (404, 'pods "a" not found'), id="nothing to replace"),
        pytest.param("DELETE", f"{PODS}/a", None, (404, 'pods "a" not found'), id="nothing to delete"),
        pytest.param(
            "DELETE",
            f"{PRIORITIES}/system-node-critical",
            None,
            (
                403,
                (
                    'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system'
                    " priority class and cannot be deleted"
                ),
            ),
            id="a class that every cluster has",
        ),
        pytest.param(
            "DELETE",
            f"{PODS}/a?gracePeriodSeconds=-1",
            None,
            (400, "gracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0"),
            id="less than no grace",
        ),
        pytest.param(
            "DELETE",
            f"{PODS}/a",
            {"kind": "DeleteOptions", "gracePeriodSeconds": "soon"},
            (400, "DeleteOptions: Expected `int | null`, got `str` - at `$.gracePeriodSeconds`"),
            id="options of a wrong type",
        ),
        pytest.param(
            "POST",
            f"{PODS}?dryRun=some",
            pod("p"),
            (400, 'dryRun: Unsupported value: "some": supported values: "All"'),
            id="half a dry run",
        ),
    ],
)
def test_requests_that_are_wrong(
    api: Api, method: str, path: str, body: Any, expected: tuple[int, str]
) -> None:
    code, _, message = api.refused(method, path, json=body)
    assert (code, message) == expected
    assert api.served.cluster.log.head().position == 0


def test_a_body_need_not_repeat_what_the_path_says(api: Api) -> None:
    (created,) = api.post(PODS, {"metadata": {"name": "p"}, "spec": pod("p")["spec"]})
    assert (created["apiVersion"], created["kind"], created["metadata"]["namespace"]) == (
        "v1",
        "Pod",
        "default",
    )


def test_yaml_is_taken_too(api: Api) -> None:
    reply = api.client.post(
        NODES, content=yaml.safe_dump(node("n")), headers={"Content-Type": "application/yaml; charset=utf-8"}
    )
    assert (reply.status_code, reply.json()["metadata"]["name"]) == (201, "n")


def test_numbers_are_exact(api: Api) -> None:
    body = json.dumps(node("n")).replace('"8"', "0.1")
    reply = api.client.post(NODES, content=body, headers={"Content-Type": "application/json"})
    assert reply.json()["status"]["allocatable"]["cpu"] == "100m"


def test_what_admission_warns_of_is_a_header(api: Api) -> None:
    reply = api.client.post(PODS, json=pod("p", resourceClaims=[{"name": "gpu"}]))
    assert reply.status_code == 201
    (warning,) = reply.headers.get_list("warning")
    assert warning.startswith('299 - "')
    assert warning.endswith('"')
    assert "spec.resourceClaims" in warning


def test_a_dry_run_admits_and_changes_nothing(api: Api) -> None:
    reply = api.client.post(f"{PODS}?dryRun=All", json=pod("p"))
    assert (reply.status_code, reply.json()["metadata"]["name"]) == (201, "p")
    assert "resourceVersion" not in reply.json()["metadata"]
    api.post(PODS, pod("kept"))
    assert api.client.delete(f"{PODS}/kept", params={"dryRun": "All"}).status_code == 200
    assert api.client.request("DELETE", f"{PODS}/kept", json={"dryRun": ["All"]}).status_code == 200
    assert [item["metadata"]["name"] for item in api.get(PODS)["items"]] == ["kept"]


def test_groups_are_read_and_written_in_both_versions(api: Api) -> None:
    alpha = group("g", min_count=1) | {"apiVersion": "scheduling.k8s.io/v1alpha3"}
    (created,) = api.post(ALPHA_GROUPS, alpha)
    beta = api.get(f"{GROUPS}/g")
    assert (created["apiVersion"], beta["apiVersion"]) == (
        "scheduling.k8s.io/v1alpha3",
        "scheduling.k8s.io/v1beta1",
    )
    assert created | {"apiVersion": beta["apiVersion"]} == beta
    assert [item["apiVersion"] for item in api.get(ALPHA_GROUPS)["items"]] == ["scheduling.k8s.io/v1alpha3"]


@pytest.mark.parametrize(
    ("collection", "name", "manifest", "status"),
    [
        pytest.param(NODES, "n", node("n"), {"allocatable": {"cpu": "1", "pods": "5"}}, id="Node"),
        pytest.param(PODS, "p", pod("p", node="n"), {"phase": "Succeeded"}, id="Pod"),
    ],
)
def test_status_is_replaced_by_itself(
    api: Api, collection: str, name: str, manifest: dict[str, Any], status: dict[str, Any]
) -> None:
    (created,) = api.post(collection, manifest)
    sent = created | {"status": status, "spec": {"ignored": True}}
    reply = api.client.put(f"{collection}/{name}/status", json=sent)
    assert reply.status_code == 200, reply.text
    shown = api.get(f"{collection}/{name}")
    assert shown == reply.json()
    assert shown["status"] == shown["status"] | status
    assert shown["spec"] == created["spec"]


def test_a_bound_pod_is_deleted_with_grace_a_waiting_one_at_once(api: Api) -> None:
    api.post(PODS, pod("waiting"), pod("bound", node="n"))
    gone = api.client.delete(f"{PODS}/waiting")
    assert (gone.json()["kind"], gone.json()["metadata"]["name"]) == ("Pod", "waiting")
    going = api.client.request(
        "DELETE", f"{PODS}/bound", json={"kind": "DeleteOptions", "gracePeriodSeconds": 7}
    ).json()
    assert going["metadata"]["deletionGracePeriodSeconds"] == 7
    assert api.get(f"{PODS}/bound") == going
    assert api.client.delete(f"{PODS}/bound?gracePeriodSeconds=0").status_code == 200
    assert api.get(PODS)["items"] == []


def test_what_is_gone_at_once_is_said_in_a_status(api: Api) -> None:
    (created,) = api.post(NODES, node("n"))
    assert api.client.delete(f"{NODES}/n").json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "n", "kind": "nodes", "uid": created["metadata"]["uid"]},
    }


@pytest.mark.parametrize(
    ("preconditions", "part"),
    [
        pytest.param({"uid": "other"}, "UID in precondition: other, UID in object meta: ", id="uid"),
        pytest.param(
            {"resourceVersion": "9"},
            "the ResourceVersion in the precondition (9) does not match the ResourceVersion in record (1)",
            id="resourceVersion",
        ),
    ],
)
def test_preconditions_of_a_deletion(api: Api, preconditions: dict[str, str], part: str) -> None:
    (created,) = api.post(PODS, pod("p"))
    code, reason, message = api.refused("DELETE", f"{PODS}/p", json={"preconditions": preconditions})
    assert (code, reason) == (409, "Conflict")
    assert part in message
    metadata = created["metadata"]
    met = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    assert api.client.request("DELETE", f"{PODS}/p", json={"preconditions": met}).status_code == 200


def test_a_group_stays_while_its_pods_run(api: Api) -> None:
    api.post(GROUPS, group("g", min_count=1))
    api.post(PODS, pod("p", group="g"))
    going = api.client.delete(f"{GROUPS}/g").json()
    assert going["metadata"]["deletionTimestamp"]
    assert api.client.delete(f"{PODS}/p").status_code == 200
    assert api.refused("GET", f"{GROUPS}/g")[0] == 404


@pytest.mark.parametrize(
    ("query", "left"),
    [
        pytest.param("", "", id="all"),
        pytest.param("labelSelector=app", "b", id="by label"),
        pytest.param("fieldSelector=metadata.name%3Db", "ac", id="by name"),
        pytest.param("dryRun=All", "abc", id="a dry run"),
    ],
)
def test_the_objects_of_a_list_are_deleted(api: Api, query: str, left: str) -> None:
    api.post(PODS, pod("a", labels={"app": "x"}), pod("b"), pod("c", labels={"app": "y"}))
    api.post("/api/v1/namespaces/team/pods", pod("d", namespace="team"))
    before = {item["metadata"]["name"]: item for item in api.get(PODS)["items"]}
    reply = api.client.delete(f"{PODS}?{query}")
    assert (reply.status_code, reply.json()["kind"]) == (200, "PodList")
    deleted = {item["metadata"]["name"]: item for item in reply.json()["items"]}
    assert all(item == before[name] for name, item in deleted.items())
    names = "".join(item["metadata"]["name"] for item in api.get("/api/v1/pods")["items"])
    assert names == f"{left}d"
    assert set(deleted) == set("abc") - set(left) or query == "dryRun=All"


@pytest.mark.parametrize("asked", ["query", "options"])
def test_grace_has_64_bits(api: Api, asked: str) -> None:
    api.post(NODES, node("n"))
    api.post(PODS, pod("a", node="n"))
    given = {
        "query": {"params": {"gracePeriodSeconds": 2**63}},
        "options": {"json": {"gracePeriodSeconds": 2**63}},
    }
    refusal = f"gracePeriodSeconds: Invalid value: {2**63}: must be less than or equal to {2**63 - 1}"

    assert api.refused("DELETE", f"{PODS}/a", **given[asked]) == (400, "BadRequest", refusal)
    assert "deletionTimestamp" not in api.get(f"{PODS}/a")["metadata"]
