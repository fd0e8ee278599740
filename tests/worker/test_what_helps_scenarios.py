"""Where a scenario ends with something that waits: what is offered, done to the real cluster, starts it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.whathelps.budget import Budget
from helping import starts
from store.engine import Store, open_store
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.proving import help_for
from worker.scenarios import Scenario, find_scenarios, run_scenario

TESTS = Path(__file__).resolve().parent.parent
SCENARIOS = [
    pytest.param(scenario, id=scenario.path.relative_to(TESTS).as_posix())
    for scenario in find_scenarios((TESTS / "cases", TESTS / "conformance"))
]
DECISIONS = 400

HOPELESS = {
    "lifecycle-terminating-pending-member": "it is being deleted",
    "cycle-holds-and-is-named": "parents cannot be changed",
    "root-opens-when-two-subtrees-are-ready": "a group of a tree that has started has no Pod to go by",
}
"""Scenarios that end with something for which neither one change nor two are found."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("helped") / "ganger.db"), create=True, durable=False)
    yield store
    store.close()


def ended(store: Store, scenario: Scenario, stream: str) -> tuple[Cluster, VirtualClock]:
    """The cluster of a scenario at its end."""
    run_scenario(store, scenario, stream)
    clock = VirtualClock(0)
    cluster = Cluster.open(store, stream, clock=clock)
    clock.advance_to(cluster.state.at)
    return cluster, clock


def waiting(cluster: Cluster) -> list[tuple[str, str]]:
    """Every entity that waits, but for those below a group that does not exist, and one Pod of each."""
    found: dict[tuple[str, str], None] = {}
    for entity in cluster.state.queue.entities.values():
        if entity.is_pod or cluster.state.group_of(entity.name) is not None:
            found[entity.kind, entity.key] = None
        found["Pod", next(cluster.state.pending_of(entity)).key] = None
    return list(found)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_offered_starts_it(store: Store, scenario: Scenario) -> None:
    cluster, clock = ended(store, scenario, scenario.name)
    offers = 0
    for kind, key in waiting(cluster):
        help_ = help_for(
            cluster, cluster.state, kind, key, now=clock.now(), budget=Budget(decisions=DECISIONS)
        )
        offers += len(help_.changes)
        for number, proved in enumerate(help_.changes):
            stream = f"{scenario.name}: {kind} {key} {number}"
            assert starts(*ended(store, scenario, stream), kind, key, proved), proved.candidate.text
    assert bool(offers) != (scenario.path.stem in HOPELESS) or not waiting(cluster)
