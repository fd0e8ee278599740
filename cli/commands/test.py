"""`ganger test`."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from cli.console import progress
from cli.errors import CannotDo
from cli.keywords import Test, parse_keywords
from worker.scenarios import Report, Scenario


def _parse_keywords(context: click.Context, parameter: click.Parameter, text: str | None) -> Test:
    try:
        return (lambda name: True) if text is None else parse_keywords(text)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-k",
    "wanted",
    metavar="WORDS",
    callback=_parse_keywords,
    help="Only scenarios whose path, name or features contain these; with and, or, not.",
)
@click.option("-v", "--verbose", is_flag=True, help="A line for each scenario, not only for failures.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Write a JUnit file, too.")
def command(paths: tuple[Path, ...], wanted: Test, verbose: bool, junit: Path | None) -> int:
    """Run scenario files.

    Each runs in a cluster of its own and in virtual time; the store is not touched.
    Exit code 0: all passed; 1: some failed.
    """
    from cli.junit import write_junit
    from worker.scenarios import find_scenarios

    found = list(find_scenarios(paths))
    scenarios = [scenario for scenario in found if wanted(_searched(scenario))]
    if not scenarios:
        raise CannotDo(
            f"-k selects none of {len(found)} scenarios" if found else "there is no scenario there"
        )
    reports = _run(scenarios, verbose=verbose)
    if junit is not None:
        write_junit(junit, reports)
    failed = sum(not report.passed for report in reports)
    print(f"{len(reports) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _run(scenarios: Sequence[Scenario], *, verbose: bool) -> list[Report]:
    from store.engine import open_store
    from worker.scenarios import run_scenario

    reports = []
    with TemporaryDirectory() as folder, progress("running") as bar:
        store = open_store(str(Path(folder) / "scenarios.db"), create=True, durable=False)
        try:
            for number, scenario in enumerate(scenarios, 1):
                report = run_scenario(store, scenario, f"scenario-{number}")
                _tell(report, verbose=verbose)
                reports.append(report)
                bar(number, len(scenarios))
        finally:
            store.close()
    return reports


def _tell(report: Report, *, verbose: bool) -> None:
    scenario = report.scenario
    if not report.passed:
        faults = "; ".join(" ".join(fault.split()) for fault in report.faults)
        print(f"FAILED {scenario.path}: {scenario.name}: {faults}")
    elif verbose:
        print(f"PASSED {scenario.path}: {scenario.name} ({report.seconds:.2f}s)")


def _searched(scenario: Scenario) -> str:
    return " ".join((str(scenario.path), scenario.name, *scenario.features)).lower()
