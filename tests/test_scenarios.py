"""Every scenario of tests/conformance and tests/cases, through admission, log, reducer and worker.

Those in tests/conformance/not-yet.txt need what ganger does not do yet and have to fail, so that the
list cannot outlive what it excuses.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.engine import Store, open_store
from worker.scenarios import Scenario, find_scenarios, run_scenario

TESTS = Path(__file__).resolve().parent
FOLDERS = (TESTS / "cases", TESTS / "conformance")


def _listed() -> frozenset[str]:
    """The scenarios in not-yet.txt, as paths seen from tests/."""
    lines = (TESTS / "conformance" / "not-yet.txt").read_text().splitlines()
    return frozenset(line.partition(": ")[2] for line in lines if line and not line.startswith("#"))


def _path(scenario: Path) -> str:
    return scenario.relative_to(TESTS).as_posix()


NOT_YET = _listed()
SCENARIOS = [pytest.param(scenario, id=_path(scenario.path)) for scenario in find_scenarios(FOLDERS)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that all scenarios share, each with a stream of its own."""
    store = open_store(str(tmp_path_factory.mktemp("scenarios") / "ganger.db"), create=True, durable=False)
    yield store
    store.close()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(store: Store, scenario: Scenario) -> None:
    path = _path(scenario.path)
    report = run_scenario(store, scenario, path)
    if path in NOT_YET:
        assert report.faults, f"{path} passes: take it out of tests/conformance/not-yet.txt"
    else:
        assert report.faults == []


def test_every_scenario_is_found() -> None:
    assert {param.id for param in SCENARIOS} == {
        _path(path) for folder in FOLDERS for path in folder.rglob("*.yaml")
    }
    assert {param.id for param in SCENARIOS} >= NOT_YET
