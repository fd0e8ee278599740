"""What admission fills in, stores canonically, keeps and warns about."""

from decimal import Decimal
from typing import Any

import pytest

from domain.admission.admit import Admitted
from domain.errors import BadRequest, Forbidden, Invalid
from worlds import (
    BORN,
    Manifest,
    Objects,
    a_class,
    a_composite,
    a_group,
    a_node,
    a_pod,
    a_pod_asking,
    a_workload,
)

GOLD = a_class("gold", 100)
POLITE = a_class("polite", 50, preemptionPolicy="Never")


def stored(manifest: Manifest, *before: Manifest) -> Manifest:
    return Objects(*before).create(manifest).object


def spec_of(manifest: Manifest, *before: Manifest) -> Manifest:
    spec: Manifest = stored(manifest, *before)["spec"]
    return spec


def test_a_group_is_stored_as_kubernetes_stores_it() -> None:
    group = stored(a_group())
    assert group == {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": "g",
            "namespace": "default",
            "uid": "00000000-0000-4000-8000-000000000001",
            "creationTimestamp": BORN,
            "finalizers": ["scheduling.k8s.io/podgroup-protection"],
        },
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "disruptionMode": {"single": {}},
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
        },
    }


def test_a_composite_has_the_same_defaults_and_no_finalizer() -> None:
    composite = stored(a_composite())
    assert "finalizers" not in composite["metadata"]
    assert composite["spec"] == {
        "workloadRef": {"workloadName": "w", "templateName": "t"},
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
        "disruptionMode": {"single": {}},
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def test_a_pod_gets_what_matters_for_scheduling() -> None:
    pod = stored(a_pod())
    assert pod["spec"] == {
        "containers": [{"name": "main", "image": "app"}],
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    assert pod["status"] == {"phase": "Pending"}
    assert pod["metadata"]["generation"] == 1


@pytest.mark.parametrize("kind", ["PodGroup", "Workload"])
def test_an_older_version_is_stored_as_the_newer_one(kind: str) -> None:
    manifest = (
        a_group()
        if kind == "PodGroup"
        else a_workload(podGroupTemplates=[{"name": "a", **a_group()["spec"]}])
    )
    manifest["apiVersion"] = "scheduling.k8s.io/v1alpha3"
    assert stored(manifest)["apiVersion"] == "scheduling.k8s.io/v1beta1"


def test_what_is_there_already_is_not_overwritten() -> None:
    spec = {"schedulerName": "mine", "terminationGracePeriodSeconds": 0, "restartPolicy": "Never"}
    assert spec_of(a_pod(**spec)).items() >= spec.items()
    finalizers = ["example.com/mine"]
    group = a_group()
    group["metadata"]["finalizers"] = finalizers
    assert stored(group)["metadata"]["finalizers"] == [*finalizers, "scheduling.k8s.io/podgroup-protection"]


@pytest.mark.parametrize(
    ("requests", "limits", "expected"),
    [
        pytest.param(None, {"cpu": "1"}, {"cpu": "1"}, id="a limit alone is a request"),
        pytest.param({"cpu": "500m"}, {"cpu": "1"}, {"cpu": "500m"}, id="a request of its own stays"),
        pytest.param(
            {"cpu": "1"}, {"memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, id="resource by resource"
        ),
    ],
)
def test_requests_default_to_limits(requests: Any, limits: Any, expected: Manifest) -> None:
    container = {"name": "main", "image": "app", "resources": {"requests": requests, "limits": limits}}
    spec = spec_of(a_pod(containers=[container], initContainers=[{**container, "name": "init"}]))
    assert spec["containers"][0]["resources"]["requests"] == expected
    assert spec["initContainers"][0]["resources"]["requests"] == expected


@pytest.mark.parametrize(
    ("pod_level", "expected"),
    [
        pytest.param({"limits": {"cpu": "2"}}, {"cpu": "2"}, id="like a container's"),
        pytest.param({"limits": {"memory": "2Gi"}}, None, id="unless containers ask for it"),
    ],
)
def test_pod_level_requests_default_to_limits(pod_level: Manifest, expected: Manifest | None) -> None:
    spec = spec_of(
        {
            **a_pod_asking({"memory": "1Gi"}),
            "spec": {**a_pod_asking({"memory": "1Gi"})["spec"], "resources": pod_level},
        }
    )
    assert spec["resources"].get("requests") == expected


def test_host_network_ports_are_host_ports() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 53, "hostPort": 53, "protocol": "UDP"}]
    container = {"name": "main", "image": "app", "ports": ports}
    spec = spec_of(a_pod(hostNetwork=True, containers=[container]))
    assert spec["containers"][0]["ports"] == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
        {"containerPort": 53, "hostPort": 53, "protocol": "UDP"},
    ]
    assert spec_of(a_pod(containers=[container]))["containers"][0]["ports"][0] == {
        "containerPort": 80,
        "protocol": "TCP",
    }


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("0.5", "500m"),
        (Decimal("0.5"), "500m"),
        (0.5, "500m"),
        (2, "2"),
        ("1024Mi", "1Gi"),
        ("1e3", "1e3"),
        ("100.5m", "101m"),
        (9223372036854775807, "9223372036854775807"),
        (" 1 ", "1"),
        (None, "0"),
    ],
)
def test_amounts_are_stored_canonically(written: Any, canonical: str) -> None:
    assert (
        spec_of(a_pod_asking({"cpu": written}))["containers"][0]["resources"]["requests"]["cpu"] == canonical
    )
    assert spec_of(a_pod(overhead={"cpu": written}))["overhead"]["cpu"] == canonical
    assert (
        stored(a_node(status={"allocatable": {"cpu": written}}))["status"]["allocatable"]["cpu"] == canonical
    )


@pytest.mark.parametrize(
    ("status", "allocatable"),
    [
        pytest.param(None, {}, id="nothing known"),
        pytest.param({"capacity": {"cpu": "4"}}, {"cpu": "4"}, id="the capacity"),
        pytest.param({"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}, {"cpu": "3"}, id="its own"),
    ],
)
def test_what_a_node_can_give(status: Manifest | None, allocatable: Manifest) -> None:
    node = a_node() if status is None else a_node(status=status)
    assert stored(node)["status"]["allocatable"] == allocatable


@pytest.mark.parametrize("manifest", [a_pod(), a_group(), a_composite()], ids=["pod", "group", "composite"])
class TestPriority:
    def test_comes_from_the_class(self, manifest: Manifest) -> None:
        spec = spec_of(self.of(manifest, priorityClassName="gold"), GOLD)
        assert (spec["priority"], spec["preemptionPolicy"]) == (100, "PreemptLowerPriority")

    def test_policy_comes_from_the_class_too(self, manifest: Manifest) -> None:
        spec = spec_of(self.of(manifest, priorityClassName="polite"), POLITE)
        assert (spec["priority"], spec["preemptionPolicy"]) == (50, "Never")

    def test_may_be_repeated(self, manifest: Manifest) -> None:
        given = {"priorityClassName": "polite", "priority": 50, "preemptionPolicy": "Never"}
        assert spec_of(self.of(manifest, **given), POLITE).items() >= given.items()

    def test_comes_from_the_global_default_without_a_class(self, manifest: Manifest) -> None:
        spec = spec_of(manifest, a_class("usual", 10, globalDefault=True))
        assert (spec["priorityClassName"], spec["priority"]) == ("usual", 10)

    @pytest.mark.parametrize(
        "given",
        [
            {"priorityClassName": "gold", "priority": 99},
            {"priorityClassName": "gold", "preemptionPolicy": "Never"},
            {"priorityClassName": "polite", "preemptionPolicy": "PreemptLowerPriority"},
            {"priorityClassName": "ghost"},
            {"priority": 7},
        ],
    )
    def test_may_not_differ(self, manifest: Manifest, given: Manifest) -> None:
        with pytest.raises(Forbidden):
            Objects(GOLD, POLITE).create(self.of(manifest, **given))

    @staticmethod
    def of(manifest: Manifest, **spec: Any) -> Manifest:
        return {**manifest, "spec": {**manifest["spec"], **spec}}


def test_of_two_global_defaults_the_lower_one_counts() -> None:
    world = Objects(a_class("high", 20), a_class("low", 10))
    for name in ("high", "low"):
        world.stored["PriorityClass", name]["globalDefault"] = True
    assert world.create(a_pod()).object["spec"]["priorityClassName"] == "low"


def test_pods_may_have_the_classes_of_every_cluster_and_groups_may_not() -> None:
    assert spec_of(a_pod(priorityClassName="system-node-critical"))["priority"] == 2_000_001_000
    with pytest.raises(Invalid) as refused:
        Objects().create(a_group(priorityClassName="system-node-critical"))
    assert str(refused.value) == (
        'PodGroup.scheduling.k8s.io "g" is invalid: spec.priority: Invalid value: 2000001000: '
        "must be less than or equal to 1000000000"
    )


def test_the_classes_of_every_cluster_can_be_stored_as_they_are() -> None:
    assert stored(a_class("system-cluster-critical", 2_000_000_000))["value"] == 2_000_000_000
    with pytest.raises(Invalid, match="value of system-cluster-critical PriorityClass must be 2000000000"):
        Objects().create(a_class("system-cluster-critical", 5))


def test_the_namespace_is_that_of_the_manifest_or_the_request() -> None:
    elsewhere = a_pod()
    elsewhere["metadata"]["namespace"] = "team"
    assert Objects().create(elsewhere).key == "team/p"
    assert Objects().create(elsewhere, "team").key == "team/p"
    assert Objects().create(a_pod(), "team").object["metadata"]["namespace"] == "team"
    with pytest.raises(BadRequest, match="namespace of the provided object"):
        Objects().create(elsewhere, "default")


def test_a_generated_name_follows_from_the_uid() -> None:
    pod = a_pod()
    pod["metadata"] = {"generateName": "worker-"}
    first, second = (Objects().create(pod).key for _ in range(2))
    assert first == second
    world = Objects()
    names = {world.create(pod).key for _ in range(50)}
    assert len(names) == 50
    assert all(
        name.startswith("default/worker-") and len(name) == len("default/worker-12345") for name in names
    )
    with pytest.raises(BadRequest, match="cannot use generate name with apply"):
        world.apply(pod)


def test_what_was_observed_elsewhere_keeps_its_identity() -> None:
    pod = a_pod()
    pod["metadata"] |= {
        "uid": "mine",
        "creationTimestamp": "2020-02-02T03:04:05+01:00",
        "resourceVersion": "9",
    }
    metadata = stored(pod)["metadata"]
    assert (metadata["uid"], metadata["creationTimestamp"]) == ("mine", "2020-02-02T02:04:05Z")
    assert "resourceVersion" not in metadata


class TestObservedDeletion:
    def pod(self, *, finalizers: list[str] | None = None, **spec: Any) -> Manifest:
        pod = a_pod(**spec)
        pod["metadata"] |= {"deletionTimestamp": BORN, "finalizers": finalizers}
        return pod

    def test_of_a_pod_with_finalizers(self) -> None:
        metadata = stored(self.pod(finalizers=["example.com/hold"]))["metadata"]
        assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == (BORN, 0)

    def test_of_a_pod_on_a_node(self) -> None:
        metadata = stored(self.pod(nodeName="n1"))["metadata"]
        assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == (BORN, 30)

    def test_of_a_pod_that_nobody_would_end_does_not_count(self) -> None:
        assert "deletionTimestamp" not in stored(self.pod())["metadata"]

    def test_of_a_group_does_not_count(self) -> None:
        group = a_group()
        group["metadata"] |= {"deletionTimestamp": BORN, "deletionGracePeriodSeconds": 0}
        assert not stored(group)["metadata"].keys() & {"deletionTimestamp", "deletionGracePeriodSeconds"}


def test_the_status_of_groups_is_ours() -> None:
    group = {
        **a_group(),
        "status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]},
    }
    assert "status" not in stored(group)


class TestUnknownFields:
    def admitted(self) -> Admitted:
        pod = a_pod(foo={"n": Decimal("1.5"), "whole": Decimal("2.0"), "nothing": None, "big": 10**30})
        pod["spec"]["containers"][0]["bar"] = [True]
        pod["metadata"]["baz"] = "kept"
        return Objects().create(pod)

    def test_are_kept_as_plain_data(self) -> None:
        spec = self.admitted().object["spec"]
        assert spec["foo"] == {"n": 1.5, "whole": 2, "big": 1e30}
        assert [type(value) for value in spec["foo"].values()] == [float, int, float]
        assert spec["containers"][0]["bar"] == [True]

    def test_are_warned_about(self) -> None:
        assert self.admitted().warnings == (
            'unknown field "metadata.baz"',
            'unknown field "spec.containers[0].bar"',
            'unknown field "spec.foo"',
        )


CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


@pytest.mark.parametrize(
    ("manifest", "warning"),
    [
        pytest.param(
            a_pod(runtimeClassName="vm"),
            "spec.runtimeClassName: ignored by the scheduler, which has no RuntimeClasses; "
            "overhead and nodeSelector count",
            id="runtime class",
        ),
        pytest.param(
            a_pod(volumes=[{"name": "tmp", "emptyDir": {}}, CLAIM]),
            "spec.volumes[1].persistentVolumeClaim: ignored by the scheduler; "
            "volumes and their binding are out of scope",
            id="a claim of a volume",
        ),
        pytest.param(
            a_pod(resourceClaims=[{"name": "gpu"}]),
            "spec.resourceClaims: ignored by the scheduler; dynamic resource allocation is out of scope",
            id="a claim of a resource",
        ),
        pytest.param(
            a_group(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpus"}]),
            "spec.resourceClaims: ignored by the scheduler; dynamic resource allocation is out of scope",
            id="a claim of a group",
        ),
        pytest.param(
            a_pod() | {"metadata": {"name": "p", "annotations": {"ganger.dev/run-seconds": "2h"}}},
            'metadata.annotations[ganger.dev/run-seconds]: "2h" is ignored: '
            "must be a whole number of seconds of at most ten digits",
            id="a run time that is none",
        ),
    ],
)
def test_what_has_no_effect_is_said(manifest: Manifest, warning: str) -> None:
    assert Objects().create(manifest).warnings == (warning,)


def test_fields_that_are_known_but_not_used_are_silent() -> None:
    container = {
        "name": "main",
        "image": "app",
        "command": ["run"],
        "env": [{"name": "A", "value": "b"}],
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        "livenessProbe": {"httpGet": {"port": 80}},
        "securityContext": {"runAsUser": 1},
    }
    volumes = [{"name": "tmp", "emptyDir": {}}]
    assert (
        Objects().create(a_pod(containers=[container], volumes=volumes, dnsPolicy="Default")).warnings == ()
    )
