"""Decoding: kinds and versions, and what a value of the wrong type is told."""

import re
from decimal import Decimal
from typing import Any

import pytest

from domain.admission.kinds import KINDS, kind_named, kind_of
from domain.errors import BadRequest, NotFound
from worlds import Manifest, Objects, a_class, a_group, a_node, a_pod, a_workload

BUDGET: Manifest = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pod", "Pod"),
        ("pods", "Pod"),
        ("po", "Pod"),
        ("PO", "Pod"),
        ("podgroup", "PodGroup"),
        ("PodGroups", "PodGroup"),
        ("pg", "PodGroup"),
        ("podgroups.scheduling.k8s.io", "PodGroup"),
        ("cpg", "CompositePodGroup"),
        ("compositepodgroup", "CompositePodGroup"),
        ("wl", "Workload"),
        ("no", "Node"),
        ("ns", "Namespace"),
        ("pc", "PriorityClass"),
        ("priorityclasses", "PriorityClass"),
        ("pdb", "PodDisruptionBudget"),
    ],
)
def test_kinds_have_the_names_that_kubectl_takes(text: str, name: str) -> None:
    assert kind_named(text).name == name


def test_no_two_kinds_share_a_name() -> None:
    names = [name for kind in KINDS for name in {kind.singular, kind.plural, *kind.short}]
    assert len(names) == len(set(names))


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(NotFound, match='the server doesn\'t have a resource type "deployment"'):
        kind_named("deployment")


@pytest.mark.parametrize(
    ("api_version", "kind", "complaint"),
    [
        (
            "apps/v1",
            "Deployment",
            'no matches for kind "Deployment" in version "apps/v1" (known kinds are ',
        ),
        ("v2", "Pod", 'no matches for kind "Pod" in version "v2" (it is taken in v1)'),
        (
            "scheduling.k8s.io/v1",
            "PodGroup",
            'no matches for kind "PodGroup" in version "scheduling.k8s.io/v1" (it is taken in ',
        ),
        ("v1", None, "kind: Required value: an object says its apiVersion and kind"),
        (None, "Pod", "apiVersion: Required value: an object says its apiVersion and kind"),
        (1, "Pod", "apiVersion: Required value: an object says its apiVersion and kind"),
    ],
)
def test_an_unknown_kind_or_version_is_said(api_version: Any, kind: Any, complaint: str) -> None:
    with pytest.raises(BadRequest) as refused:
        kind_of({"apiVersion": api_version, "kind": kind})
    assert str(refused.value).startswith(complaint)


def containers(**fields: Any) -> Manifest:
    return a_pod(containers=[{"name": "main", "image": "app", **fields}])


@pytest.mark.parametrize(
    ("manifest", "value", "field", "wanted"),
    [
        (
            a_group(schedulingPolicy={"gang": {"minCount": True}}),
            "bool",
            "GangSchedulingPolicy.spec.schedulingPolicy.gang.minCount",
            "int32",
        ),
        (
            a_group(schedulingPolicy={"gang": {"minCount": Decimal("2.0")}}),
            "number 2.0",
            "GangSchedulingPolicy.spec.schedulingPolicy.gang.minCount",
            "int32",
        ),
        (
            a_group(schedulingPolicy={"gang": 3}),
            "number",
            "PodGroupSchedulingPolicy.spec.schedulingPolicy.gang",
            "v1beta1.GangSchedulingPolicy",
        ),
        ({**a_group(), "spec": []}, "array", "PodGroup.spec", "v1beta1.PodGroupSpec"),
        (
            a_group(schedulingConstraints={"topology": {"key": "rack"}}),
            "object",
            "PodGroupSchedulingConstraints.spec.schedulingConstraints.topology",
            "[]v1beta1.TopologyConstraint",
        ),
        (
            a_group(disruptionMode="all"),
            "string",
            "PodGroupSpec.spec.disruptionMode",
            "v1beta1.DisruptionMode",
        ),
        (
            a_workload(podGroupTemplates=[{"name": 1}]),
            "number",
            "PodGroupTemplate.spec.podGroupTemplates.name",
            "string",
        ),
        (a_class(value="100"), "string", "PriorityClass.value", "int32"),  # type: ignore[arg-type]
        (a_class(globalDefault="yes"), "string", "PriorityClass.globalDefault", "bool"),
        (
            {**a_pod(), "metadata": {"name": "p", "labels": {"a": 1}}},
            "number",
            "ObjectMeta.metadata.labels",
            "string",
        ),
        (
            {**a_pod(), "metadata": {"name": "p", "labels": {"a": True}}},
            "bool",
            "ObjectMeta.metadata.labels",
            "string",
        ),
        ({**a_pod(), "metadata": "p"}, "string", "Pod.metadata", "v1.ObjectMeta"),
        (a_pod(containers={}), "object", "PodSpec.spec.containers", "[]v1.Container"),
        (a_pod(containers=["a"]), "string", "PodSpec.spec.containers", "v1.Container"),
        (containers(name=1), "number", "Container.spec.containers.name", "string"),
        (containers(env=[{"name": "A", "value": 1}]), "number", "EnvVar.spec.containers.env.value", "string"),
        (
            containers(resources={"requests": []}),
            "array",
            "ResourceRequirements.spec.containers.resources.requests",
            "v1.ResourceList",
        ),
        (
            containers(ports=[{"containerPort": "80"}]),
            "string",
            "ContainerPort.spec.containers.ports.containerPort",
            "int32",
        ),
        (a_pod(nodeSelector="a"), "string", "PodSpec.spec.nodeSelector", "map[string]string"),
        (
            a_pod(terminationGracePeriodSeconds=2**63),
            "number 9223372036854775808",
            "PodSpec.spec.terminationGracePeriodSeconds",
            "int64",
        ),
        (a_node(spec={"taints": [{"key": []}]}), "array", "Taint.spec.taints.key", "string"),
    ],
)
def test_a_wrong_type_is_told_as_go_tells_it(manifest: Manifest, value: str, field: str, wanted: str) -> None:
    version = manifest["apiVersion"].rpartition("/")[2]
    kind = manifest["kind"]
    with pytest.raises(BadRequest) as refused:
        Objects().create(manifest)
    assert str(refused.value) == (
        f'{kind} in version "{version}" cannot be handled as a {kind}: '
        f"json: cannot unmarshal {value} into Go struct field {field} of type {wanted}"
    )


@pytest.mark.parametrize(
    ("amount", "complaint"),
    [
        (True, "bool into Go value of type string"),
        ([], "array into Go value of type string"),
        (Decimal("1.5"), "number 1.5 into Go value of type int32"),
    ],
)
def test_what_is_no_number_or_text_is_told_so(amount: Any, complaint: str) -> None:
    with pytest.raises(BadRequest, match=f"json: cannot unmarshal {re.escape(complaint)}$"):
        Objects().create({**BUDGET, "spec": {"minAvailable": amount}})


def test_the_first_fault_of_the_document_is_told() -> None:
    with pytest.raises(BadRequest, match=r"PodSpec\.spec\.priority "):
        Objects().create(a_pod(priority="x", hostNetwork="x"))
    with pytest.raises(BadRequest, match=r"PodSpec\.spec\.hostNetwork "):
        Objects().create(a_pod(hostNetwork="x", priority="x"))


@pytest.mark.parametrize("amount", [True, [], {}, "1 000", "NaN"])
def test_what_is_no_quantity_is_told_so(amount: Any) -> None:
    with pytest.raises(BadRequest, match="quantities must match the regular expression"):
        Objects().create(containers(resources={"requests": {"cpu": amount}}))


@pytest.mark.parametrize(
    ("time", "complaint"),
    [
        ("noon", 'parsing time "noon" as "2006-01-02T15:04:05Z07:00": cannot parse "noon" as "2006"'),
        (5, "json: cannot unmarshal number into Go value of type string"),
    ],
)
def test_what_is_no_time_is_told_so(time: Any, complaint: str) -> None:
    pod = a_pod()
    pod["metadata"]["creationTimestamp"] = time
    with pytest.raises(BadRequest) as refused:
        Objects().create(pod)
    assert str(refused.value) == f'Pod in version "v1" cannot be handled as a Pod: {complaint}'


def test_null_is_as_absent() -> None:
    pod = a_pod(nodeName=None, tolerations=None, affinity=None, nodeSelector={"a": None})
    pod["metadata"] |= {"labels": {"role": None}, "creationTimestamp": None}
    stored = Objects().create(pod).object
    assert stored["metadata"]["labels"] == {"role": ""}
    assert stored["spec"]["nodeSelector"] == {"a": ""}
    assert not stored["spec"].keys() & {"nodeName", "tolerations", "affinity"}
