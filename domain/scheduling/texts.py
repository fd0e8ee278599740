"""Kubernetes' texts about groups, byte for byte.

Source: kube-scheduler 1.37.2, plugin GangScheduling, the PodGroup cycle and its preemption.
"""

UNSCHEDULABLE = "pod group is unschedulable"
"""Stands before the reasons of a status that was not reached by trying Pods (flagged)."""
FITTED_PREFIX = f"{UNSCHEDULABLE}, "
"""Stands before the group's text on a member that had a place."""
NO_PLACEMENTS = "no feasible placements found"
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


def groups_not_satisfiable(minimum: int, scheduled: int, remaining: int) -> str:
    """As `minimum_not_satisfiable`, of a composite and its children."""
    return f"minGroupCount ({minimum}) cannot be satisfied: {scheduled} scheduled, {remaining} remaining"


def no_placement(count: int, text: str) -> str:
    """None of `count` placements will do; the one that is reported was refused with `text`.

    Of a flagged text only the flag is repeated (its error form).
    """
    shown = UNSCHEDULABLE if text.startswith(UNSCHEDULABLE) else text
    return flagged(f"0/{count} placements are available, first placement status: {shown}")


def handed_down(composite: str, text: str, *, parent: bool) -> str:
    """A group has no say since `composite`, its parent or further above, was refused with `text`."""
    above = "parent" if parent else "ancestor"
    return f'{above} composite pod group "{composite}" is unschedulable: {text}'


def child_error(text: str) -> str:
    """A composite ends in the error of one of its children."""
    return f"composite pod group evaluation failed due to child error: {text}"


def several_domains(first: str, second: str) -> str:
    """Members of one group run in more than one domain, two of which are named."""
    return (
        "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: "
        f"{first}, {second}"
    )


def no_domain(pod: str) -> str:
    """A member runs on a node without the label that its group asks for."""
    return f"cannot determine domain for already scheduled pods: no topology domain found for pod {pod}"


def too_deep(depth: int, allowed: int) -> str:
    """A tree has more levels than are scheduled."""
    return f"hierarchy depth {depth} exceeds maximum allowed depth {allowed}"


def flagged(reason: str = "") -> str:
    """A refusal before any try, or without a reason of its own."""
    return f"{UNSCHEDULABLE}, {reason}" if reason else UNSCHEDULABLE


def with_preemption(text: str, answer: str) -> str:
    """The group's text with what preemption answered."""
    return f"{text}, pod group preemption: {answer}"


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


def other_group_priority(this: int, group: str, priority: int, root: str) -> str:
    """A group's priority is not that of the root of its tree."""
    return (
        "all pod groups in a hierarchy should have the same priority as the root pod group's priority, "
        f'got {this} ("{group}") and {priority} ("{root}")'
    )


def other_group_policy(this: str, group: str, policy: str, root: str) -> str:
    """A group's preemption policy is not that of the root of its tree."""
    return (
        "all pod groups in a hierarchy should have the same preemption policy as the root pod group's "
        f'preemption policy, got {this} ("{group}") and {policy} ("{root}")'
    )
