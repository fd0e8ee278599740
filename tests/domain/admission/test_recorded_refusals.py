"""Every refusal that was recorded from a Kubernetes 1.37.2 API server, byte for byte.

`recorded-1.37.2.json` has code and message by title; here is what was sent. Where ganger says
something else on purpose, `OURS` has it, with the reason beside it.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Refused
from worlds import (
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

RECORDED = json.loads((Path(__file__).parent / "recorded-1.37.2.json").read_text())
CODES = {
    "BadRequest": 400,
    "Forbidden": 403,
    "NotFound": 404,
    "AlreadyExists": 409,
    "Conflict": 409,
    "Invalid": 422,
}

FIXED = RECORDED["Pod update: nodeName changed"]["message"].split("\n")[0]
SUBDOMAIN = RECORDED["PodGroup: bad parent name"]["message"].partition('"No_Body": ')[2]

TEMPLATE = 'Workload.scheduling.k8s.io "w" is invalid: spec.compositePodGroupTemplates[0]'
TOO_DEEP = f'{TEMPLATE}: Invalid value: "l1": maximum template hierarchy depth is 4'

OURS = {
    # Kubernetes appends a diff of its internal structs.
    "Pod update: schedulingGroup changed": FIXED,
    "Pod update: nodeName changed": FIXED,
    "Pod update: requests changed": FIXED,
    # Kubernetes shows a template with the fields that nobody set.
    "Workload: duplicate template names": RECORDED["Workload: duplicate template names"]["message"].replace(
        ',"schedulingConstraints":null', ""
    ),
    # Kubernetes dumps its internal structs.
    "Workload: 4 composite levels + leaf": TOO_DEEP,
    "Workload: 5 composite levels + leaf": TOO_DEEP,
    # KEP-6012 forbids it; Kubernetes 1.37 does not look.
    "Workload: parent all over child single": (
        f'{TEMPLATE}.podGroupTemplates[0].disruptionMode: Invalid value: "single": '
        "must be `all` when the disruptionMode of the parent template is `all`"
    ),
}

RACK = {"topology": [{"key": "example.com/rack"}]}
TWO_RACKS = {"topology": [{"key": "a"}, {"key": "b"}]}
REFERENCE = {"workloadName": "w", "templateName": "t"}
GANG_AND_BASIC: Manifest = {"gang": {"minCount": 2}, "basic": {}}
BOTH_MODES: Manifest = {"single": {}, "all": {}}


def gang(count: Any) -> Manifest:
    return {"gang": {"minCount": count}}


def leaf(name: str = "a", **fields: Any) -> Manifest:
    return {"name": name, "schedulingPolicy": gang(1), **fields}


def branch(name: str, *children: Manifest, **fields: Any) -> Manifest:
    """A composite template over leaf templates."""
    return {
        "name": name,
        "schedulingPolicy": {"gang": {"minGroupCount": 1}},
        "podGroupTemplates": list(children),
        **fields,
    }


def levels(count: int) -> Manifest:
    """A Workload of `count` composite levels l1, l2 … above a leaf."""
    tree = branch(f"l{count}", leaf("leaf"))
    for level in range(count - 1, 0, -1):
        tree = branch(f"l{level}", compositePodGroupTemplates=[tree])
    return a_workload(compositePodGroupTemplates=[tree])


def named(manifest: Manifest, **metadata: Any) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


CREATED: dict[str, Manifest | tuple[list[Manifest], Manifest]] = {
    "PodGroup: minimal, accepted (shows defaults)": a_group(),
    "PodGroup: minCount 0": a_group(schedulingPolicy=gang(0)),
    "PodGroup: minCount -1": a_group(schedulingPolicy=gang(-1)),
    "PodGroup: minCount missing": a_group(schedulingPolicy={"gang": {}}),
    "PodGroup: minCount a string": a_group(schedulingPolicy=gang("2")),
    "PodGroup: minCount 1.5": a_group(schedulingPolicy=gang(Decimal("1.5"))),
    "PodGroup: minCount 2147483648": a_group(schedulingPolicy=gang(2147483648)),
    "PodGroup: both policies": a_group(schedulingPolicy=GANG_AND_BASIC),
    "PodGroup: no policy": a_group(schedulingPolicy={}),
    "PodGroup: no spec": {key: value for key, value in a_group().items() if key != "spec"},
    "PodGroup: both disruption modes": a_group(disruptionMode=BOTH_MODES),
    "PodGroup: empty disruption mode": a_group(disruptionMode={}),
    "PodGroup: disruptionMode all under basic": a_group(
        schedulingPolicy={"basic": {}}, disruptionMode={"all": {}}
    ),
    "PodGroup: two topology keys": a_group(schedulingConstraints=TWO_RACKS),
    "PodGroup: topology key empty": a_group(schedulingConstraints={"topology": [{"key": ""}]}),
    "PodGroup: topology key invalid": a_group(schedulingConstraints={"topology": [{"key": "not a key!"}]}),
    "PodGroup: unknown parent": a_group(parentCompositePodGroupName="nobody", workloadRef=REFERENCE),
    "PodGroup: parent without workloadRef": a_group(parentCompositePodGroupName="nobody"),
    "PodGroup: bad parent name": a_group(parentCompositePodGroupName="No_Body", workloadRef=REFERENCE),
    "PodGroup: workloadRef empty names": a_group(workloadRef={"workloadName": "", "templateName": ""}),
    "PodGroup: bad name": a_group("Bad_Name"),
    "PodGroup: unknown priority class": a_group(priorityClassName="nope"),
    "PodGroup: priority without class": a_group(priority=7),
    "PodGroup: priority too high": a_group(priority=2_000_000_000),
    "PodGroup: preemptionPolicy bad": a_group(preemptionPolicy="Sometimes"),
    "PodGroup: preemptionPolicy Never without class": a_group(preemptionPolicy="Never"),
    "PodGroup: several faults at once": a_group(
        "Bad_Name",
        schedulingPolicy={"basic": {}, "gang": {"minCount": 0}},
        schedulingConstraints=TWO_RACKS,
        disruptionMode=BOTH_MODES,
        parentCompositePodGroupName="nobody",
    ),
    "PodGroup: unknown field (fieldValidation default: warn only)": a_group(foo="bar"),
    "CompositePodGroup: minimal, accepted (shows defaults)": a_composite(),
    "CompositePodGroup: minGroupCount 0": a_composite(schedulingPolicy={"gang": {"minGroupCount": 0}}),
    "CompositePodGroup: both policies": a_composite(
        schedulingPolicy={"gang": {"minGroupCount": 1}, "basic": {}}
    ),
    "CompositePodGroup: no policy": a_composite(schedulingPolicy={}),
    "CompositePodGroup: no workloadRef": a_composite(workloadRef=None),
    "CompositePodGroup: unknown parent": a_composite(parentCompositePodGroupName="nobody"),
    "CompositePodGroup: itself as parent": a_composite(parentCompositePodGroupName="c"),
    "CompositePodGroup: both disruption modes": a_composite(disruptionMode=BOTH_MODES),
    "CompositePodGroup: disruptionMode all under basic": a_composite(
        schedulingPolicy={"basic": {}}, disruptionMode={"all": {}}
    ),
    "CompositePodGroup: two topology keys": a_composite(schedulingConstraints=TWO_RACKS),
    "Workload: one template, accepted": a_workload(podGroupTemplates=[leaf()]),
    "Workload: 9 podGroupTemplates": a_workload(podGroupTemplates=[leaf(f"t{index}") for index in range(9)]),
    "Workload: no templates": a_workload(podGroupTemplates=[]),
    "Workload: empty spec": a_workload(),
    "Workload: both kinds of templates": a_workload(
        podGroupTemplates=[leaf("b")], compositePodGroupTemplates=[branch("c", leaf("a"))]
    ),
    "Workload: duplicate template names": a_workload(podGroupTemplates=[leaf(), leaf()]),
    "Workload: duplicate names across levels": a_workload(
        compositePodGroupTemplates=[branch("a", leaf("a"))]
    ),
    "Workload: 3 composite levels + leaf": levels(3),
    "Workload: 4 composite levels + leaf": levels(4),
    "Workload: 5 composite levels + leaf": levels(5),
    "Workload: composite template without children": a_workload(compositePodGroupTemplates=[branch("a")]),
    "Workload: minCount 0 in template": a_workload(podGroupTemplates=[leaf(schedulingPolicy=gang(0))]),
    "Workload: different priorities in one tree": a_workload(
        compositePodGroupTemplates=[branch("a", leaf("b", priority=5))]
    ),
    "Workload: different priorities in flat templates": a_workload(
        podGroupTemplates=[leaf("a", priority=1), leaf("b", priority=2)]
    ),
    "Workload: parent all over child single": a_workload(
        compositePodGroupTemplates=[
            branch("a", leaf("b", disruptionMode={"single": {}}), disruptionMode={"all": {}})
        ]
    ),
    "Workload: template name bad": a_workload(podGroupTemplates=[leaf("A_b")]),
    "Pod: minimal, accepted (shows defaults)": a_pod(),
    "Pod: schedulingGroup empty": a_pod(schedulingGroup={}),
    "Pod: schedulingGroup bad name": a_pod(schedulingGroup={"podGroupName": "No_Good"}),
    "Pod: unknown priority class": a_pod(priorityClassName="nope"),
    "Pod: priority without class": a_pod(priority=7),
    "Pod: preemptionPolicy Never without class": a_pod(preemptionPolicy="Never"),
    "Pod: bad quantity": a_pod_asking({"cpu": "lots"}),
    "Pod: negative cpu": a_pod_asking({"cpu": "-1"}),
    "Pod: fractional gpu": a_pod_asking({"nvidia.com/gpu": "0.5"}, {"nvidia.com/gpu": "0.5"}),
    "Pod: gpu request without limit": a_pod_asking({"nvidia.com/gpu": "1"}),
    "Pod: request above limit": a_pod_asking({"cpu": "2"}, {"cpu": "1"}),
    "Pod: 0.5m cpu (sub-milli)": a_pod_asking({"cpu": "0.5m"}),
    "Pod: no containers": a_pod(containers=[]),
    "Pod: bad resource name": a_pod_asking({"gpu": "1"}),
    "Node: bad name": a_node("Bad_Node"),
    "Node: bad label value": named(a_node("ok"), labels={"a": "b c"}),
    "Node: negative allocatable": a_node("neg", status={"allocatable": {"cpu": "-1"}}),
    "Node: bad taint effect": a_node("ok", spec={"taints": [{"key": "a", "effect": "Never"}]}),
    "PriorityClass: value above 1e9": a_class("x", 1_000_000_001),
    "PriorityClass: system- name": a_class("system-x"),
    "PriorityClass: bad preemptionPolicy": a_class("x", preemptionPolicy="Sometimes"),
    "PriorityClass: second globalDefault": (
        [a_class("d1", globalDefault=True)],
        a_class("d2", globalDefault=True),
    ),
    "PodGroup: already exists": ([a_group("dup")], a_group("dup")),
}

UPDATED: dict[str, tuple[list[Manifest], Manifest]] = {
    "PodGroup update: minCount 2 -> 3, accepted": ([a_group()], a_group(schedulingPolicy=gang(3))),
    "PodGroup update: minCount 2 -> 0": ([a_group()], a_group(schedulingPolicy=gang(0))),
    "PodGroup update: gang -> basic": ([a_group()], a_group(schedulingPolicy={"basic": {}})),
    "PodGroup update: basic -> gang": ([a_group(schedulingPolicy={"basic": {}})], a_group()),
    "PodGroup update: topology changed": (
        [a_group(schedulingConstraints=RACK)],
        a_group(schedulingConstraints={"topology": [{"key": "example.com/zone"}]}),
    ),
    "PodGroup update: topology added": ([a_group()], a_group(schedulingConstraints=RACK)),
    "PodGroup update: disruptionMode changed": ([a_group()], a_group(disruptionMode={"all": {}})),
    "PodGroup update: workloadRef added": ([a_group()], a_group(workloadRef=REFERENCE)),
    "PodGroup update: parent added": ([a_group()], a_group(parentCompositePodGroupName="nobody")),
    "PodGroup update: priority changed": ([a_group()], a_group(priority=7)),
    "PodGroup update: priorityClassName changed": ([a_group()], a_group(priorityClassName="other")),
    "PodGroup update: preemptionPolicy changed": ([a_group()], a_group(preemptionPolicy="Never")),
    "PodGroup update: everything": (
        [a_group()],
        a_group(
            schedulingPolicy={"basic": {}},
            workloadRef=REFERENCE,
            schedulingConstraints=RACK,
            disruptionMode={"all": {}},
            priority=7,
        ),
    ),
    "CompositePodGroup update: minGroupCount 2 -> 3": (
        [a_composite()],
        a_composite(schedulingPolicy={"gang": {"minGroupCount": 3}}),
    ),
    "CompositePodGroup update: parent added": (
        [a_composite()],
        a_composite(parentCompositePodGroupName="top"),
    ),
    "CompositePodGroup update: disruptionMode changed": (
        [a_composite()],
        a_composite(disruptionMode={"all": {}}),
    ),
    "Workload update: template added": (
        [a_workload(podGroupTemplates=[leaf()])],
        a_workload(podGroupTemplates=[leaf(), leaf("b")]),
    ),
    "Workload update: template removed": (
        [a_workload(podGroupTemplates=[leaf(), leaf("b")])],
        a_workload(podGroupTemplates=[leaf()]),
    ),
    "Workload update: minCount of template": (
        [a_workload(podGroupTemplates=[leaf()])],
        a_workload(podGroupTemplates=[leaf(schedulingPolicy=gang(2))]),
    ),
    "Workload update: template renamed": (
        [a_workload(podGroupTemplates=[leaf()])],
        a_workload(podGroupTemplates=[leaf("b")]),
    ),
    "Pod update: schedulingGroup changed": (
        [a_pod(schedulingGroup={"podGroupName": "g"})],
        a_pod(schedulingGroup={"podGroupName": "h"}),
    ),
    "Pod update: nodeName changed": ([a_pod()], a_pod(nodeName="n9")),
    "Pod update: gate added": ([a_pod()], a_pod(schedulingGates=[{"name": "a.b/c"}])),
    "Pod update: requests changed": ([a_pod_asking({"cpu": "1"})], a_pod_asking({"cpu": "2"})),
    "PriorityClass update: value changed": ([a_class()], a_class(value=101)),
    "PriorityClass update: preemptionPolicy changed": ([a_class()], a_class(preemptionPolicy="Never")),
    "PodGroup update: stale resourceVersion": ([a_group("dup")], named(a_group("dup"), resourceVersion="0")),
    "PodGroup: not found": ([], a_group("missing")),
}

DELETED = "PodGroup: delete (what the API answers)"


def expected(title: str) -> tuple[int, str | None]:
    recorded = RECORDED[title]
    return (422, OURS[title]) if title in OURS else (recorded["code"], recorded["message"])


def answer(act: Any) -> tuple[int, str | None]:
    try:
        admitted = act()
    except Refused as refusal:
        return CODES[refusal.reason], refusal.message
    return (201 if admitted.change == "created" else 200), None


def test_every_recording_has_a_row() -> None:
    assert {*CREATED, *UPDATED, DELETED} == set(RECORDED)
    assert set(OURS) <= set(RECORDED)


@pytest.mark.parametrize("title", CREATED)
def test_creation(title: str) -> None:
    row = CREATED[title]
    before, manifest = row if isinstance(row, tuple) else ([], row)
    world = Objects(*before)
    assert answer(lambda: world.create(manifest)) == expected(title)


@pytest.mark.parametrize("title", UPDATED)
def test_update(title: str) -> None:
    before, manifest = UPDATED[title]
    world = Objects(*before)
    assert answer(lambda: world.update(manifest)) == expected(title)


@pytest.mark.parametrize("title", [title for title, (before, _) in UPDATED.items() if before])
def test_apply_refuses_what_an_update_refuses(title: str) -> None:
    before, manifest = UPDATED[title]
    world = Objects(*before)
    assert answer(lambda: world.apply(manifest)) == expected(title)


def test_deletion() -> None:
    assert RECORDED[DELETED]["code"] == 200
    assert Objects(a_group()).delete("podgroup", "default/g").object is None


def test_a_refusal_has_its_causes_and_what_it_is_about() -> None:
    with pytest.raises(Refused) as refused:
        Objects().create(CREATED["PodGroup: several faults at once"])  # type: ignore[arg-type]
    refusal = refused.value
    assert (refusal.name, refusal.group, refusal.kind) == ("Bad_Name", "scheduling.k8s.io", "PodGroup")
    assert [(cause.reason, cause.field) for cause in refusal.causes] == [
        ("FieldValueInvalid", "metadata.name"),
        ("FieldValueRequired", "spec.workloadRef"),
        ("FieldValueInvalid", "spec.schedulingPolicy"),
        ("FieldValueRequired", "spec.schedulingPolicy.gang.minCount"),
        ("FieldValueTooMany", "spec.schedulingConstraints.topology"),
        ("FieldValueInvalid", "spec.disruptionMode"),
    ]
    assert refusal.causes[0].message == f'Invalid value: "Bad_Name": {SUBDOMAIN}'
    assert refusal.causes[1].message == "Required value: must be set when parentCompositePodGroupName is set"


def test_a_forbidden_object_is_named_by_its_resource() -> None:
    with pytest.raises(Refused) as refused:
        Objects().create(a_group(priorityClassName="nope"))
    assert (refused.value.name, refused.value.group, refused.value.kind) == (
        "g",
        "scheduling.k8s.io",
        "podgroups",
    )
