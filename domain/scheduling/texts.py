"""Kubernetes' texts about groups, byte for byte.

Source: kube-scheduler 1.37.2, plugin GangScheduling, the PodGroup cycle and its preemption.
"""

UNSCHEDULABLE = "pod group is unschedulable"
"""Stands before the reasons of a status that was not reached by trying Pods (flagged)."""
FITTED_PREFIX = f"{UNSCHEDULABLE}, "
"""Stands before the group's text on a member that had a place."""
GATED_MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"
PREEMPTED = "PreemptionByScheduler"
"""The reason of the condition DisruptionTarget on a victim."""
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."
NO_VICTIMS = "No preemption victims found for incoming preemptor"
NO_VICTIMS_ON_NODE = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
ONGOING = "ongoing preemption on nominated nodes"
VICTIM_ENDS = "not eligible due to a terminating pod on the nominated node."


def found_for_group(victims: int) -> str:
    """So many Pods go, and the group has room."""
    return f"found a placement for podgroup, preempting {victims} victims"


def found_for_pod(node: str, victims: int) -> str:
    """So many Pods go, and a single Pod has room on `node`."""
    return f"found a potential placement for pod on node {node}, preempting {victims} victims"


def preempted_by(kind: str, uid: str, node: str) -> str:
    """The Event on a victim; for a group `node` is the word `cluster`, for a Pod where that is to go."""
    return f"Preempted by {kind} {uid} on node {node}"


def successfully_assigned(pod: str, node: str) -> str:
    """The Event on a Pod that has got its node."""
    return f"Successfully assigned {pod} to {node}"


def skipped(pod: str) -> str:
    """The Event on a member of a group in a cycle that is being deleted."""
    return f"skip schedule deleting pod: {pod}"


def disruption(scheduler: str, kind: str) -> str:
    """The message on a victim; `kind` is that of the preemptor, in small letters."""
    return f"{scheduler}: preempting to accommodate a higher priority {kind}"


def minimum_not_satisfiable(minimum: int, scheduled: int, remaining: int) -> str:
    """The minimum is out of reach, whatever happens to the members that are left."""
    return f"minCount ({minimum}) cannot be satisfied: {scheduled} scheduled, {remaining} remaining"


def flagged(reason: str = "") -> str:
    """A refusal before any try, or without a reason of its own."""
    return f"{UNSCHEDULABLE}, {reason}" if reason else UNSCHEDULABLE


def with_preemption(text: str, answer: str | None) -> str:
    """The group's text with what preemption answered; None if it says nothing."""
    return text if answer is None else f"{text}, pod group preemption: {answer}"


def other_scheduler(this: str, first: str) -> str:
    """Two members of a group name different schedulers."""
    return (
        "all pods in a single pod group should have the same .spec.schedulerName set, "
        f'got: "{this}" and "{first}"'
    )


def other_priority(pod: int, group: int) -> str:
    """A member's priority is not its group's."""
    return (
        "all pods in a single pod group should have the same priority as the pod group's priority, "
        f"got {pod} and {group}"
    )


def other_policy(pod: str, group: str) -> str:
    """A member's preemption policy is not its group's."""
    return (
        "all pods in a single pod group should have the same preemption policy as the pod group's "
        f"preemption policy, got {pod} and {group}"
    )
