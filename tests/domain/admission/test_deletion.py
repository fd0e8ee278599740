"""Deletion: who goes at once, who stays under deletion, and what ends it."""

from typing import Any

import pytest

from domain.admission.deletion import ended, release
from domain.admission.kinds import COMPOSITE_POD_GROUP, POD_GROUP
from domain.errors import AlreadyExists, Forbidden, Invalid, NotFound
from domain.times import SECOND
from worlds import BORN, NOW, Manifest, Objects, a_class, a_composite, a_group, a_node, a_pod

HOLD = "example.com/hold"
MEMBER = {"schedulingGroup": {"podGroupName": "g"}}
REFERENCE = {"workloadRef": {"workloadName": "w", "templateName": "t"}}


def held(manifest: Manifest, *finalizers: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "finalizers": list(finalizers)}}


def metadata_of(world: Objects, kind: str, key: str) -> Manifest:
    found = world.get(kind, key)
    assert found is not None
    metadata: Manifest = found["metadata"]
    return metadata


class TestPods:
    @pytest.mark.parametrize(
        "manifest",
        [
            pytest.param(a_pod(), id="pending"),
            pytest.param({**a_pod(nodeName="n1"), "status": {"phase": "Succeeded"}}, id="ended"),
            pytest.param(a_pod(nodeName="n1", terminationGracePeriodSeconds=0), id="without grace"),
        ],
    )
    def test_go_at_once(self, manifest: Manifest) -> None:
        world = Objects(manifest)
        assert world.delete("pod", "default/p").object is None
        assert world.get("Pod", "default/p") is None

    @pytest.mark.parametrize(
        ("spec", "asked", "grace", "until"),
        [
            ({}, None, 30, "2026-01-01T00:00:30Z"),
            ({"terminationGracePeriodSeconds": 5}, None, 5, "2026-01-01T00:00:05Z"),
            ({"terminationGracePeriodSeconds": 5}, 60, 60, "2026-01-01T00:01:00Z"),
            ({"terminationGracePeriodSeconds": -3}, None, 1, "2026-01-01T00:00:01Z"),
            ({}, -3, 1, "2026-01-01T00:00:01Z"),
        ],
    )
    def test_on_a_node_have_grace(self, spec: Any, asked: int | None, grace: int, until: str) -> None:
        world = Objects(a_pod(nodeName="n1", **spec))
        removal = world.delete("pod", "default/p", grace=asked)
        assert (removal.grace, removal.changed) == (grace, True)
        metadata = metadata_of(world, "Pod", "default/p")
        assert metadata["deletionTimestamp"] == until
        assert metadata["deletionGracePeriodSeconds"] == grace
        assert metadata["generation"] == 2

    def test_go_at_once_when_told_to(self) -> None:
        assert Objects(a_pod(nodeName="n1")).delete("pod", "default/p", grace=0).object is None

    def test_go_when_the_kubelet_is_done(self) -> None:
        world = Objects(a_pod(nodeName="n1"))
        world.delete("pod", "default/p")
        assert ended(world, "default/p").object is None

    def test_stay_for_their_finalizers(self) -> None:
        world = Objects(held(a_pod(nodeName="n1"), HOLD))
        world.delete("pod", "default/p")
        removal = ended(world, "default/p")
        assert removal.object is not None
        assert removal.object["metadata"]["deletionGracePeriodSeconds"] == 0
        world.take(removal)
        assert not ended(world, "default/p").changed
        assert world.apply(a_pod(nodeName="n1")).gone

    def test_a_second_request_can_only_shorten_the_grace(self) -> None:
        world = Objects(a_pod(nodeName="n1"))
        world.delete("pod", "default/p")
        again = world.delete("pod", "default/p", now=NOW + 10 * SECOND)
        assert not again.changed
        assert metadata_of(world, "Pod", "default/p")["deletionTimestamp"] == "2026-01-01T00:00:30Z"
        shorter = world.delete("pod", "default/p", now=NOW + 10 * SECOND, grace=20)
        assert (shorter.changed, shorter.grace) == (True, 20)
        assert metadata_of(world, "Pod", "default/p")["deletionTimestamp"] == "2026-01-01T00:00:20Z"

    def test_under_deletion_get_no_new_finalizer(self) -> None:
        world = Objects(a_pod(nodeName="n1"))
        world.delete("pod", "default/p")
        with pytest.raises(Invalid) as refused:
            world.apply(held(a_pod(nodeName="n1"), HOLD))
        assert str(refused.value) == (
            'Pod "p" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the '
            'object is being deleted, found new finalizers []string{"example.com/hold"}'
        )

    def test_under_deletion_cannot_be_created_again(self) -> None:
        world = Objects(a_pod(nodeName="n1"))
        world.delete("pod", "default/p")
        with pytest.raises(AlreadyExists) as refused:
            world.create(a_pod())
        assert str(refused.value) == 'object is being deleted: pods "p" already exists'


class TestTheLastFinalizer:
    """An update that takes it from an object under deletion is the object's end."""

    def test_of_a_pending_pod(self) -> None:
        world = Objects(held(a_pod(), HOLD, "example.com/other"))
        world.delete("pod", "default/p")
        assert not world.apply(held(a_pod(), HOLD)).gone
        assert world.apply(a_pod()).gone
        assert world.get("Pod", "default/p") is None

    def test_of_a_pod_that_was_observed_under_deletion(self) -> None:
        dying = held(a_pod(), HOLD)
        dying["metadata"] |= {"deletionTimestamp": BORN, "deletionGracePeriodSeconds": 30}
        world = Objects(dying)
        assert not world.apply(dying).gone
        assert world.apply(a_pod()).gone

    def test_does_not_end_a_pod_whose_grace_is_running(self) -> None:
        world = Objects(held(a_pod(nodeName="n1"), HOLD))
        world.delete("pod", "default/p")
        assert not world.apply(a_pod(nodeName="n1")).gone
        assert world.apply({**a_pod(nodeName="n1"), "status": {"phase": "Failed"}}).gone

    def test_of_an_object_that_is_not_under_deletion_is_only_a_change(self) -> None:
        assert not Objects(held(a_pod(), HOLD)).apply(a_pod()).gone


class TestGroups:
    def test_go_at_once_without_members(self) -> None:
        assert Objects(a_group()).delete("podgroup", "default/g").object is None

    def test_go_at_once_with_members_that_ended(self) -> None:
        world = Objects(a_group(), {**a_pod(**MEMBER), "status": {"phase": "Failed"}})
        assert world.delete("podgroup", "default/g").object is None

    @pytest.mark.parametrize("spec", [{}, {"nodeName": "n1"}], ids=["pending", "running"])
    def test_stay_while_members_are_active(self, spec: Manifest) -> None:
        world = Objects(a_group(), a_pod(**MEMBER, **spec))
        world.delete("podgroup", "default/g")
        assert metadata_of(world, "PodGroup", "default/g")["deletionTimestamp"] == BORN
        assert release(world, POD_GROUP, "default/g") is None
        assert not world.delete("podgroup", "default/g").changed
        world.apply({**a_pod(**MEMBER, **spec), "status": {"phase": "Succeeded"}})
        removal = release(world, POD_GROUP, "default/g")
        assert removal is not None
        assert removal.object is None

    def test_are_not_released_before_they_are_deleted(self) -> None:
        assert release(Objects(a_group()), POD_GROUP, "default/g") is None
        assert release(Objects(), POD_GROUP, "default/g") is None

    def test_stay_for_the_finalizers_of_others(self) -> None:
        world = Objects(held(a_group(), HOLD), a_pod(**MEMBER))
        world.delete("podgroup", "default/g")
        world.delete("pod", "default/p")
        removal = release(world, POD_GROUP, "default/g")
        assert removal is not None
        assert removal.object is not None
        assert removal.object["metadata"]["finalizers"] == [HOLD]
        world.take(removal)
        assert release(world, POD_GROUP, "default/g") is None
        assert world.apply(a_group()).gone

    def test_a_member_elsewhere_protects_nothing(self) -> None:
        elsewhere = a_pod(**MEMBER)
        elsewhere["metadata"]["namespace"] = "team"
        assert Objects(a_group(), elsewhere).delete("podgroup", "default/g").object is None


class TestComposites:
    def test_go_at_once_without_children(self) -> None:
        assert Objects(a_composite()).delete("cpg", "default/c").object is None

    def test_stay_while_they_have_children(self) -> None:
        world = Objects(a_composite(), a_group(parentCompositePodGroupName="c", **REFERENCE))
        world.delete("cpg", "default/c")
        assert metadata_of(world, "CompositePodGroup", "default/c")["deletionTimestamp"] == BORN
        assert release(world, COMPOSITE_POD_GROUP, "default/c") is None
        labelled = a_composite()
        labelled["metadata"]["labels"] = {"a": "b"}
        assert not world.apply(labelled).gone
        world.delete("podgroup", "default/g")
        removal = release(world, COMPOSITE_POD_GROUP, "default/c")
        assert removal is not None
        assert removal.object is None


def test_other_objects_go_at_once() -> None:
    world = Objects(a_node(), a_class())
    assert world.delete("node", "n1").object is None
    assert world.delete("priorityclass", "x").object is None


def test_what_is_not_there_cannot_go() -> None:
    with pytest.raises(NotFound) as refused:
        Objects().delete("podgroup", "default/missing")
    assert str(refused.value) == 'podgroups.scheduling.k8s.io "missing" not found'


def test_the_classes_of_every_cluster_stay() -> None:
    with pytest.raises(Forbidden, match="this is a system priority class and cannot be deleted"):
        Objects().delete("pc", "system-node-critical")
