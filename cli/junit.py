"""Results of scenarios as a JUnit file, which CI systems show."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from worker.scenarios import Report


def write_junit(path: Path, reports: Sequence[Report]) -> None:
    """Write `reports` to `path` as one test suite."""
    suite = ElementTree.Element(
        "testsuite",
        name="ganger",
        tests=str(len(reports)),
        failures=str(sum(not report.passed for report in reports)),
        errors="0",
        skipped="0",
        time=f"{sum(report.seconds for report in reports):.3f}",
    )
    for report in reports:
        scenario = report.scenario
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=".".join(scenario.path.with_suffix("").parts),
            name=scenario.name,
            time=f"{report.seconds:.3f}",
        )
        if not report.passed:
            failure = ElementTree.SubElement(case, "failure", message=report.faults[0])
            failure.text = "\n".join(report.faults)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)
