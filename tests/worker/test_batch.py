"""A batch in the making: each object sees those before it, and nothing is done twice."""

from typing import Any

import pytest

from books import Book
from build import Manifest, composite, group, node, pod
from domain import events as ev
from domain.admission.kinds import kind_named
from domain.errors import Invalid, NotFound, Refused
from strategies import priority_class
from worker.batch import Batch


def kinds_of(payloads: list[ev.Payload]) -> list[str]:
    return [type(payload).__name__ for payload in payloads]


OF_A_WORKLOAD = {"workloadRef": {"workloadName": "w", "templateName": "t"}}


def test_a_class_counts_for_the_pods_after_it() -> None:
    batch = Book()._batch()
    with pytest.raises(Refused):
        batch.apply(pod("a", priorityClassName="high"), namespace=None)
    batch.apply(priority_class("high", 9), namespace=None)
    made = batch.apply(pod("a", priorityClassName="high"), namespace=None).object
    assert made is not None
    assert made["spec"]["priority"] == 9
    batch.delete(kind_named("priorityclass"), "high")
    with pytest.raises(Refused):
        batch.apply(pod("b", priorityClassName="high"), namespace=None)


def test_an_object_that_says_nothing_new_leaves_no_trace() -> None:
    book = Book(node("n"), pod("a"), group("g", 2))
    batch = book._batch()
    outcomes = [batch.apply(manifest, namespace=None) for manifest in (node("n"), pod("a"), group("g", 2))]
    assert [outcome.change for outcome in outcomes] == ["unchanged"] * 3
    assert batch.payloads == []


def test_twice_in_one_batch_is_created_and_then_configured() -> None:
    batch = Book()._batch()
    assert batch.apply(group("g", 2), namespace=None).change == "created"
    assert batch.apply(group("g", 3), namespace=None).change == "configured"
    assert batch.apply(group("g", 3), namespace=None).change == "unchanged"
    assert kinds_of(batch.payloads) == ["PodGroupAdded", "PodGroupUpdated"]


def test_going_back_undoes_it() -> None:
    batch = Book()._batch()
    batch.apply(node("n"), namespace=None)
    mark = batch.mark()
    batch.apply(pod("a", node="n"), namespace=None)
    batch.delete(kind_named("node"), "n")
    batch.back_to(mark)
    assert kinds_of(batch.payloads) == ["NodeAdded"]
    assert batch.get("Node", "n") is not None
    assert batch.get("Pod", "default/a") is None


def test_the_stored_object_has_what_came_after_its_manifest() -> None:
    book = Book(node("n"), pod("a", terminationGracePeriodSeconds=9)).decide().let_nodes_act()
    book.delete("Pod", "default/a")
    stored = book.stored("Pod", "default/a")
    assert stored is not None
    assert stored["spec"]["nodeName"] == "n"
    assert stored["status"]["phase"] == "Running"
    assert stored["status"]["startTime"] == "2026-01-01T00:00:00Z"
    assert stored["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:09Z"
    assert stored["metadata"]["deletionGracePeriodSeconds"] == 9
    assert "resourceVersion" not in stored["metadata"]


def test_resource_versions_are_positions_of_what_the_batch_has_not_touched() -> None:
    book = Book(node("n"), group("g", 2))
    batch = book._batch()
    assert batch.resource_version("PodGroup", "default/g") == "2"
    assert batch.resource_version("PodGroup", "default/x") is None
    batch.apply(group("g", 3), namespace=None)
    assert batch.resource_version("PodGroup", "default/g") is None


def test_a_pod_event_carries_group_and_node() -> None:
    book = Book(node("n"), group("g", 1), pod("g-0", group="g", terminationGracePeriodSeconds=9)).decide()
    book.delete("Pod", "default/g-0")
    marked = book.events[-1].payload
    assert isinstance(marked, ev.PodUpdated)
    assert (marked.group, marked.node) == ("default/g", "n")
    assert marked.deletion == ev.Deletion(at=book.now, grace=9)


# Protection


@pytest.mark.parametrize(
    ("members", "change"),
    [
        pytest.param([], "deleted", id="nobody"),
        pytest.param([pod("a", group="g")], "terminating", id="a waiting member"),
        pytest.param([pod("a", group="g", node="n")], "terminating", id="a running member"),
        pytest.param(
            [pod("a", group="g", schedulerName="other")], "terminating", id="another scheduler's member"
        ),
        pytest.param(
            [{**pod("a", group="g", node="n"), "status": {"phase": "Failed"}}],
            "deleted",
            id="an ended member",
        ),
        pytest.param([pod("a", group="h"), pod("b")], "deleted", id="members of others"),
        pytest.param([pod("a", group="g", namespace="prod")], "deleted", id="a member elsewhere"),
    ],
)
@pytest.mark.parametrize("together", [True, False], ids=["same batch", "before"])
def test_a_group_goes_once_its_pods_are_done(members: list[Manifest], change: str, together: bool) -> None:
    book = Book(group("g", 1))
    if together:
        batch = book._batch()
        for member in members:
            batch.apply(member, namespace=None)
    else:
        book.apply(members)
        batch = book._batch()
    assert batch.delete(kind_named("podgroup"), "default/g").change == change


def test_the_last_pod_takes_a_terminating_group_with_it() -> None:
    book = Book(group("g", 2), pod("a", group="g"), pod("b", group="g"))
    book.delete("PodGroup", "default/g")
    book.delete("Pod", "default/a")
    assert "default/g" in book.state.groups
    book.delete("Pod", "default/b")
    assert kinds_of([event.payload for event in book.events[-2:]]) == ["PodDeleted", "PodGroupDeleted"]


def test_group_and_pods_in_one_request() -> None:
    book = Book(group("g", 2), pod("a", group="g"))
    batch = book._batch()
    batch.delete(kind_named("podgroup"), "default/g")
    batch.delete(kind_named("pod"), "default/a")
    assert kinds_of(batch.payloads) == ["PodGroupUpdated", "PodDeleted", "PodGroupDeleted"]
    with pytest.raises(NotFound):
        batch.delete(kind_named("podgroup"), "default/g")


def test_a_composite_goes_once_its_children_are_gone() -> None:
    child = group("g", 1, parentCompositePodGroupName="tree", **OF_A_WORKLOAD)
    book = Book(composite("tree"), child)
    book.delete("CompositePodGroup", "default/tree")
    assert book.state.composites["default/tree"].deletion is not None
    book.delete("PodGroup", "default/g")
    assert book.state.composites == {}
    assert kinds_of([event.payload for event in book.events[-2:]]) == [
        "PodGroupDeleted",
        "CompositePodGroupDeleted",
    ]


def test_a_ring_of_composites_keeps_none_of_its_own() -> None:
    def under(parent: str) -> dict[str, Any]:
        return {"parentCompositePodGroupName": parent, **OF_A_WORKLOAD}

    book = Book(composite("hen"), group("chick", 1, **under("hen")))
    assert book.delete("CompositePodGroup", "default/hen").change == "terminating"
    book.delete("PodGroup", "default/chick")
    book.apply([composite("own", **under("own")), composite("hen", **under("egg"))])
    book.apply([composite("egg", **under("hen")), group("chick", 1, **under("hen"))])
    assert book.delete("CompositePodGroup", "default/own").change == "deleted"
    assert book.delete("CompositePodGroup", "default/hen").change == "terminating"
    assert book.delete("CompositePodGroup", "default/egg").change == "deleted"
    book.delete("PodGroup", "default/chick")
    assert book.state.composites == {}


def test_a_refusal_in_the_middle_raises_and_what_was_before_it_is_the_callers_to_drop() -> None:
    book = Book()
    before = len(book.events)
    with pytest.raises(Invalid):
        book.apply([node("n"), group("g", 0)])
    assert len(book.events) == before
    assert book.state.node_records == {}


def test_a_batch_is_made_for_one_moment() -> None:
    batch = Batch(Book().state, lambda _: {}, now=5_000_000, new_uid=lambda: "u-1")
    made = batch.create(pod("a"), namespace=None).object
    assert made is not None
    assert (made["metadata"]["uid"], made["metadata"]["creationTimestamp"]) == ("u-1", "1970-01-01T00:00:05Z")
