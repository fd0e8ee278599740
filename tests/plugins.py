"""What every run of the tests has: Hypothesis profiles, and no PostgreSQL test skipped unseen in CI.

Loaded by `-p plugins` (pyproject.toml). The profile is `ci` where the variable CI is set, else
`dev`; HYPOTHESIS_PROFILE names another one.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

IN_CI = bool(os.environ.get("CI"))

# How fast the machine is says nothing about a test, so neither profile minds slow examples.
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Derandomized: a commit is green or red, whoever runs it. `dev` keeps looking elsewhere each time.
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if IN_CI else "dev"))


class PostgresMustRun:
    """Fails the session if a test of PostgreSQL was skipped."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._note(report.nodeid, report.longrepr)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._note(report.nodeid, report.longrepr)

    def _note(self, nodeid: str, longrepr: object) -> None:
        reason = longrepr[2] if isinstance(longrepr, tuple) else longrepr  # not the path of the checkout
        if "postgres" in f"{nodeid} {reason}".lower():
            self.skipped.append(nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.skipped:
            terminalreporter.section("tests of PostgreSQL were skipped, which CI does not allow", red=True)
            for nodeid in self.skipped:
                terminalreporter.line(nodeid)


def pytest_configure(config: pytest.Config) -> None:
    if IN_CI:
        config.pluginmanager.register(PostgresMustRun(), "postgres-must-run")
