"""One cluster: requests become batches, the State follows the log, the past can be had."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from build import START, group, node, pod
from domain import events as ev
from domain.admission.kinds import kind_named
from domain.envelope import decode_line
from domain.errors import AlreadyExists, Conflict, CorruptLog, Expired, Invalid, NotFound, PositionConflict
from domain.state import FORMAT, State, encode_state
from store.engine import Store, open_store
from store.errors import IdempotencyMismatch
from store.snapshots import Snapshots
from worker import cluster as cluster_module
from worker.batch import Request
from worker.clocks import SystemClock, VirtualClock
from worker.cluster import Cluster, random_uid

POD, NODE, GROUP = (kind_named(name) for name in ("pod", "node", "podgroup"))

_streams = count(1)


@pytest.fixture
def stream() -> str:
    return f"cluster-{next(_streams)}"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START)


@pytest.fixture
def cluster(shared_store: Store, stream: str, clock: VirtualClock) -> Cluster:
    """An empty cluster, on either store."""
    return Cluster.open(shared_store, stream, clock=clock)


def lines(cluster: Cluster) -> list[Any]:
    return [decode_line(stored.line) for stored in cluster.log.read()]


# Requests


def test_a_request_is_one_batch(cluster: Cluster) -> None:
    outcomes = cluster.apply([node("n"), group("g", 1), pod("g-0", group="g")], actor="alice")
    assert [(outcome.kind.name, outcome.key, outcome.change) for outcome in outcomes] == [
        ("Node", "n", "created"),
        ("PodGroup", "default/g", "created"),
        ("Pod", "default/g-0", "created"),
    ]
    assert [(line.batch, line.index, line.actor, line.at) for line in lines(cluster)] == [
        (1, index, "alice", START) for index in range(3)
    ]
    assert cluster.state.position == 3


def test_a_request_that_is_refused_leaves_nothing(cluster: Cluster) -> None:
    cluster.apply([node("n")])
    before = encode_state(cluster.state)
    with pytest.raises(Invalid):
        cluster.apply([pod("a"), group("g", 0)])
    with pytest.raises(NotFound):
        cluster.delete([(NODE, "n"), (POD, "default/never")])
    assert cluster.log.head().position == 1
    assert encode_state(cluster.state) == before


def test_a_request_that_changes_nothing_appends_nothing(cluster: Cluster) -> None:
    cluster.apply([node("n")])
    (outcome,) = cluster.apply([node("n")])
    assert outcome.change == "unchanged"
    assert cluster.log.head().position == 1


def test_a_dry_run_says_what_would_be(cluster: Cluster) -> None:
    assert [outcome.change for outcome in cluster.apply([node("n"), pod("a")], dry_run=True)] == [
        "created"
    ] * 2
    with pytest.raises(Invalid):
        cluster.apply([group("g", 0)], dry_run=True)
    assert cluster.log.head().position == 0
    cluster.apply([node("n")])
    assert cluster.delete([(NODE, "n")], dry_run=True)[0].change == "deleted"
    assert cluster.log.head().position == 1


def test_a_request_with_a_key_is_done_once(cluster: Cluster) -> None:
    for _ in range(2):
        cluster.apply([{**node("n"), "metadata": {"name": "n", "uid": "u"}}], idempotency_key="once")
    assert cluster.log.head().position == 1


def test_create_replace_and_status(cluster: Cluster) -> None:
    made = cluster.create(pod("a"), namespace=None)
    assert (made.change, made.key) == ("created", "default/a")
    with pytest.raises(AlreadyExists):
        cluster.create(pod("a"), namespace=None)
    with pytest.raises(NotFound):
        cluster.replace(pod("b"), namespace=None)
    labelled = pod("a")
    labelled["metadata"]["labels"] = {"tier": "web"}
    assert cluster.replace(labelled, namespace=None).change == "configured"
    stale = {**labelled, "metadata": {**labelled["metadata"], "resourceVersion": "1", "labels": {}}}
    with pytest.raises(Conflict):
        cluster.replace(stale, namespace=None)
    cluster.create(node("n", cpu="1"), namespace=None)
    cluster.replace_status(node("n", cpu="7"), namespace=None)
    assert int(cluster.state.nodes.facts("n").allocatable["cpu"]) == 7000


def test_delete_is_one_batch_and_says_what_became_of_each(cluster: Cluster) -> None:
    cluster.apply([node("n"), group("g", 1), pod("g-0", group="g"), pod("a", node="n")])
    outcomes = cluster.delete([(GROUP, "default/g"), (POD, "default/g-0"), (POD, "default/a")])
    assert [outcome.change for outcome in outcomes] == ["terminating", "deleted", "terminating"]
    assert {line.batch for line in lines(cluster)[4:]} == {5}
    assert "default/g" not in cluster.state.groups


def test_uids_are_given_by_the_cluster(shared_store: Store, stream: str, clock: VirtualClock) -> None:
    uids = iter(["u-1", "u-2"])
    cluster = Cluster.open(shared_store, stream, clock=clock, new_uid=lambda: next(uids))
    cluster.apply([node("n"), pod("a")])
    assert (cluster.state.node_records["n"].uid, cluster.state.pods["default/a"].uid) == ("u-1", "u-2")
    assert random_uid() != random_uid()


def test_independent_requests_share_a_transaction(cluster: Cluster) -> None:
    """Each is a batch of its own, sees those before it, and may be refused alone."""
    requests = [
        Request(lambda batch: batch.create(group("g", 1), namespace=None)),
        Request(lambda batch: batch.create(group("bad", 0), namespace=None)),
        Request(lambda batch: batch.create(pod("dry"), namespace=None), dry_run=True),
        Request(lambda batch: batch.create(group("g", 2), namespace=None)),
        Request(lambda batch: batch.replace(group("g", 3), namespace=None)),
        Request(lambda batch: batch.replace(group("g", 3), namespace=None)),
    ]
    results = cluster.answer(requests)
    told = [type(result).__name__ if isinstance(result, Exception) else result.change for result in results]
    assert told == ["created", "Invalid", "created", "AlreadyExists", "configured", "unchanged"]
    assert [(line.kind, line.batch) for line in lines(cluster)] == [
        ("PodGroupAdded", 1),
        ("PodGroupUpdated", 2),
    ]
    assert cluster.state.groups["default/g"].min_count == 3


# Others write, too


@pytest.fixture
def other(cluster: Cluster, shared_store: Store, stream: str, clock: VirtualClock) -> Cluster:
    """Another process on the same log."""
    return Cluster.open(shared_store, stream, clock=clock)


def test_refresh_folds_what_others_appended(cluster: Cluster, other: Cluster) -> None:
    other.apply([node("n"), pod("a")])
    events = cluster.refresh()
    assert [(event.position, type(event.payload).__name__) for event in events] == [
        (1, "NodeAdded"),
        (2, "PodAdded"),
    ]
    assert encode_state(cluster.state) == encode_state(other.state)
    assert cluster.refresh() == []


def test_a_request_sees_what_others_did_first(cluster: Cluster, other: Cluster) -> None:
    other.create(pod("a"), namespace=None)
    with pytest.raises(AlreadyExists):
        cluster.create(pod("a"), namespace=None)
    cluster.apply([node("n")])
    assert encode_state(cluster.state) == encode_state(_refreshed(other))


def test_a_request_that_was_overtaken_is_asked_again(cluster: Cluster, other: Cluster) -> None:
    """Somebody else creates the Pod between the look at the log and the append."""
    asked = []

    def create(batch: Any) -> Any:
        outcome = batch.create(pod("a"), namespace=None)
        asked.append(outcome)
        if len(asked) == 1:
            other.create(pod("b"), namespace=None)
        if len(asked) == 2:
            other.create(pod("a"), namespace=None)
        return outcome

    with pytest.raises(AlreadyExists):
        cluster._request(create, actor="user", dry_run=False)
    assert len(asked) == 2
    assert [line.subjects for line in lines(cluster)] == [("Pod/default/b",), ("Pod/default/a",)]


def test_an_append_is_refused_where_the_log_has_moved_on(cluster: Cluster, other: Cluster) -> None:
    other.apply([node("n")])
    with pytest.raises(PositionConflict):
        cluster.append([ev.SchedulerConfigured()], actor="user")
    cluster.refresh()
    cluster.append([ev.SchedulerConfigured()], actor="user")
    assert cluster.state.position == 2


def test_an_append_under_a_key_of_another_request_is_refused(cluster: Cluster) -> None:
    cluster.append([ev.SchedulerConfigured()], actor="user", idempotency_key="k")
    with pytest.raises(IdempotencyMismatch):
        cluster.append([ev.SchedulerConfigured(retry="byClock")], actor="user", idempotency_key="k")
    assert cluster.state.config.retry == "onChange"


def test_listeners_hear_of_every_event_once_and_in_order(cluster: Cluster, other: Cluster) -> None:
    heard: list[int] = []

    def listen(state: State, events: Sequence[ev.Event]) -> None:
        assert state.position == events[-1].position
        heard.extend(event.position for event in events)

    cluster.listen(listen)
    cluster.apply([node("n")])
    other.apply([pod("a"), pod("b")])
    cluster.apply([pod("c")])
    other.apply([pod("d")])
    cluster.refresh()
    cluster.append([ev.SchedulerConfigured()], actor="user")
    assert heard == [1, 2, 3, 4, 5, 6]


# The past


def test_the_state_at_any_position(cluster: Cluster) -> None:
    states = []
    for number in range(4):
        cluster.apply([pod(f"p{number}")])
        states.append(encode_state(cluster.state))
    for position, state in enumerate(states, 1):
        assert encode_state(cluster.state_at(position)) == state
    assert encode_state(cluster.state_at(0)) == encode_state(State())
    with pytest.raises(Expired, match="position 5 is in the future: the log ends at 4"):
        cluster.state_at(5)


def test_a_state_of_the_past_is_ones_own(cluster: Cluster) -> None:
    cluster.apply([pod("a")])
    cluster.state_at(1).pods.clear()
    assert "default/a" in cluster.state_at(1).pods
    assert "default/a" in cluster.state.pods


def test_events_and_manifests_by_position(cluster: Cluster) -> None:
    cluster.apply([pod("a")])
    cluster.append([ev.SchedulerConfigured()], actor="user")
    assert isinstance(cluster.event(1).payload, ev.PodAdded)
    assert cluster.manifest_at(1)["metadata"]["name"] == "a"
    with pytest.raises(CorruptLog, match="position 2: SchedulerConfigured holds no manifest"):
        cluster.manifest_at(2)
    with pytest.raises(Expired, match="there is no event at position 3"):
        cluster.event(3)


# What is shown


def test_shown(cluster: Cluster) -> None:
    cluster.apply([pod("b"), pod("a"), pod("a", namespace="prod"), node("n")])
    assert cluster.shown(POD, "default/never") is None
    found = cluster.shown(POD, "default/a")
    assert found is not None
    assert found["metadata"]["resourceVersion"] == "2"
    keys = [f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in cluster.shown_all(POD)]
    assert keys == ["default/a", "default/b", "prod/a"]
    assert [each["metadata"]["name"] for each in cluster.shown_all(POD, namespace="prod")] == ["a"]
    assert cluster.shown_all(kind_named("workload")) == []


def test_shown_as_of_a_position(cluster: Cluster) -> None:
    cluster.apply([group("g", 1)])
    cluster.apply([group("g", 2), pod("a")])
    past = cluster.state_at(1)
    found = cluster.shown(GROUP, "default/g", past)
    assert found is not None
    assert found["spec"]["schedulingPolicy"]["gang"]["minCount"] == 1
    assert cluster.shown_all(POD, state=past) == []


# Opening


def _refreshed(cluster: Cluster) -> State:
    cluster.refresh()
    return cluster.state


def save_snapshot(cluster: Cluster, store: Store, position: int, body: bytes | None = None) -> None:
    stored = cluster.log.get(position)
    assert stored is not None
    if body is None:
        body = encode_state(cluster.state_at(position))
    Snapshots(store, cluster.log.stream, format=FORMAT).save(position, stored.hash, body)


@pytest.fixture
def filled(cluster: Cluster) -> Cluster:
    cluster.apply([node("n"), group("g", 2)])
    cluster.apply([pod("g-0", group="g"), pod("a")])
    cluster.delete([(POD, "default/a")])
    return cluster


def test_a_cluster_opens_with_a_snapshot_and_what_came_after(
    filled: Cluster, shared_store: Store, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_snapshot(filled, shared_store, 3)
    read: list[ev.Event] = []
    whole = cluster_module.fold

    def fold(state: State, events: Any) -> State:
        found = list(events)
        read.extend(found)
        return whole(state, found)

    monkeypatch.setattr(cluster_module, "fold", fold)
    again = Cluster.open(shared_store, filled.log.stream, clock=clock)
    assert [event.position for event in read] == [4, 5]
    assert encode_state(again.state) == encode_state(filled.state)
    assert again.notes == []


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda state: b"nonsense", id="not a state"),
        pytest.param(lambda state: state[:-1], id="torn before it was kept"),
        pytest.param(lambda state: b"\x9c\x63" + state[2:], id="of another format"),
    ],
)
def test_a_snapshot_that_is_no_good_is_passed_over_and_said_so(
    spoil: Callable[[bytes], bytes], filled: Cluster, shared_store: Store, clock: VirtualClock
) -> None:
    save_snapshot(filled, shared_store, 3, spoil(encode_state(filled.state_at(3))))
    again = Cluster.open(shared_store, filled.log.stream, clock=clock)
    assert encode_state(again.state) == encode_state(filled.state)
    (note,) = again.notes
    assert note.startswith("a snapshot was not used: ")


def test_snapshots_are_taken_as_the_log_grows(
    shared_store: Store, stream: str, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "SNAPSHOT_EVERY", 4)
    cluster = Cluster.open(shared_store, stream, clock=clock)
    for number in range(3):
        cluster.apply([pod(f"p{number}-{index}") for index in range(3)])
    assert Snapshots(shared_store, stream, format=FORMAT).positions() == [9, 6]
    assert encode_state(Cluster.open(shared_store, stream, clock=clock).state) == encode_state(cluster.state)


@pytest.mark.parametrize(
    ("small", "apart"),
    [
        pytest.param(100, 2, id="small"),
        pytest.param(9, 4, id="twice as large"),
        pytest.param(1, 10, id="as large as counts"),
    ],
)
def test_the_larger_a_cluster_the_farther_apart_its_snapshots(
    shared_store: Store,
    stream: str,
    clock: VirtualClock,
    monkeypatch: pytest.MonkeyPatch,
    small: int,
    apart: int,
) -> None:
    for name, value in (("SNAPSHOT_EVERY", 2), ("SMALL", small), ("MOST_SMALL_ONES", 5)):
        monkeypatch.setattr(cluster_module, name, value)
    cluster = Cluster.open(shared_store, stream, clock=clock)
    cluster.apply([pod(f"old-{index}") for index in range(10)])
    before = Snapshots(shared_store, stream, format=FORMAT).positions()
    for index in range(4):
        cluster.apply([pod(f"p{index}")])
    after = Snapshots(shared_store, stream, format=FORMAT).positions()
    assert before == [10]
    expected = [position for position in range(11, 15) if position % apart == 0]
    assert sorted(set(after) - set(before)) == expected


def test_a_log_with_a_wrong_byte_is_not_opened_where_it_is_verified(
    filled: Cluster, sqlite_store: Store, clock: VirtualClock
) -> None:
    cluster = Cluster.open(sqlite_store, "c", clock=clock)
    cluster.apply([pod("a"), pod("b"), pod("c")])
    with sqlite_store.writing() as connection:
        connection.exec_driver_sql(
            'UPDATE events SET line = replace(line, \'"image":"app"\', \'"image":"apq"\') WHERE position = 2'
        )
    with pytest.raises(CorruptLog) as caught:
        Cluster.open(sqlite_store, "c", clock=clock, verify=True)
    assert caught.value.position == 2


def test_a_stream_that_is_not_there_is_an_empty_cluster(cluster: Cluster) -> None:
    assert encode_state(cluster.state) == encode_state(State())
    assert cluster.log.head().position == 0


def test_the_systems_clock_goes_forward() -> None:
    clock = SystemClock()
    assert START < clock.now() <= clock.now()


def test_a_virtual_clock_stands_still_until_moved_and_never_goes_back(clock: VirtualClock) -> None:
    assert clock.now() == clock.now() == START
    clock.advance_to(START + 5)
    clock.advance_to(START + 3)
    assert clock.now() == START + 5


def test_who_looks_at_the_past_leaves_a_snapshot(
    shared_store: Store, stream: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index in range(50):
        cluster.apply([pod(f"p{index}")])
    monkeypatch.setattr(cluster_module, "WAYPOINT_EVERY", 10)
    kept = Snapshots(shared_store, stream, format=FORMAT)

    there = encode_state(cluster.state_at(37))

    assert kept.positions() == [30]
    assert encode_state(cluster.state_at(37)) == there
    cluster.state_at(39)
    cluster.state_at(29)
    assert kept.positions() == [30, 20]


def test_the_past_can_be_looked_at_where_nothing_can_be_written(
    sqlite_path: Path, monkeypatch: pytest.MonkeyPatch, clock: VirtualClock
) -> None:
    store = open_store(str(sqlite_path), create=False)
    cluster = Cluster.open(store, "default", clock=clock)
    for index in range(30):
        cluster.apply([pod(f"p{index}")])
    monkeypatch.setattr(cluster_module, "WAYPOINT_EVERY", 10)
    with closing(sqlite3.connect(sqlite_path)) as other:
        other.execute("BEGIN IMMEDIATE")
        reader = open_store(f"sqlite:///{sqlite_path}?timeout=0", create=False)
        looking = Cluster.open(reader, "default", clock=clock)
        assert len(looking.state_at(25).pods) == 25
        assert looking.notes
        reader.close()
    store.close()
