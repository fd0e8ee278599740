"""What an attempt tells each Pod that it gave no node. Source: kube-scheduler 1.37, failure handler."""

from collections.abc import Iterator
from typing import Final

from domain.events import GroupAttempted
from domain.scheduling.texts import FITTED_PREFIX

UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"


def told(findings: GroupAttempted) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Pods, with the reason and the message that they get; those that were skipped get none."""
    prefix = "" if findings.outcome == "waitingOnPreemption" else FITTED_PREFIX
    for found in findings.groups:
        yield found.untried, reason_of(found.status), found.text
        yield found.fitted, UNSCHEDULABLE, prefix + found.message
    for shape in findings.shapes:
        yield shape.pods, UNSCHEDULABLE, shape.message


def reason_of(status: str) -> str:
    """The reason of a condition that says that a group of this status was not scheduled."""
    return SCHEDULER_ERROR if status == "Error" else UNSCHEDULABLE
