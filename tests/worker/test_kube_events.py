"""Kubernetes Events read from a store: of one Pod, and of the last hour of a cluster."""

from typing import Any

import pytest

from build import START, Manifest, group, node, pod
from domain import events as ev
from domain.kube_events import HOUR, KubeEvent
from domain.times import SECOND, rfc3339_micro
from live import Live
from store.engine import Store
from strategies import priority_class
from worker.kube_events import as_core, as_events_k8s_io, events_about, recent_events

POD = {"kind": "Pod", "namespace": "default", "apiVersion": "v1"}


@pytest.fixture
def live(sqlite_store: Store) -> Live:
    return Live(sqlite_store)


def recent(live: Live, *, until: int | None = None) -> list[KubeEvent]:
    return recent_events(live.cluster, now=live.clock.now(), until=until)


def of_each(live: Live, *names: str) -> list[KubeEvent]:
    """The Events of some Pods, each read by itself, by their first occurrence."""
    found = [event for name in names for event in events_about(live.cluster, f"default/{name}")]
    return sorted(found, key=lambda event: event.first.position)


def _preempting_group() -> list[Manifest]:
    return [
        group("g", 2, priorityClassName="high"),
        pod("g-0", cpu="2", group="g", priorityClassName="high"),
        pod("g-1", cpu="2", group="g", priorityClassName="high"),
    ]


def _busy(live: Live, *manifests: Manifest) -> Live:
    """Two nodes, each full of a Pod of no priority, and then `manifests`."""
    live.apply(
        priority_class("high", 100),
        node("n1", cpu="2"),
        node("n2", cpu="2"),
        pod("low-0", cpu="2", terminationGracePeriodSeconds=30),
        pod("low-1", cpu="2", terminationGracePeriodSeconds=30),
    ).wait(0)
    return live.wait(10).apply(*manifests).wait(0)


@pytest.mark.parametrize(
    ("preemptor", "names"),
    [
        pytest.param(_preempting_group(), ["low-0", "low-1", "g-0", "g-1"], id="a group"),
        pytest.param([pod("a", cpu="2", priorityClassName="high")], ["low-0", "low-1", "a"], id="a Pod"),
    ],
)
def test_a_pods_history_tells_what_the_log_tells(
    live: Live, preemptor: list[Manifest], names: list[str]
) -> None:
    _busy(live, *preemptor)
    assert {event.first.what.reason for event in recent(live)} == {
        "Scheduled",
        "FailedScheduling",
        "Preempted",
    }
    live.settle()
    live.apply(pod("low-0", cpu="9")).settle()

    assert sorted(recent(live), key=_order) == sorted(of_each(live, *names), key=_order)


def _order(event: KubeEvent) -> tuple[int, str]:
    return event.first.position, event.name


def test_a_victim_of_a_group_as_it_was_recorded(live: Live) -> None:
    _busy(live, *_preempting_group())
    uid = live.cluster.state.groups["default/g"].uid
    (_, event) = events_about(live.cluster, "default/low-0")
    before = event.first.regarding
    attempt = live.cluster.state.queue.entities["PodGroup/default/g"].last_attempt
    assert as_core(event) == {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {
            "name": f"low-0.{event.first.position:016x}",
            "namespace": "default",
            "uid": as_core(event)["metadata"]["uid"],
            "resourceVersion": str(event.first.position),
            "creationTimestamp": "2026-01-01T00:00:10Z",
        },
        "involvedObject": POD | {"name": "low-0", "uid": before.uid, "resourceVersion": str(before.revision)},
        "reason": "Preempted",
        "message": f"Preempted by podgroup {uid} on node cluster",
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "type": "Normal",
        "eventTime": "2026-01-01T00:00:10.000000Z",
        "action": "Preempting",
        "related": {
            "kind": "PodGroup",
            "namespace": "default",
            "name": "g",
            "uid": uid,
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "resourceVersion": str(attempt),
        },
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-ganger",
    }


def _retried(live: Live, seconds: int) -> None:
    """A gang that is tried by the clock, for so long."""
    live.cluster.append([ev.SchedulerConfigured(retry="byClock")], actor="test")
    live.apply(node("n1", cpu="1"), group("g", 1), pod("a", cpu="2", group="g")).wait(seconds)


def test_repeats_in_both_apis(live: Live) -> None:
    _retried(live, 20)
    once, again = events_about(live.cluster, "default/a")
    assert (once.count, again.count) == (1, 4)
    core, newer = as_core(again), as_events_k8s_io(again)
    assert (
        core["series"]
        == newer["series"]
        == {
            "count": 4,
            "lastObservedTime": rfc3339_micro(again.last_at),
        }
    )
    assert "series" not in as_core(once)
    assert core["metadata"] == newer["metadata"]
    assert core["metadata"]["resourceVersion"] == str(again.last)
    assert newer["regarding"] == core["involvedObject"]
    assert newer["note"] == core["message"]
    assert newer["reportingController"] == core["reportingComponent"]
    assert set(newer) == {
        "apiVersion", "kind", "metadata", "eventTime", "series", "reportingController", "reportingInstance",
        "action", "reason", "regarding", "note", "type",
        "deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp",
    }  # fmt: skip


def test_the_cluster_shows_an_hour_and_a_pod_all(live: Live) -> None:
    _retried(live, 2 * 3600 + 1800)
    whole = events_about(live.cluster, "default/a")
    assert [event.first.at // HOUR - START // HOUR for event in whole] == [0, 0, 1, 2]
    assert recent(live) == whole[2:]
    assert all(event.last_at > live.clock.now() - HOUR for event in recent(live))


def test_as_of_a_position(live: Live) -> None:
    _retried(live, 4)
    (first, again) = events_about(live.cluster, "default/a")
    assert events_about(live.cluster, "default/a", until=first.last) == [first]
    assert recent(live, until=first.last) == [first]
    assert recent(live, until=0) == []
    assert events_about(live.cluster, "default/a", until=again.last) == [first, again]


def test_who_was_deleted_keeps_its_events(live: Live) -> None:
    live.apply(pod("a")).wait(0).delete("Pod/default/a").apply(pod("a")).wait(0)
    uids = [event.first.regarding.uid for event in events_about(live.cluster, "default/a")]
    assert len(set(uids)) == len(uids) == 2
    assert recent(live) == events_about(live.cluster, "default/a")


def test_nobody_knows_such_a_pod(live: Live) -> None:
    assert events_about(live.cluster, "default/a") == recent(live) == []


def test_what_a_pods_events_cost_does_not_grow_with_the_log(live: Live) -> None:
    live.apply(node("n1", cpu="1000"), pod("a", cpu="1")).wait(0)
    read: list[int] = []
    cluster: Any = live.cluster
    log_read = cluster.log.read_positions

    def counting(positions: list[int]) -> Any:
        read.extend(positions)
        return log_read(positions)

    cluster.log.read_positions = counting
    before = events_about(cluster, "default/a")
    live.apply(*(pod(f"other-{number}", cpu="1") for number in range(50))).wait(1)
    assert events_about(cluster, "default/a") == before
    assert len(read) < 20
    assert live.clock.now() == START + SECOND
