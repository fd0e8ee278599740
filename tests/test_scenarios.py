"""Every scenario of tests/conformance and tests/cases, through admission, log, reducer and worker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.engine import Store, open_store
from worker.scenarios import Scenario, find_scenarios, run_scenario

TESTS = Path(__file__).resolve().parent
FOLDERS = (TESTS / "cases", TESTS / "conformance")


def _path(scenario: Path) -> str:
    return scenario.relative_to(TESTS).as_posix()


SCENARIOS = [pytest.param(scenario, id=_path(scenario.path)) for scenario in find_scenarios(FOLDERS)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that all scenarios share, each with a stream of its own."""
    store = open_store(str(tmp_path_factory.mktemp("scenarios") / "ganger.db"), create=True, durable=False)
    yield store
    store.close()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(store: Store, scenario: Scenario) -> None:
    report = run_scenario(store, scenario, _path(scenario.path))
    assert report.faults == []


def test_every_scenario_is_found() -> None:
    assert {param.id for param in SCENARIOS} == {
        _path(path) for folder in FOLDERS for path in folder.rglob("*.yaml")
    }
