"""Which clusters a server works on."""

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from sqlalchemy import update

from api.clusters import Clusters
from build import START, node
from store import tables
from store.engine import Store
from worker.clocks import VirtualClock
from worker.cluster import Cluster


@pytest.fixture
def store(sqlite_store: Store) -> Store:
    """A store with the clusters `east` and `west`."""
    for name in ("east", "west"):
        Cluster.open(sqlite_store, name, clock=VirtualClock(START)).apply([node("n1")])
    return sqlite_store


@contextmanager
def _serving(store: Store, *, work: bool) -> Iterator[Clusters]:
    with closing(Clusters(store, "default", clock=VirtualClock(START), work=work)) as clusters:
        yield clusters


def _at_work(clusters: Clusters) -> list[str]:
    return sorted(each.cluster.log.stream for each in clusters.all() if each.worker is not None)


def test_a_server_works_on_every_cluster_that_there_is(store: Store) -> None:
    with _serving(store, work=True) as clusters:
        assert _at_work(clusters) == ["default", "east", "west"]
        clusters.open("north")
        assert _at_work(clusters) == ["default", "east", "north", "west"]


def test_a_server_without_a_worker_opens_what_it_is_asked_for(store: Store) -> None:
    with _serving(store, work=False) as clusters:
        assert [each.cluster.log.stream for each in clusters.all()] == ["default"]
        clusters.open("east")
        assert _at_work(clusters) == []


def test_a_cluster_that_cannot_be_opened_does_not_stop_the_others(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with store.writing() as connection:
        first = connection.execute(tables.streams.select().where(tables.streams.c.name == "east")).one()
        connection.execute(
            update(tables.events).where(tables.events.c.stream_id == first.id).values(line=b"{}")
        )
    with caplog.at_level(logging.ERROR, "ganger.api"), _serving(store, work=True) as clusters:
        assert _at_work(clusters) == ["default", "west"]
    assert [record.message.partition(":")[0] for record in caplog.records] == ["cluster 'east' has no worker"]
