"""What a change would have come to: both courses, side by side."""

from collections.abc import Callable, Sequence

import pytest
from sqlalchemy import update

from build import START, group, node, pod
from domain.admission.kinds import POD, kind_named
from domain.errors import CorruptLog, Expired, Invalid, NotFound
from domain.events import PodBound
from domain.times import SECOND
from live import Live
from store.engine import Store
from store.errors import StreamNotEmpty
from store.tables import origins
from store.verify import verify
from worker.batch import Outcome
from worker.cluster import Cluster
from worker.explaining import why
from worker.history import history
from worker.moments import Moment, moment_of
from worker.replaying import StoredLog, replay
from worker.whatif import Course, Eviction, WhatIf, whatif

NODE = kind_named("node")
HIGH = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
}


@pytest.fixture
def live(sqlite_store: Store) -> Live:
    """A node that one Pod fills, and a gang of two that finds no room; a minute later a third Pod."""
    live = Live(sqlite_store)
    live.apply(HIGH, node("n1", cpu="2"), pod("a", cpu="2")).wait(10)
    live.apply(group("g", 2), pod("g-0", cpu="1", group="g"), pod("g-1", cpu="1", group="g")).wait(60)
    return live.apply(pod("late", cpu="1")).settle()


def _ask(live: Live, *changes: Callable[[Cluster], Sequence[Outcome]], at: str | None = None) -> WhatIf:
    return whatif(
        live.cluster,
        lambda fork: [outcome for change in changes for outcome in change(fork)],
        at=None if at is None else moment_of(live.cluster, at),
    )


def _courses(found: WhatIf) -> dict[str, tuple[str | None, str | None]]:
    return {each.entity: (_told(each.without), _told(each.changed)) for each in found.differences}


def _told(course: Course | None) -> str | None:
    if course is None:
        return None
    waited = "" if course.waited_us is None else f" {course.waited_us // SECOND}s"
    return f"{course.verdict} {course.bound}/{course.pods}{waited} {' '.join(course.nodes.values())}".rstrip()


def _apply(*manifests: dict[str, object]) -> Callable[[Cluster], Sequence[Outcome]]:
    return lambda fork: fork.apply(manifests)


def _delete_a(fork: Cluster) -> Sequence[Outcome]:
    return fork.delete([(POD, "default/a")])


def test_more_room_now(live: Live) -> None:
    found = _ask(live, _apply(node("n2", cpu="2")))

    assert found.changes == ("Node/n2 created",)
    assert found.recorded is None
    assert _courses(found) == {"PodGroup/default/g": ("Unschedulable 0/2", "Scheduled 2/2 60s n2 n2")}


def test_more_room_in_the_past_meets_what_came_later(live: Live) -> None:
    found = _ask(live, _apply(node("n2", cpu="3")), at="2026-01-01T00:00:05Z")

    assert _courses(found) == {
        "Pod/default/late": ("Unschedulable 0/1", "Scheduled 1/1 0s n2"),
        "PodGroup/default/g": ("Unschedulable 0/2", "Scheduled 2/2 0s n2 n2"),
    }
    assert found.recorded is not None
    assert (found.recorded.requests, found.recorded.dropped, found.recorded.elsewhere) == (4, 0, ())


def test_before_anything_was_there(live: Live) -> None:
    found = _ask(live, _apply(node("n2", cpu="3")), at="0")

    assert found.fork.position == 0
    assert _courses(found)["PodGroup/default/g"] == ("Unschedulable 0/2", "Scheduled 2/2 0s n1 n2")


@pytest.mark.parametrize(
    ("away", "node_of_a", "node_of_vip"),
    [
        pytest.param(True, None, "n1", id="the worker was away and saw both at once"),
        pytest.param(False, "n1", None, id="the worker decided between them, in the same microsecond"),
    ],
)
def test_requests_come_again_where_they_stood_between_attempts(
    sqlite_store: Store, away: bool, node_of_a: str | None, node_of_vip: str | None
) -> None:
    live = Live(sqlite_store)
    live.apply({**HIGH, "preemptionPolicy": "Never"}, node("n1", cpu="2")).wait(1)
    live.apply(pod("a", cpu="2"))
    if away:
        live.clock.advance_to(live.clock.now() + SECOND)
    else:
        live.worker.advance(live.clock, live.clock.now())
    live.apply(pod("vip", cpu="2", priorityClassName="high")).wait(60)
    assert live.cluster.state.pods["default/a"].node == node_of_a
    assert live.cluster.state.pods["default/vip"].node == node_of_vip

    found = _ask(live, at="2")

    assert found.same
    assert found.recorded is not None
    assert (found.recorded.requests, found.recorded.elsewhere) == (2, ())


def test_a_gang_that_is_just_being_bound_is_whole_in_the_fork(sqlite_store: Store) -> None:
    live = Live(sqlite_store)
    live.apply(node("n1", cpu="2"), group("g", 2), *(pod(f"g-{n}", cpu="1", group="g") for n in range(2)))
    live.wait(1).apply(pod("later", cpu="1")).wait(1)
    log = live.cluster.log
    first, last = (each.position for each in log.read() if each.type == "PodBound")

    found = _ask(live, at=str(first))

    assert found.fork.position == last
    assert found.recorded is not None
    assert found.recorded.elsewhere == ()


def test_something_deleted(live: Live) -> None:
    assert _courses(_ask(live, _delete_a)) == {
        "Pod/default/a": ("Scheduled 1/1 n1", "Deleted 0/0"),
        "PodGroup/default/g": ("Unschedulable 0/2", "Scheduled 2/2 60s n1 n1"),
    }


def test_a_preemptor(live: Live) -> None:
    found = _ask(live, _apply(pod("vip", cpu="2", priorityClassName="high")))

    assert _courses(found)["Pod/default/vip"] == (None, "Scheduled 1/1 0s n1")
    (evicted,) = (each.changed for each in found.differences if each.entity == "Pod/default/a")
    assert evicted is not None
    assert evicted.evicted == (
        Eviction(pod="default/a", preemptor="Pod/default/vip", time="2026-01-01T00:01:10.000000Z"),
    )


def test_another_configuration(live: Live) -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}}],
    }
    found = _ask(live, lambda fork: [fork.configure(document)], _apply(node("n2", cpu="1m")))

    assert found.changes == ("KubeSchedulerConfiguration configured", "Node/n2 created")
    assert "PodGroup/default/g" in _courses(found)


def test_a_request_about_what_is_gone_is_dropped(live: Live) -> None:
    at = str(live.position)
    live.apply(pod("a", cpu="2", annotations={"note": "b"})).delete("Pod/default/a", grace=0)
    found = _ask(live, lambda fork: fork.delete([(POD, "default/a")], grace=0), at=at)

    assert found.recorded is not None
    assert (found.recorded.requests, found.recorded.dropped) == (2, 2)


def test_who_waits_in_the_fork_is_deleted_at_once(live: Live) -> None:
    at = str(live.position)
    live.delete("Pod/default/a").settle()
    found = _ask(live, lambda fork: fork.delete([(NODE, "n1")]), at=at)

    assert "Pod/default/a" not in _courses(found)


def test_a_change_without_effect(live: Live) -> None:
    assert _ask(live, _apply(node("n2", cpu="100m"))).same


def test_so_long_and_no_longer(live: Live) -> None:
    manifests = [node("n2", cpu="2"), pod("gone", cpu="500m", annotations={"ganger.dev/run-seconds": "90"})]
    found = whatif(live.cluster, lambda fork: fork.apply(manifests), span_us=30 * SECOND)

    assert found.complete
    assert found.until == "2026-01-01T00:01:40.000000Z"


def test_cut_off(live: Live) -> None:
    found = whatif(live.cluster, lambda fork: fork.apply([node("n2", cpu="2")]), deadline_s=0)

    assert not found.complete


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        pytest.param(
            lambda fork: fork.delete([(POD, "default/none")]), NotFound, id="delete what is not there"
        ),
        pytest.param(lambda fork: fork.apply([node("N")]), Invalid, id="apply what is wrong"),
    ],
)
def test_a_change_that_is_refused(
    live: Live, change: Callable[[Cluster], Sequence[Outcome]], refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        whatif(live.cluster, change)


def test_the_future(live: Live) -> None:
    with pytest.raises(Expired):
        whatif(live.cluster, lambda _: [], at=Moment(live.position + 1, START))


def test_the_log_stays_as_it_is(live: Live) -> None:
    before = live.cluster.log.head()

    found = _ask(live, _delete_a, at="2026-01-01T00:00:10Z")

    assert not found.same
    assert live.cluster.log.head() == before
    assert live.cluster.refresh() == []
    assert not list(live.cluster.log.of_type(PodBound.__name__, after=before.position))


@pytest.mark.parametrize("at", ["0", "5", None], ids=["the beginning", "the past", "now"])
def test_a_fork_that_is_kept_is_a_cluster(live: Live, at: str | None) -> None:
    before = live.cluster.log.head()
    moment = None if at is None else moment_of(live.cluster, at)

    whatif(live.cluster, lambda fork: fork.apply([node("n2", cpu="3")]), at=moment, save="kept")

    kept = Cluster.open(live.cluster.log.store, "kept", clock=live.clock, verify=True)
    assert why(kept, kind_named("podgroup"), "default/g").placed
    assert replay(StoredLog(kept.log)).same
    assert next(each.type for each in history(kept, NODE, "n2")) == "NodeAdded"
    assert live.cluster.log.head() == before
    verify(kept.log, deep=True)
    assert kept.apply([pod("more")])[0].change == "created"


def test_a_fork_of_a_fork(live: Live) -> None:
    whatif(live.cluster, lambda fork: fork.apply([node("n2", cpu="3")]), save="kept")
    kept = Cluster.open(live.cluster.log.store, "kept", clock=live.clock)

    found = whatif(kept, lambda fork: fork.delete([(NODE, "n1")]), save="again")

    assert found.changes == ("Node/n1 deleted",)
    verify(Cluster.open(live.cluster.log.store, "again", clock=live.clock).log, deep=True)


def test_a_fork_is_not_kept_over_another_cluster(live: Live) -> None:
    with pytest.raises(StreamNotEmpty):
        whatif(live.cluster, lambda _: [], save="default")


def test_a_parent_that_was_changed_is_found_out(live: Live) -> None:
    whatif(live.cluster, lambda _: [], save="kept")
    with live.cluster.log.store.writing() as connection:
        connection.execute(update(origins).values(hash=bytes(32)))

    with pytest.raises(CorruptLog, match="the fork parted from 'default' here"):
        verify(Cluster.open(live.cluster.log.store, "kept", clock=live.clock).log)
