"""One attempt at a single pod or at a PodGroup without a parent: who gets which node, and every text.

Sources: KEP-4671; kube-scheduler 1.37, schedule_one.go, schedule_one_podgroup.go and the GangScheduling
plugin. An attempt only finds things out here; writing them down is the model's part.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from reference.amounts import Manifest
from reference.filters import CONFLICT, OTHER_NODE, Host, Refusal, pinned_nodes, refuse
from reference.neighbours import inter_pod_affinity, pod_topology_spread
from reference.scores import totals

SUCCESS, WAIT, UNSCHEDULABLE, ERROR = "Success", "Wait", "Unschedulable", "SchedulerError"
SKIPPED = "Skipped"

GROUP_UNSCHEDULABLE = "pod group is unschedulable"
NO_NODES = "no nodes available to schedule pods"
NEVER = "not eligible due to preemptionPolicy=Never."


def key_of(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def priority_of(manifest: Manifest) -> int:
    return int(manifest["spec"].get("priority") or 0)


def policy_of(manifest: Manifest) -> str:
    return str(manifest["spec"].get("preemptionPolicy") or "PreemptLowerPriority")


def scheduler_of(pod: Manifest) -> str:
    return str(pod["spec"].get("schedulerName") or "default-scheduler")


def is_deleting(manifest: Manifest) -> bool:
    return manifest["metadata"].get("deletionTimestamp") is not None


@dataclass(frozen=True)
class Trial:
    """What came of trying one pod: the best node, or the text and each node's refusal."""

    pod: Manifest
    node: str | None
    text: str = ""
    refusals: dict[str, Refusal] = field(default_factory=dict)


def refuse_among(pod: Manifest, host: Host, cluster: list[Host]) -> Refusal | None:
    """The refusal of the first filter that has one; the last two look at the whole cluster."""
    return (
        refuse(pod, host) or pod_topology_spread(pod, host, cluster) or inter_pod_affinity(pod, host, cluster)
    )


def try_pod(pod: Manifest, cluster: list[Host]) -> Trial:
    """Filter and score all hosts of `cluster`, which is sorted by name: ties go to the smallest one."""
    if not cluster:
        return Trial(pod, None, NO_NODES)
    pinned = pinned_nodes(pod)
    if pinned is not None and not pinned:
        conflict = {host.name: Refusal((CONFLICT,), hopeless=True) for host in cluster}
        return Trial(pod, None, f"0/{len(cluster)} nodes are available: {CONFLICT}.", conflict)
    refusals: dict[str, Refusal] = {}
    for host in cluster:
        if pinned is not None and host.name not in pinned:
            refusals[host.name] = Refusal((OTHER_NODE,), hopeless=True)
        elif (refusal := refuse_among(pod, host, cluster)) is not None:
            refusals[host.name] = refusal
    feasible = [host for host in cluster if host.name not in refusals]
    if not feasible:
        reasons = [reason for refusal in refusals.values() for reason in refusal.reasons]
        return Trial(pod, None, unavailable(len(cluster), reasons), refusals)
    scores = totals(pod, feasible, cluster)
    return Trial(pod, feasible[scores.index(max(scores))].name, refusals=refusals)


def unavailable(nodes: int, reasons: list[str]) -> str:
    """The histogram of reasons. Its items are sorted as strings, their counts included."""
    items = sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())
    return f"0/{nodes} nodes are available: {', '.join(items)}."


def place(pods: list[Manifest], cluster: list[Host]) -> list[Trial]:
    """Try the pods one after the other, each beside those that were placed before it."""
    room = [replace(host, pods=list(host.pods)) for host in cluster]
    trials = []
    for pod in pods:
        trials.append(try_pod(pod, room))
        assume(trials[-1], room)
    return trials


def assume(trial: Trial, room: list[Host]) -> None:
    for host in room:
        if host.name == trial.node:
            host.pods.append(trial.pod)


@dataclass(frozen=True)
class Status:
    kind: str
    error: str = ""  # stands in front of the reasons
    reasons: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return ", ".join([*([self.error] if self.error else []), *self.reasons])


def feasibility(minimum: int, scheduled: int, remaining: int) -> Status:
    """Can the minimum still be met, with `scheduled` members placed and `remaining` ones to try?"""
    counts = f"{scheduled} scheduled, {remaining} remaining"
    if scheduled + remaining < minimum:
        return Status(UNSCHEDULABLE, reasons=(f"minCount ({minimum}) cannot be satisfied: {counts}",))
    if scheduled < minimum:
        return Status(WAIT, reasons=(f"minCount ({minimum}) is not yet satisfied: {counts}",))
    return Status(SUCCESS)


def run_leaf(
    members: list[Manifest], scheduled: int, minimum: int, cluster: list[Host]
) -> tuple[Status, list[Trial]]:
    """Place members in their order until the minimum cannot be met any more; go on beyond it.

    Returns the group's status and the trials of the members that were tried, placed or not. With any
    status but Success nothing is kept of what was placed.
    """
    trials: list[Trial] = []
    remaining = len(members)
    status = feasibility(minimum, scheduled, remaining)
    if status.kind == UNSCHEDULABLE:
        return Status(UNSCHEDULABLE, GROUP_UNSCHEDULABLE, status.reasons), trials
    room = [replace(host, pods=list(host.pods)) for host in cluster]
    for pod in members:
        trial = try_pod(pod, room)
        trials.append(trial)
        assume(trial, room)
        remaining -= 1
        scheduled += trial.node is not None
        status = feasibility(minimum, scheduled, remaining)
        if status.kind == UNSCHEDULABLE:
            break
    return status, trials


@dataclass(frozen=True)
class Outcome:
    """What one attempt decides. A text of None is one that the model does not know (preemption)."""

    verdict: str  # SUCCESS, UNSCHEDULABLE, ERROR, or SKIPPED: nobody was left to try
    bound: dict[str, str] = field(default_factory=dict)  # pod to node, in the order of placing
    refused: dict[str, str | None] = field(default_factory=dict)  # pod to the text of its condition
    skipped: list[str] = field(default_factory=list)  # pods that are being deleted
    group_text: str | None = ""
    may_preempt: bool = False  # someone of lower priority is there: what comes then is not modelled


def minimum_of(group: Manifest) -> int:
    """A gang's minCount; a basic group needs one."""
    gang = group["spec"]["schedulingPolicy"].get("gang")
    return 1 if gang is None else int(gang["minCount"])


def attempt_group(
    group: Manifest,
    queued: list[Manifest],
    scheduled: list[Manifest],
    cluster: list[Host],
    unit_priority: Callable[[Manifest], int],
) -> Outcome:
    """One cycle of a PodGroup. `queued` is in the order in which members are tried.

    `unit_priority` gives the priority at which preemption would look at a running pod.
    """
    fault = disagreement(group, queued, scheduled)
    if fault is not None:
        return Outcome(ERROR, refused={key_of(pod): fault for pod in queued}, group_text=fault)
    skipped = [key_of(pod) for pod in queued if is_deleting(pod)]
    members = [pod for pod in queued if not is_deleting(pod)]
    if not members:
        return Outcome(SKIPPED, skipped=skipped)
    status, trials = run_leaf(members, len(scheduled), minimum_of(group), cluster)
    placed = {key_of(trial.pod): trial.node for trial in trials if trial.node is not None}
    failed = {key_of(trial.pod): trial.text for trial in trials if trial.node is None}
    if status.kind == SUCCESS and placed:
        return Outcome(SUCCESS, bound=placed, refused=dict(failed), skipped=skipped)
    if status.kind == SUCCESS:
        status = Status(UNSCHEDULABLE, GROUP_UNSCHEDULABLE)
    tail = group_preemption(group, cluster, unit_priority)
    whole = None if tail is None else f"{status.message}, pod group preemption: {tail}"
    refused: dict[str, str | None] = {}
    for pod in members:
        key = key_of(pod)
        if key in failed:
            refused[key] = failed[key]
        elif key in placed:
            refused[key] = None if whole is None else f"{GROUP_UNSCHEDULABLE}, {whole}"
        else:
            refused[key] = status.message
    return Outcome(
        UNSCHEDULABLE, refused=refused, skipped=skipped, group_text=whole, may_preempt=tail is None
    )


def disagreement(group: Manifest, queued: list[Manifest], scheduled: list[Manifest]) -> str | None:
    """The first way in which a member, waiting or running, is not like its group; None if none is."""
    same = "all pods in a single pod group should have the same"
    first = scheduler_of(queued[0])
    for pod in queued + scheduled:
        if scheduler_of(pod) != first:
            return f'{same} .spec.schedulerName set, got: "{scheduler_of(pod)}" and "{first}"'
        if priority_of(pod) != priority_of(group):
            got = f"got {priority_of(pod)} and {priority_of(group)}"
            return f"{same} priority as the pod group's priority, {got}"
        if policy_of(pod) != policy_of(group):
            got = f"got {policy_of(pod)} and {policy_of(group)}"
            return f"{same} preemption policy as the pod group's preemption policy, {got}"
    return None


def group_preemption(
    group: Manifest, cluster: list[Host], unit_priority: Callable[[Manifest], int]
) -> str | None:
    """What preemption answers to a refused group; None if there are pods that it could evict."""
    if policy_of(group) == "Never":
        return NEVER
    if any(unit_priority(pod) < priority_of(group) for host in cluster for pod in host.pods):
        return None
    return "No preemption victims found for incoming preemptor"


def attempt_pod(pod: Manifest, cluster: list[Host], unit_priority: Callable[[Manifest], int]) -> Outcome:
    """One attempt at a pod without a group."""
    key = key_of(pod)
    if is_deleting(pod):
        return Outcome(SKIPPED, skipped=[key])
    trial = try_pod(pod, cluster)
    if trial.node is not None:
        return Outcome(SUCCESS, bound={key: trial.node})
    if not cluster:
        return Outcome(UNSCHEDULABLE, refused={key: trial.text})
    tail = pod_preemption(trial, cluster, unit_priority)
    text = None if tail is None else f"{trial.text} preemption: {tail}"
    return Outcome(UNSCHEDULABLE, refused={key: text}, may_preempt=tail is None)


def pod_preemption(trial: Trial, cluster: list[Host], unit_priority: Callable[[Manifest], int]) -> str | None:
    """What preemption answers to a refused pod; None if a node that it could help has pods to evict."""
    if policy_of(trial.pod) == "Never":
        return NEVER
    answers = []
    for host in cluster:
        if trial.refusals[host.name].hopeless:
            answers.append("Preemption is not helpful for scheduling")
        elif any(unit_priority(pod) < priority_of(trial.pod) for pod in host.pods):
            return None
        else:
            answers.append("No preemption victims found for incoming pod")
    return unavailable(len(cluster), answers)
