"""A cluster is configured by a whole document, or not at all; what was decided by it can be decided again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from books import Book, Lines, lines_of, lost_wake_ups
from build import START, Manifest, node
from domain.configuration import configuration_of
from domain.errors import Invalid
from domain.events import GroupAttempted, SchedulerConfigured
from domain.profile import Profile
from ganger_testing.profiles import profiles
from store.engine import Store
from strategies import Action, actions, books, perform
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.replaying import replay


@pytest.fixture
def cluster(sqlite_store: Store) -> Cluster:
    return Cluster.open(sqlite_store, "configured", clock=VirtualClock(START))


def document(**fields: object) -> Manifest:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **fields,
    }


def test_a_configuration_is_one_event_and_only_where_it_changes_something(cluster: Cluster) -> None:
    lean = document(ganger={"siblings": "lean"}, parallelism=4)
    outcome = cluster.configure(lean, actor="alice")
    assert (outcome.change, outcome.object) == ("configured", configuration_of(cluster.state.config))
    assert outcome.warnings == ("parallelism has no effect in ganger: all nodes are looked at at once",)
    assert cluster.state.config == SchedulerConfigured(siblings="lean")
    assert cluster.configure(lean).change == "unchanged"
    assert [line.type for line in cluster.log.read()] == ["SchedulerConfigured"]


def test_what_a_document_leaves_out_gets_its_default(cluster: Cluster) -> None:
    cluster.configure(document(podMaxBackoffSeconds=60, ganger={"retry": "byClock"}))
    cluster.configure(document(podInitialBackoffSeconds=2))
    assert cluster.state.config == SchedulerConfigured(initial_backoff_us=2_000_000)


def test_a_dry_run_changes_nothing(cluster: Cluster) -> None:
    outcome = cluster.configure(document(podMaxBackoffSeconds=60), dry_run=True)
    assert outcome.object is not None
    assert (outcome.change, outcome.object["podMaxBackoffSeconds"]) == ("configured", 60)
    assert cluster.log.head().position == 0


def test_a_refusal_changes_nothing(cluster: Cluster) -> None:
    cluster.apply([node("n")])
    with pytest.raises(Invalid):
        cluster.configure(document(podMaxBackoffSeconds=60, extenders=[{}]))
    assert cluster.log.head().position == 1
    assert cluster.state.config == SchedulerConfigured()


@given(books(), st.lists(profiles(), min_size=1, max_size=3), st.lists(actions(), max_size=8))
def test_a_log_with_configurations_decides_the_same_again(
    book: Book, several: list[Profile], does: list[Action]
) -> None:
    for profile in several:
        book.append(SchedulerConfigured(profiles=(profile,)))
        for action in does:
            perform(action, book)
        book.settle()
        assert lost_wake_ups(book.state, book.now) == []
    result = replay(Lines(lines_of(book)))
    assert result.divergence is None
    assert result.attempts == sum(isinstance(event.payload, GroupAttempted) for event in book.events)
