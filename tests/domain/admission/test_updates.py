"""Updates: what they may change, what leaving something out means, and whom they conflict with."""

from typing import Any

import pytest

from domain.admission.admit import update_status
from domain.errors import Conflict, Invalid, NotFound
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

FIXED = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
IMMUTABLE = "Invalid value: null: field is immutable"
MINIMUM = ".schedulingPolicy.gang.minCount"
HAS_A = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
    }
}
GOLD = a_class("gold", 100)
TAINTED = [{"key": "a", "operator": "Exists"}]
BUDGET: Manifest = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "keep"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
}
NAMESPACE: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}


def faults_of(world: Objects, manifest: Manifest) -> str:
    """The faults that an update by `manifest` is refused for."""
    with pytest.raises(Invalid) as refused:
        world.apply(manifest)
    return str(refused.value).partition(" is invalid: ")[2]


def with_metadata(manifest: Manifest, **metadata: Any) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


class TestTheSameManifestAgain:
    @pytest.mark.parametrize(
        "manifest",
        [
            a_pod(priorityClassName="gold"),
            a_pod_asking({"cpu": "0.5"}, {"nvidia.com/gpu": 1}),
            a_group(priorityClassName="gold"),
            a_composite(),
            a_workload(podGroupTemplates=[{"name": "a", **a_group()["spec"]}]),
            a_class("silver", 5, globalDefault=True),
            a_node(status={"capacity": {"cpu": "0.5"}}),
            {**BUDGET, "status": {"disruptionsAllowed": 1}},
            NAMESPACE,
            a_pod(foo="unknown", volumes=[{"x": {"y": None}}]),
        ],
        ids=lambda manifest: manifest["kind"],
    )
    def test_changes_nothing(self, manifest: Manifest) -> None:
        world = Objects(GOLD)
        first = world.apply(manifest)
        again = world.apply(manifest)
        assert (first.change, again.change) == ("created", "unchanged")
        assert again.object == first.object
        assert world.update(manifest).change == "unchanged"
        assert world.update(first.object).change == "unchanged"

    def test_changes_nothing_after_a_binding(self) -> None:
        world = Objects(a_pod())
        world.bind("default/p", "n1")
        admitted = world.apply(a_pod())
        assert admitted.change == "unchanged"
        assert admitted.object["spec"]["nodeName"] == "n1"
        assert world.apply(a_pod(nodeName="n1")).change == "unchanged"

    def test_changes_nothing_while_the_class_it_got_is_the_default(self) -> None:
        world = Objects(a_class("usual", 10, globalDefault=True), a_pod(), a_group())
        assert world.apply(a_pod()).change == "unchanged"
        assert world.apply(a_group()).change == "unchanged"
        del world.stored["PriorityClass", "usual"]
        assert world.apply(a_pod()).change == "unchanged"


class TestGroups:
    def test_the_minimum_changes_alone(self) -> None:
        world = Objects(GOLD, a_group(priorityClassName="gold"))
        more = a_group(priorityClassName="gold", schedulingPolicy={"gang": {"minCount": 5}})
        admitted = world.apply(more)
        assert admitted.change == "configured"
        assert admitted.object["spec"]["schedulingPolicy"] == {"gang": {"minCount": 5}}
        assert admitted.object["spec"]["priority"] == 100
        assert "generation" not in admitted.object["metadata"]

    def test_a_class_that_was_named_cannot_be_left_out(self) -> None:
        world = Objects(GOLD, a_group(priorityClassName="gold"))
        expected = f"spec.priorityClassName: {IMMUTABLE}"
        assert faults_of(world, a_group()) == expected

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("parentCompositePodGroupName", "top"),
            ("workloadRef", {"workloadName": "w", "templateName": "t"}),
            ("schedulingConstraints", {"topology": [{"key": "rack"}]}),
            ("disruptionMode", {"all": {}}),
        ],
    )
    def test_what_was_there_cannot_be_left_out(self, field: str, value: Any) -> None:
        reference = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
        kept = {} if field == "workloadRef" else reference
        world = Objects(a_group(**kept, **{field: value}))
        assert faults_of(world, a_group(**kept)) == f"spec.{field}: {IMMUTABLE}"

    def test_a_wrong_policy_is_told_all_that_is_wrong(self) -> None:
        both = a_group(schedulingPolicy={"gang": {"minCount": 0}, "basic": {}})
        assert faults_of(Objects(a_group()), both) == (
            '[spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, '
            "`gang`, spec.schedulingPolicy.basic: Invalid value: null: field is immutable, "
            "spec.schedulingPolicy.gang.minCount: Required value]"
        )

    def test_labels_and_the_finalizers_of_others_are_as_the_manifest_says(self) -> None:
        world = Objects(with_metadata(a_group(), labels={"a": "b"}, finalizers=["example.com/mine"]))
        metadata = world.apply(a_group()).object["metadata"]
        assert "labels" not in metadata
        assert metadata["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]

    def test_only_a_replacement_takes_the_protection_away(self) -> None:
        stripped = with_metadata(a_group(), finalizers=[])
        assert Objects(a_group()).apply(stripped).change == "unchanged"
        assert "finalizers" not in Objects(a_group()).update(stripped).object["metadata"]

    def test_the_status_stays_as_it_is(self) -> None:
        world = Objects(a_group())
        shown = {**a_group(), "status": {"conditions": [{"type": "PodGroupInitiallyScheduled"}]}}
        assert world.apply(shown).change == "unchanged"
        assert update_status(world, shown, namespace=None).change == "unchanged"


class TestWorkloads:
    def tree(self, **leaf: Any) -> Manifest:
        branch = {
            "name": "top",
            "schedulingPolicy": {"gang": {"minGroupCount": 1}},
            "podGroupTemplates": [{"name": "a", **a_group()["spec"], **leaf}],
        }
        return a_workload(compositePodGroupTemplates=[branch])

    def test_a_minimum_inside_a_tree_may_change(self) -> None:
        world = Objects(self.tree())
        assert world.apply(self.tree(schedulingPolicy={"gang": {"minCount": 3}})).change == "configured"

    @pytest.mark.parametrize(
        ("change", "fault"),
        [
            ({"disruptionMode": {"all": {}}}, ".disruptionMode: Invalid value: null: field is immutable"),
            (
                {"schedulingPolicy": {"gang": {"minCount": 0}}},
                ".schedulingPolicy.gang.minCount: Required value",
            ),
            ({"name": "b"}, ": Forbidden: item may not be added"),
        ],
    )
    def test_nothing_else_may(self, change: Manifest, fault: str) -> None:
        path = "spec.compositePodGroupTemplates[0].podGroupTemplates[0]"
        assert f"{path}{fault}" in faults_of(Objects(self.tree()), self.tree(**change))

    def test_the_minimum_of_a_composite_template_is_fixed(self) -> None:
        changed = self.tree()
        changed["spec"]["compositePodGroupTemplates"][0]["schedulingPolicy"] = {"gang": {"minGroupCount": 2}}
        expected = (
            "spec.compositePodGroupTemplates[0].schedulingPolicy: Invalid value: null: field is immutable"
        )
        assert faults_of(Objects(self.tree()), changed) == expected

    def test_the_controller_is_fixed(self) -> None:
        owned = self.tree()
        owned["spec"]["controllerRef"] = {"apiGroup": "batch", "kind": "Job", "name": "j"}
        expected = f"spec.controllerRef: {IMMUTABLE}"
        assert faults_of(Objects(self.tree()), owned) == expected


class TestPods:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param({}, {"tolerations": TAINTED}, id="a toleration more"),
            pytest.param({"schedulingGates": [{"name": "a.b/c"}]}, {}, id="a gate less"),
            pytest.param(
                {"schedulingGates": [{"name": "a.b/c"}, {"name": "a.b/d"}]},
                {"schedulingGates": [{"name": "a.b/d"}]},
                id="one of two gates less",
            ),
            pytest.param({}, {"containers": [{"name": "main", "image": "app:2"}]}, id="an image"),
            pytest.param({}, {"activeDeadlineSeconds": 5}, id="a deadline"),
            pytest.param(
                {"terminationGracePeriodSeconds": -1}, {"terminationGracePeriodSeconds": 1}, id="grace"
            ),
            pytest.param(
                {"schedulingGates": [{"name": "a"}], "nodeSelector": {"a": "b"}},
                {"schedulingGates": [{"name": "a"}], "nodeSelector": {"a": "b", "c": "d"}},
                id="a narrower selector behind a gate",
            ),
            pytest.param(
                {"schedulingGates": [{"name": "a"}]},
                {
                    "schedulingGates": [{"name": "a"}],
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
                                ]
                            }
                        }
                    },
                },
                id="node affinity behind a gate",
            ),
        ],
    )
    def test_may_change(self, before: Manifest, after: Manifest) -> None:
        world = Objects(a_pod(**before))
        admitted = world.apply(a_pod(**after))
        assert admitted.change == "configured"
        assert admitted.object["metadata"]["generation"] == 2

    @pytest.mark.parametrize(
        ("before", "after", "faults"),
        [
            pytest.param({}, {"schedulingGroup": {"podGroupName": "g"}}, FIXED, id="group set"),
            pytest.param({"schedulingGroup": {"podGroupName": "g"}}, {}, FIXED, id="group cleared"),
            pytest.param({}, {"nodeSelector": {"a": "b"}}, FIXED, id="selector"),
            pytest.param({}, {"schedulerName": "other"}, FIXED, id="scheduler"),
            pytest.param({}, {"priority": 7}, FIXED, id="priority"),
            pytest.param({"priorityClassName": "gold"}, {}, FIXED, id="class left out"),
            pytest.param({"nodeName": "n1"}, {"nodeName": "n2"}, FIXED, id="node"),
            pytest.param(
                {"tolerations": TAINTED},
                {},
                "spec.tolerations: Forbidden: "
                "existing toleration can not be modified except its tolerationSeconds",
                id="toleration less",
            ),
            pytest.param(
                {},
                {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]},
                "spec.containers: Forbidden: pod updates may not add or remove containers",
                id="container more",
            ),
            pytest.param(
                {},
                {"containers": [{"name": "main", "image": ""}]},
                "spec.containers[0].image: Required value",
                id="image cleared",
            ),
            pytest.param(
                {"activeDeadlineSeconds": 5},
                {"activeDeadlineSeconds": 6},
                "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
                id="deadline later",
            ),
            pytest.param(
                {"schedulingGates": [{"name": "a"}], "nodeSelector": {"a": "b"}},
                {"schedulingGates": [{"name": "a"}], "nodeSelector": {"a": "c"}},
                'spec.nodeSelector: Invalid value: {"a":"c"}: '
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
                id="selector changed behind a gate",
            ),
        ],
    )
    def test_may_not_change(self, before: Manifest, after: Manifest, faults: str) -> None:
        assert faults_of(Objects(GOLD, a_pod(**before)), a_pod(**after)) == faults

    def test_labels_change_without_a_new_generation(self) -> None:
        admitted = Objects(a_pod()).apply(with_metadata(a_pod(), labels={"a": "b"}))
        assert (admitted.change, admitted.object["metadata"]["generation"]) == ("configured", 1)

    def test_an_unknown_field_may_come_and_go(self) -> None:
        assert Objects(a_pod(foo=1)).apply(a_pod(bar=2)).change == "configured"


class TestStatus:
    def test_what_is_observed_replaces_field_by_field(self) -> None:
        running = {"phase": "Running", "startTime": BORN}
        world = Objects({**a_pod(nodeName="n1"), "status": running})
        ended = world.apply({**a_pod(nodeName="n1"), "status": {"phase": "Succeeded"}})
        assert ended.object["status"] == {"phase": "Succeeded", "startTime": BORN}
        assert ended.object["metadata"]["generation"] == 1
        assert world.apply(a_pod(nodeName="n1")).change == "unchanged"

    def test_of_a_node_stays_when_it_is_not_given(self) -> None:
        world = Objects(a_node(status={"allocatable": {"cpu": "4"}}))
        admitted = world.apply(a_node(spec={"unschedulable": True}))
        assert admitted.object["status"]["allocatable"] == {"cpu": "4"}
        assert admitted.object["spec"] == {"unschedulable": True}

    def test_of_a_budget_is_observed(self) -> None:
        status = {"disruptionsAllowed": 2, "disruptedPods": {"a": BORN}}
        assert Objects(BUDGET).apply({**BUDGET, "status": status}).object["status"] == status

    def test_alone_is_replaced_as_a_whole(self) -> None:
        world = Objects({**a_pod(nodeName="n1"), "status": {"phase": "Running", "startTime": BORN}})
        manifest = {**with_metadata(a_pod(), labels={"a": "b"}), "status": {"phase": "Failed"}}
        admitted = update_status(world, manifest, namespace=None)
        assert admitted.object["status"] == {"phase": "Failed"}
        assert admitted.object["spec"]["nodeName"] == "n1"
        assert "labels" not in admitted.object["metadata"]

    def test_alone_is_validated(self) -> None:
        world = Objects(a_node())
        with pytest.raises(Invalid, match=r"status\.allocatable\.cpu"):
            update_status(world, a_node(status={"allocatable": {"cpu": "-1"}}), namespace=None)
        with pytest.raises(NotFound):
            update_status(world, a_node("n2"), namespace=None)


class TestConflicts:
    def test_a_current_version_is_taken(self) -> None:
        world = Objects(a_group())
        changed = a_group(schedulingPolicy={"gang": {"minCount": 3}})
        assert world.update(with_metadata(changed, resourceVersion="1")).change == "configured"

    @pytest.mark.parametrize("act", [Objects.update, Objects.apply])
    def test_an_old_version_is_refused(self, act: Any) -> None:
        world = Objects(a_group(), a_group(schedulingPolicy={"gang": {"minCount": 3}}))
        with pytest.raises(Conflict, match="the object has been modified"):
            act(world, with_metadata(a_group(), resourceVersion="1"))

    def test_another_object_of_the_name_is_refused(self) -> None:
        world = Objects(a_group())
        with pytest.raises(Conflict) as refused:
            world.apply(with_metadata(a_group(), uid="other"))
        assert str(refused.value) == (
            'Operation cannot be fulfilled on podgroups.scheduling.k8s.io "g": Precondition failed: UID in '
            "precondition: other, UID in object meta: 00000000-0000-4000-8000-000000000001"
        )

    def test_birth_is_fixed(self) -> None:
        fault = faults_of(Objects(a_pod()), with_metadata(a_pod(), creationTimestamp="2020-01-01T00:00:00Z"))
        assert fault == (
            'metadata.creationTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable'
        )


def test_the_default_mark_may_move_only_to_a_class_alone() -> None:
    world = Objects(a_class("usual", 10, globalDefault=True), a_class("gold", 100))
    with pytest.raises(Exception, match="PriorityClass usual is already marked as default"):
        world.apply(a_class("gold", 100, globalDefault=True))
    world.apply(a_class("usual", 10, globalDefault=False))
    assert world.apply(a_class("gold", 100, globalDefault=True)).change == "configured"
