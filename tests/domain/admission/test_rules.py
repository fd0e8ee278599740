"""The rules beside the recorded ones: who is told which faults, and who is taken.

The rows of refusals are in `faults.yaml`. Texts are those of Kubernetes 1.37's validation.
"""

from pathlib import Path
from string import Template
from typing import Any

import pytest

from domain.admission import names
from domain.admission.documents import read_documents
from domain.errors import Invalid
from worlds import Manifest, Objects, a_class, a_group, a_pod, a_pod_asking, a_workload

ROWS = (Path(__file__).parent / "faults.yaml").read_text()
LONG_TEXTS = {
    "KEY": names.qualified("!")[0],
    "LABEL": names.NOT_A_LABEL,
    "SUBDOMAIN": names.NOT_A_SUBDOMAIN,
    "VALUE": names.NOT_A_VALUE,
}


def rows() -> list[Any]:
    """The rows as (manifest, faults), named after kind and path of the first fault."""
    table = read_documents(f"rows:\n{ROWS}", "faults.yaml")[0].value["rows"]
    return [
        pytest.param(
            row["manifest"],
            [Template(fault).substitute(LONG_TEXTS) for fault in row["faults"]],
            id=f"{row['manifest']['kind']} {row['faults'][0].partition(': ')[0]}",
        )
        for row in table
    ]


def faults_of(manifest: Manifest) -> list[str]:
    with pytest.raises(Invalid) as refused:
        Objects().create(manifest)
    return [str(cause) for cause in refused.value.causes]


def with_ports(*ports: Manifest, **spec: Any) -> Manifest:
    return a_pod(containers=[{"name": "main", "image": "app", "ports": list(ports)}], **spec)


def with_required(*terms: Manifest) -> Manifest:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return a_pod(affinity={"nodeAffinity": required})


def with_expression(**expression: Any) -> Manifest:
    return with_required({"matchExpressions": [expression]})


def with_field(**expression: Any) -> Manifest:
    return with_required({"matchFields": [expression]})


def with_spread(**constraint: Any) -> Manifest:
    given = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **constraint}
    return a_pod(topologySpreadConstraints=[given])


def a_budget(spec: Manifest, status: Manifest | None = None) -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": spec,
        "status": status,
    }


def a_namespace(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def leaf(name: str, **fields: Any) -> Manifest:
    return {"name": name, "schedulingPolicy": {"gang": {"minCount": 1}}, **fields}


def branch(name: str, *leaves: Manifest, **fields: Any) -> Manifest:
    policy = {"gang": {"minGroupCount": 1}}
    return {"name": name, "schedulingPolicy": policy, "podGroupTemplates": list(leaves), **fields}


WHOLE: Manifest = {"disruptionMode": {"all": {}}}


@pytest.mark.parametrize(("manifest", "faults"), rows())
def test_every_fault_is_told(manifest: Manifest, faults: list[str]) -> None:
    assert faults_of(manifest) == faults


def test_annotations_have_a_total_size() -> None:
    pod = a_pod()
    pod["metadata"]["annotations"] = {"UPPER/ok": "x" * 262144}
    assert faults_of(pod) == ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    pod["metadata"]["annotations"] = {"UPPER/ok": "x" * 200000}
    assert Objects().create(pod).change == "created"


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(with_ports({"containerPort": 1, "hostPort": 80}, {"containerPort": 2}), id="ports"),
        pytest.param(
            with_ports(
                {"containerPort": 1, "hostPort": 53},
                {"containerPort": 1, "hostPort": 53, "protocol": "UDP"},
                {"containerPort": 1, "hostPort": 53, "hostIP": "10.0.0.1"},
            ),
            id="one host port for two protocols and addresses",
        ),
        pytest.param(a_pod(tolerations=[{"operator": "Exists"}]), id="tolerates everything"),
        pytest.param(
            a_pod_asking({"cpu": "1"}, {"nvidia.com/gpu": "1", "hugepages-2Mi": "4Mi"}), id="limits alone"
        ),
        pytest.param(with_field(key="metadata.name", operator="In", values=["n1"]), id="a node by name"),
        pytest.param(with_expression(key="a", operator="Gt", values=["1"]), id="a node by number"),
        pytest.param(with_spread(minDomains=2), id="spread"),
        pytest.param(a_budget({"minAvailable": "050%"}), id="percentage"),
        pytest.param(a_budget({}), id="empty budget"),
        pytest.param(a_group(priority=0, preemptionPolicy="PreemptLowerPriority"), id="what is computed"),
        pytest.param(a_class("low", -1_000_000_000), id="negative class"),
        pytest.param(a_group("a." * 126 + "a"), id="longest name"),
        pytest.param(
            a_workload(podGroupTemplates=[leaf(f"t{index}") for index in range(8)]), id="eight templates"
        ),
        pytest.param(
            a_workload(
                compositePodGroupTemplates=[branch("a", leaf("b", **WHOLE), **WHOLE), branch("c", leaf("d"))]
            ),
            id="whole over whole",
        ),
        pytest.param(a_namespace("team"), id="namespace"),
    ],
)
def test_what_is_well_formed_is_taken(manifest: Manifest) -> None:
    assert Objects().create(manifest).change == "created"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("a/b/c", "a qualified name must consist of"),
        ("/a", "prefix part must be non-empty"),
        ("A/a", "prefix part a lowercase RFC 1123 subdomain must consist of"),
        ("a/", "name part must be non-empty"),
        ("-a", "name part must consist of"),
        ("é", "name part must consist of"),
        ("a\n", "name part must consist of"),
    ],
)
def test_qualified_names(name: str, complaint: str) -> None:
    assert names.qualified(name)[0].startswith(complaint)
