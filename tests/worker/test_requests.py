import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from build import START, node, pod
from domain.admission.kinds import NODE
from domain.envelope import decode_line
from domain.errors import AlreadyExists, Conflict
from store.append import Batch
from store.engine import Store
from store.errors import StoreFull, StoreUnavailable
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.requests import Answer, Requests

TIMEOUT_S = 60


@pytest.fixture
def cluster(sqlite_store: Store) -> Cluster:
    return Cluster.open(sqlite_store, "default", clock=VirtualClock(START))


@pytest.fixture
def requests(cluster: Cluster) -> Iterator[Requests]:
    requests = Requests(cluster)
    yield requests
    requests.close()


def _create(requests: Requests, manifest: dict[str, Any], **options: Any) -> Future[Answer]:
    return requests.submit(lambda batch: batch.create(manifest, namespace=None), **options)


def _answers(futures: Sequence[Future[Answer]]) -> list[Answer | BaseException]:
    return [future.exception(TIMEOUT_S) or future.result() for future in futures]


def test_those_that_wait_are_committed_together(
    cluster: Cluster, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    transactions = []
    append_all = cluster.log.append_all

    def counted(batches: Sequence[Batch], **conditions: Any) -> Any:
        transactions.append(len(batches))
        return append_all(batches, **conditions)

    monkeypatch.setattr(cluster.log, "append_all", counted)
    with cluster.lock:
        futures = [_create(requests, node(f"n{number}")) for number in range(20)]
    shown = [future.result(TIMEOUT_S).shown for future in futures]
    assert sum(transactions) == 20
    assert len(transactions) <= 2, "the first may have been on its way alone"
    for position, (event, object_) in enumerate(zip(cluster.log.read(), shown, strict=True), start=1):
        assert decode_line(event.line).batch == position, "each is a batch of its own"
        assert object_ is not None
        assert object_["metadata"]["resourceVersion"] == str(position)


def test_a_refusal_leaves_the_others_as_they_are(cluster: Cluster, requests: Requests) -> None:
    with cluster.lock:
        futures = [_create(requests, each) for each in (node("a"), node("a"), node("Bad_Name"), node("b"))]
    first, second, third, fourth = _answers(futures)
    assert isinstance(second, AlreadyExists)
    assert type(third).__name__ == "Invalid"
    for answer, name in ((first, "a"), (fourth, "b")):
        assert isinstance(answer, Answer)
        assert answer.outcome.key == name
    assert [event.type for event in cluster.log.read()] == ["NodeAdded", "NodeAdded"]


def test_a_dry_run_is_not_seen_by_the_next(cluster: Cluster, requests: Requests) -> None:
    with cluster.lock:
        futures = [_create(requests, node("a"), dry_run=True), _create(requests, node("a"))]
    assert [type(answer) for answer in _answers(futures)] == [Answer, Answer]
    assert cluster.log.head().position == 1


def test_two_about_one_object_do_not_share_a_version(cluster: Cluster, requests: Requests) -> None:
    created = _create(requests, node("n")).result(TIMEOUT_S).shown
    assert created is not None
    changed = [created | {"spec": {"unschedulable": value}} for value in (True, False)]
    with cluster.lock:
        futures = [
            requests.submit(lambda batch, each=each: batch.replace(each, namespace=None), about="Node/n")
            for each in changed
        ]
    first, second = _answers(futures)
    assert isinstance(first, Answer)
    assert isinstance(second, Conflict)
    assert cluster.shown(NODE, "n") == first.shown


def test_an_answer_is_what_a_reader_sees(cluster: Cluster, requests: Requests) -> None:
    requests.submit(lambda batch: batch.create(pod("p", node="n"), namespace=None)).result(TIMEOUT_S)
    kind = next(iter(cluster.apply([pod("q")]))).kind
    going = requests.submit(lambda batch: batch.delete(kind, "default/p", grace=5)).result(TIMEOUT_S)
    assert going.outcome.change == "terminating"
    assert going.shown == cluster.shown(kind, "default/p")
    gone = requests.submit(lambda batch: batch.delete(kind, "default/q")).result(TIMEOUT_S)
    assert (gone.outcome.change, gone.shown) == ("deleted", None)


def test_a_transaction_that_fails_fails_for_all(
    cluster: Cluster, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFull("the store x cannot grow")

    with monkeypatch.context() as patch:
        patch.setattr(cluster.log, "append_all", full)
        with cluster.lock:
            futures = [_create(requests, node(name)) for name in "ab"]
        assert [type(answer) for answer in _answers(futures)] == [StoreFull, StoreFull]
    assert _create(requests, node("a")).result(TIMEOUT_S).outcome.change == "created"


def test_what_was_taken_is_answered_before_the_end(cluster: Cluster) -> None:
    requests = Requests(cluster)
    closing = threading.Thread(target=requests.close)
    with cluster.lock:
        futures = [_create(requests, node(f"n{number}")) for number in range(5)]
        closing.start()
    closing.join(TIMEOUT_S)
    assert all(future.done() for future in futures)
    assert cluster.log.head().position == 5
    with pytest.raises(StoreUnavailable):
        _create(requests, node("late"))


def test_two_servers_of_one_store_lose_nothing(store: Store) -> None:
    clusters = [Cluster.open(store, "default", clock=VirtualClock(START)) for _ in range(2)]
    servers = [Requests(cluster) for cluster in clusters]
    futures = [
        _create(server, node(f"n{number}-{index}"))
        for number in range(30)
        for index, server in enumerate(servers)
    ]
    versions = [future.result(TIMEOUT_S).shown["metadata"]["resourceVersion"] for future in futures]  # type: ignore[index]
    for server in servers:
        server.close()
    assert sorted(map(int, versions)) == list(range(1, 61))
    for cluster in clusters:
        cluster.refresh()
        assert len(cluster.state.node_records) == 60
