"""The simulated kubelet: what nodes do with their Pods, and when."""

import pytest

from books import Book
from build import START, group, node, pod
from domain import events as ev
from domain.state import decode_state, encode_state
from domain.times import SECOND, rfc3339
from worker.kubelet import Kubelet

RUN = "ganger.dev/run-seconds"


def phase(book: Book, name: str = "a") -> str | None:
    found = book.state.pods.get(f"default/{name}")
    return None if found is None else found.phase


def after(book: Book, seconds: int) -> Book:
    book.now += seconds * SECOND
    return book.let_nodes_act()


def test_a_bound_pod_runs_at_once() -> None:
    book = Book(node("n"), pod("a"), pod("b", node="n"))
    book.let_nodes_act()
    assert (phase(book, "a"), phase(book, "b")) == ("Pending", "Running")
    book.now += 1_500_000
    book.decide().let_nodes_act()
    assert phase(book, "a") == "Running"
    assert book.state.pods["default/a"].started_us == START + SECOND  # whole seconds, as in Kubernetes
    assert book.kubelet.next_due(book.state) is None


def test_a_pod_ends_when_its_time_is_over() -> None:
    book = Book(node("n"), pod("a", annotations={RUN: "120"})).decide().let_nodes_act()
    assert book.kubelet.next_due(book.state) == START + 120 * SECOND
    assert phase(after(book, 119)) == "Running"
    assert phase(after(book, 1)) == "Succeeded"
    assert book.kubelet.next_due(book.state) is None


def test_a_pod_without_a_run_time_runs_on() -> None:
    book = Book(node("n"), pod("a")).decide().let_nodes_act()
    assert phase(after(book, 10**7)) == "Running"


@pytest.mark.parametrize(
    ("spec", "asked", "seconds"),
    [
        pytest.param({}, None, 0, id="by default it ends when told to"),
        pytest.param({"terminationGracePeriodSeconds": 30}, None, 0, id="the default, written"),
        pytest.param({"terminationGracePeriodSeconds": 5}, None, 5, id="a period of its own"),
        pytest.param({"terminationGracePeriodSeconds": 600}, None, 600, id="a long one"),
        pytest.param({"terminationGracePeriodSeconds": 600}, 2, 2, id="shortened by who deletes"),
        pytest.param({}, 2, 2, id="given by who deletes"),
    ],
)
def test_grace(spec: dict, asked: int | None, seconds: int) -> None:
    book = Book(node("n"), pod("a", **spec)).decide().let_nodes_act()
    book.delete("Pod", "default/a", grace=asked)
    assert book.kubelet.next_due(book.state) == START + seconds * SECOND
    if seconds:
        assert phase(after(book, seconds - 1)) == "Running"
    assert phase(after(book, 1)) is None


FOREVER = 2**63 - 1


@pytest.mark.parametrize("asked", [None, FOREVER])
def test_a_grace_beyond_the_end_of_time_is_no_end(asked: int | None) -> None:
    book = Book(node("n"), pod("a", terminationGracePeriodSeconds=FOREVER)).decide().let_nodes_act()
    book.delete("Pod", "default/a", grace=asked)
    assert book.kubelet.next_due(book.state) is None
    assert encode_state(decode_state(encode_state(book.state))) == encode_state(book.state)
    assert rfc3339(START + FOREVER * SECOND) == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize("seconds", ["9" * 10, "9" * 11, "9" * 5000, "1.5", "-1", "soon", "", "٣"])
def test_a_run_time_that_cannot_be_followed_is_without_end(seconds: str) -> None:
    book = Book(node("n"), pod("a", annotations={RUN: seconds})).decide().let_nodes_act()
    due = START + 9_999_999_999 * SECOND if seconds == "9" * 10 else None
    assert book.kubelet.next_due(book.state) == due
    assert (
        decode_state(encode_state(book.state)).pods["default/a"].run_us == book.state.pods["default/a"].run_us
    )


def test_a_deletion_may_be_shortened_later() -> None:
    book = Book(node("n"), pod("a", terminationGracePeriodSeconds=600)).decide().let_nodes_act()
    book.delete("Pod", "default/a")
    book.delete("Pod", "default/a", grace=3)
    assert phase(after(book, 3)) is None


def test_a_pod_with_finalizers_ends_and_stays() -> None:
    held = pod("a")
    held["metadata"]["finalizers"] = ["example.com/held"]
    book = Book(node("n"), held).decide().let_nodes_act()
    book.delete("Pod", "default/a")
    assert phase(book.let_nodes_act()) == "Failed"
    assert book.kubelet.next_due(book.state) is None
    released = book.stored("Pod", "default/a")
    assert released is not None
    del released["metadata"]["finalizers"]
    book.apply([released])
    assert phase(book) is None


def test_pods_of_a_lost_node_neither_start_nor_stay_when_deleted() -> None:
    book = Book(node("n"), pod("a", terminationGracePeriodSeconds=5)).decide()
    book.delete("Node", "n")
    assert phase(book.let_nodes_act()) == "Pending"
    book.delete("Pod", "default/a")
    assert phase(after(book, 5)) is None


@pytest.mark.parametrize("noticed", [True, False], ids=["in the meantime looked", "not looked"])
def test_a_pod_starts_when_its_node_comes_back(noticed: bool) -> None:
    book = Book(node("n"), pod("a"), pod("b", node="m")).decide()
    book.delete("Node", "n")
    if noticed:
        book.let_nodes_act()
    assert (phase(book, "a"), phase(book, "b")) == ("Pending", "Pending")
    book.apply([node("n"), node("m")])
    book.let_nodes_act()
    assert (phase(book, "a"), phase(book, "b")) == ("Running", "Running")


def test_a_new_kubelet_finds_what_is_not_finished() -> None:
    book = Book(node("n"), pod("a"), pod("b", annotations={RUN: "60"}), pod("c", node="gone")).decide()
    fresh = Kubelet(book.state)
    assert fresh.next_due(book.state) == 0
    book.let_nodes_act()
    assert Kubelet(book.state).next_due(book.state) == START + 60 * SECOND


def test_what_is_due_together_is_one_batch() -> None:
    book = Book(node("n"), *[pod(f"p{number}") for number in range(5)]).decide()
    before = len(book.events)
    book.let_nodes_act()
    updates = [event.payload for event in book.events[before:]]
    assert [type(update).__name__ for update in updates] == ["PodUpdated"] * 5
    assert {event.at for event in book.events[before:]} == {START}


def test_the_last_member_that_ends_lets_its_group_go() -> None:
    members = [pod(f"g-{number}", group="g", annotations={RUN: str(10 + number)}) for number in range(2)]
    book = Book(node("n"), group("g", 2), *members).decide().let_nodes_act()
    book.delete("PodGroup", "default/g")
    assert book.state.groups["default/g"].deletion is not None
    after(book, 10)
    assert "default/g" in book.state.groups
    after(book, 1)
    assert "default/g" not in book.state.groups
    assert isinstance(book.events[-1].payload, ev.PodGroupDeleted)


def test_a_binding_that_failed_is_started_once_it_is_made_again() -> None:
    book = Book(node("n"), pod("a")).decide()
    uid = book.state.pods["default/a"].uid
    book.append(ev.BindingFailed(pod="default/a", uid=uid, node="n", message="no"))
    assert book.kubelet.next_due(book.state) is None
    book.now += 2 * SECOND
    book.decide().let_nodes_act()
    assert phase(book) == "Running"
