"""One Pod tried on the nodes of a cluster, or of a placement: the best node, or why there is none.

Sources: kube-scheduler 1.37, schedule_one.go. Inside a placement only its nodes can be taken and are
counted in texts; the rules about other Pods see the whole cluster all the same.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from reference.amounts import Manifest
from reference.filters import CONFLICT, OTHER_NODE, Host, Refusal, pinned_nodes, refuse
from reference.neighbours import inter_pod_affinity, pod_topology_spread
from reference.scores import totals

NO_NODES = "no nodes available to schedule pods"

Placed = list[tuple[Manifest, str]]
"""Pods with the names of their nodes, in the order in which they were placed."""


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


def beside(cluster: list[Host], placed: Placed) -> list[Host]:
    """The cluster with the pods that were `placed`, too."""
    more: dict[str, list[Manifest]] = {}
    for pod, name in placed:
        more.setdefault(name, []).append(pod)
    return [replace(host, pods=[*host.pods, *more.get(host.name, ())]) for host in cluster]


def refuse_among(pod: Manifest, host: Host, cluster: list[Host]) -> Refusal | None:
    """The refusal of the first filter that has one; the last two look at the whole cluster.

    Where others are nominated to the host, the pod has to pass with them there, and without them.
    """
    if host.promised:
        full = replace(host, pods=[*host.pods, *host.promised])
        others = [full if other is host else other for other in cluster]
        refusal = _refuse(pod, full, others)
        if refusal is not None:
            return refusal
    return _refuse(pod, host, cluster)


def _refuse(pod: Manifest, host: Host, cluster: list[Host]) -> Refusal | None:
    return (
        refuse(pod, host) or pod_topology_spread(pod, host, cluster) or inter_pod_affinity(pod, host, cluster)
    )


def try_pod(
    pod: Manifest, cluster: list[Host], names: Iterable[str] | None = None, hope: str | None = None
) -> Trial:
    """Filter and score the hosts `names` (all, if None) of `cluster`, which is sorted by name: ties go to
    the smallest one. If the node that the pod hopes for passes, it is taken without a look at scores.
    """
    hosts = cluster if names is None else [host for host in cluster if host.name in names]
    if not hosts:
        return Trial(pod, None, NO_NODES)
    for host in hosts:
        if host.name == hope and refuse_among(pod, host, cluster) is None:
            return Trial(pod, hope)
    pinned = pinned_nodes(pod)
    if pinned is not None and not pinned:
        conflict = {host.name: Refusal((CONFLICT,), hopeless=True) for host in hosts}
        return Trial(pod, None, f"0/{len(hosts)} nodes are available: {CONFLICT}.", conflict)
    refusals: dict[str, Refusal] = {}
    for host in hosts:
        if pinned is not None and host.name not in pinned:
            refusals[host.name] = Refusal((OTHER_NODE,), hopeless=True)
        elif (refusal := refuse_among(pod, host, cluster)) is not None:
            refusals[host.name] = refusal
    feasible = [host for host in hosts if host.name not in refusals]
    if not feasible:
        reasons = [reason for refusal in refusals.values() for reason in refusal.reasons]
        return Trial(pod, None, unavailable(len(hosts), reasons), refusals)
    if len(feasible) == 1:
        return Trial(pod, feasible[0].name, refusals=refusals)
    scores = totals(pod, feasible, cluster)
    return Trial(pod, feasible[scores.index(max(scores))].name, refusals=refusals)


def unavailable(nodes: int, reasons: list[str]) -> str:
    """The histogram of reasons. Its items are sorted as strings, their counts included."""
    items = sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())
    return f"0/{nodes} nodes are available: {', '.join(items)}."


def place(pods: list[Manifest], cluster: list[Host]) -> list[Trial]:
    """Try the pods one after the other, each beside those that were placed before it."""
    trials: list[Trial] = []
    placed: Placed = []
    for pod in pods:
        trial = try_pod(pod, beside(cluster, placed))
        trials.append(trial)
        if trial.node is not None:
            placed.append((pod, trial.node))
    return trials
