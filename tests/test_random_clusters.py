"""Random clusters that a real kube-scheduler 1.37.2 decided, the same in two runs, and ganger decides.

Where kube-scheduler takes any of equal nodes, another outcome can be as right: `TIES` has such
clusters, each with what shows it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recorded import FOLDER
from store.engine import Store, open_store
from worker.scenarios import Scenario, find_scenarios, run_scenario

NOT_YET_FEATURES = frozenset({"cpg", "tas"})
"""Clusters with one of these have groups that are held for now: they have to fail."""

NOT_YET = {
    "random-00027": "preemption under pod affinity",
    "random-00296": "preemption under pod affinity",
}
"""Single clusters that have to fail for now, with what they need."""

TIES: dict[str, str] = {}
"""Clusters with another outcome than the recorded one that is as right, with the reason."""

CLUSTERS = list(find_scenarios([FOLDER / "random"]))


def _name(scenario: Scenario) -> str:
    return scenario.path.stem


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that all clusters share, each with a stream of its own."""
    opened = open_store(str(tmp_path_factory.mktemp("random") / "ganger.db"), create=True, durable=False)
    yield opened
    opened.close()


@pytest.mark.parametrize("scenario", CLUSTERS, ids=_name)
def test_ganger_decides_as_kube_scheduler_did(store: Store, scenario: Scenario) -> None:
    name = _name(scenario)
    faults = run_scenario(store, scenario, name).faults
    if name in NOT_YET or NOT_YET_FEATURES & set(scenario.features):
        assert faults, f"{name} passes: it is no longer among those that have to fail"
    elif name in TIES:
        assert faults, f"{name} agrees with the recording: it is no tie"
    else:
        assert faults == []


def test_the_clusters_are_all_there_and_few_are_ties() -> None:
    names = {_name(scenario) for scenario in CLUSTERS}
    assert names == {path.stem for path in Path(FOLDER / "random").glob("*.yaml")}
    assert len(names) > 200
    assert {*NOT_YET, *TIES} <= names
    assert len(TIES) * 20 < len(names)
