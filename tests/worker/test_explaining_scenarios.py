"""Every object that a scenario ever had can be explained at its end, as its conditions say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.text.history import render_history
from cli.text.why import render_why
from domain.admission.kinds import KINDS, Kind
from domain.explanation import Explanation, Fate, Look
from store.engine import Store, open_store
from worker.clocks import SystemClock
from worker.cluster import Cluster
from worker.explaining import why
from worker.history import history
from worker.scenarios import Scenario, find_scenarios, run_scenario

TESTS = Path(__file__).resolve().parent.parent
PARTS = ("gang", "lifecycle", "cpg", "tas", "cpg-tas", "preemption")
SCENARIOS = [
    pytest.param(scenario, id=scenario.path.relative_to(TESTS).as_posix())
    for scenario in find_scenarios((TESTS / "cases", *(TESTS / "conformance" / part for part in PARTS)))
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(str(tmp_path_factory.mktemp("explained") / "ganger.db"), create=True, durable=False)
    yield store
    store.close()


def objects_of(cluster: Cluster) -> list[tuple[Kind, str]]:
    """Every object that the log ever held."""
    found: dict[tuple[str, str], None] = {}
    for stored in cluster.log.read():
        if stored.type.endswith("Added"):
            payload = cluster.event(stored.position).payload
            found[stored.type.removesuffix("Added"), payload.key] = None  # type: ignore[union-attr]
    kinds = {kind.name: kind for kind in KINDS}
    return [(kinds[kind], key) for kind, key in found]


def agrees(cluster: Cluster, kind: Kind, key: str, told: Explanation) -> bool:
    """Whether an explanation says what the object's own condition says."""
    shown = cluster.shown(kind, key)
    if shown is None:
        return told.verdict is Fate.DELETED and told.before is not None
    conditions = shown.get("status", {}).get("conditions", [])
    for condition in conditions:
        if condition["type"] == "PodScheduled":
            placed = condition["status"] == "True"
            refused = told.verdict in (Fate.UNSCHEDULABLE, Fate.SCHEDULER_ERROR)
            if placed != (told.verdict is Fate.SCHEDULED):
                return False
            if refused and (condition["reason"], condition["message"]) != (told.verdict.value, told.summary):
                return False
        if condition["type"].endswith("GroupInitiallyScheduled") and told.verdict is Fate.UNSCHEDULABLE:
            return bool(condition["message"] == told.summary)
    return True


def is_true(look: Look) -> bool:
    """Whether what was seen again is what was decided: the best node was taken, or there was none."""
    can = [each for each in look.nodes if not each.verdict]
    if look.chosen is None:
        return not can
    best = max(each.total or 0 for each in can)
    first = next(each.node for each in can if each.total == best)
    return look.by == "nomination" or (look.chosen.node, look.chosen.total) == (first, best)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_everything_in_a_scenario_is_explained(store: Store, scenario: Scenario) -> None:
    run_scenario(store, scenario, scenario.name)
    cluster = Cluster.open(store, scenario.name, clock=SystemClock())
    for kind, key in objects_of(cluster):
        told = why(cluster, kind, key, now=cluster.state.at)
        assert agrees(cluster, kind, key, told), told
        assert told.note
        assert render_why(told).plain
        deep = why(cluster, kind, key, now=cluster.state.at, level=3)
        assert [look for look in deep.looks if not is_true(look)] == []
        assert all(render_why(deep, level=level).plain for level in (2, 3))
        entries = list(history(cluster, kind, key))
        assert all(entry.summary for entry in entries)
        assert render_history(entries).plain
