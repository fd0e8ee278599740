"""What an attempt tells each Pod that it gave no node. Source: kube-scheduler 1.37, failure handler."""

from collections.abc import Iterator

from domain.events import GroupAttempted
from domain.scheduling.texts import FITTED_PREFIX


def told(findings: GroupAttempted) -> Iterator[tuple[tuple[str, ...], str]]:
    """Pods, each with the message that they get, by what was found; those that are skipped get none."""
    prefix = "" if findings.outcome == "waitingOnPreemption" else FITTED_PREFIX
    for found in findings.groups:
        yield found.untried, found.text
        yield found.fitted, prefix + found.message
    for shape in findings.shapes:
        yield shape.pods, shape.message


def reason_of(outcome: str) -> str:
    """The reason of the conditions that an attempt without success writes."""
    return "SchedulerError" if outcome == "error" else "Unschedulable"
