import subprocess
import sys
import threading

import pytest

from build import node, pod
from domain.events import GroupAttempted
from store.engine import Store
from store.leases import acquire, current_lease, release
from store.notify import Watcher
from worker.active import TTL_US, ActiveWorker, _machine
from worker.clocks import SystemClock
from worker.cluster import Cluster

TIMEOUT_S = 60


@pytest.fixture
def cluster(store: Store) -> Cluster:
    return Cluster.open(store, "default", clock=SystemClock())


def _wait_until_bound(cluster: Cluster, key: str) -> None:
    with Watcher(cluster.log.store, cluster.log.stream) as watcher:
        position = 0
        while not any(event.type == "PodBound" for event in cluster.log.history(f"Pod/{key}")):
            before, position = position, watcher.wait(position, TIMEOUT_S)
            assert position > before, "nothing has happened for a long time"


def test_it_works_from_start_to_stop_and_gives_the_lease_back(cluster: Cluster) -> None:
    timed: list[tuple[str, bool]] = []
    worker = ActiveWorker(cluster, timed=lambda attempt, seconds: timed.append((attempt.entity, seconds > 0)))
    worker.start()
    cluster.apply([node("n"), pod("p", cpu="1")])
    _wait_until_bound(cluster, "default/p")
    lease = current_lease(cluster.log.store, "default")
    assert lease is not None
    worker.stop()
    assert current_lease(cluster.log.store, "default") is None
    assert worker.failure is None
    assert timed == [("Pod/default/p", True)]
    cluster.apply([pod("q", cpu="1")])
    assert "PodBound" not in [event.type for event in cluster.log.history("Pod/default/q")]


def test_it_waits_for_the_lease_of_another(cluster: Cluster) -> None:
    now = cluster.clock.now()
    other = acquire(cluster.log.store, "default", "another", now=now, ttl_us=TTL_US)
    worker = ActiveWorker(cluster)
    worker.start()
    cluster.apply([node("n"), pod("p", cpu="1")])
    assert [event.type for event in cluster.log.read()] == ["NodeAdded", "PodAdded"]
    release(cluster.log.store, other)
    _wait_until_bound(cluster, "default/p")
    worker.stop()


def test_it_does_not_wait_for_a_process_that_is_dead(cluster: Cluster) -> None:
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait(TIMEOUT_S)
    holder = f"{_machine()}/{killed.pid}/0"
    acquire(cluster.log.store, "default", holder, now=cluster.clock.now(), ttl_us=1_000 * TTL_US)
    worker = ActiveWorker(cluster)
    worker.start()
    cluster.apply([node("n"), pod("p", cpu="1")])
    _wait_until_bound(cluster, "default/p")
    worker.stop()


def test_it_steps_back_when_another_takes_over_and_comes_again(cluster: Cluster) -> None:
    worker = ActiveWorker(cluster)
    worker.start()
    cluster.apply([node("n"), pod("p", cpu="1")])
    _wait_until_bound(cluster, "default/p")
    far = cluster.clock.now() + 10 * TTL_US
    other = acquire(cluster.log.store, "default", "another", now=far, ttl_us=-10 * TTL_US)  # and lost at once
    cluster.apply([pod("q", cpu="1")])
    _wait_until_bound(cluster, "default/q")
    newest = current_lease(cluster.log.store, "default")
    assert newest is not None
    assert newest.epoch > other.epoch
    worker.stop()
    assert worker.failure is None


def test_what_ends_it_before_its_time_is_kept(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = threading.Event()

    def broken(*_: object) -> None:
        failed.set()
        raise RuntimeError("a defect")

    monkeypatch.setattr("worker.loop.decide", broken)
    worker = ActiveWorker(cluster)
    worker.start()
    assert failed.wait(TIMEOUT_S)
    worker.stop()
    assert str(worker.failure) == "a defect"
    assert current_lease(cluster.log.store, "default") is None, "nobody has to wait for it"


def test_an_attempt_is_timed_once(cluster: Cluster) -> None:
    attempts: list[GroupAttempted] = []
    worker = ActiveWorker(cluster, timed=lambda attempt, _: attempts.append(attempt))
    worker.start()
    for name in "abc":
        cluster.apply([pod(name, cpu="1")])
    cluster.apply([node("n")])
    for name in "abc":
        _wait_until_bound(cluster, f"default/{name}")
    worker.stop()
    stored = list(cluster.log.of_type("GroupAttempted"))
    assert len(attempts) == len(stored)
