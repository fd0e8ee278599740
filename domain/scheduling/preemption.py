"""What preemption answers where it can evict nobody.

This version evicts nobody. It gives Kubernetes' answer where there is nobody to evict anyway, and
none (no text) where kube-scheduler 1.37 would look for victims.
Source: kube-scheduler 1.37, DefaultPreemption; KEP-5710.
"""

from collections import Counter

from domain.objects import Group, Pod
from domain.scheduling import texts
from domain.scheduling.diagnosis import Diagnosis
from domain.state import State


def answer_for_group(state: State, group: Group) -> str | None:
    """What stands behind `pod group preemption: `; None if victims would have to be looked for."""
    if group.preemption_policy == "Never":
        return texts.NEVER_PREEMPTS
    if _someone_below(state, group.priority):
        return None
    return texts.NO_VICTIMS


def answer_for_pod(state: State, pod: Pod, diagnosis: Diagnosis) -> str | None:
    """The part of a single Pod's message from `preemption: ` on; None as for groups."""
    spec = state.spec(pod)
    if spec.preemption_policy == "Never":
        return f"preemption: {texts.NEVER_PREEMPTS}"
    if _someone_below(state, spec.priority) and diagnosis.resolvable & _nodes_with_lower(
        state, spec.priority
    ):
        return None
    total = diagnosis.total
    helpable = len(diagnosis.resolvable)
    counts = Counter({texts.NO_VICTIMS_ON_NODE: helpable, texts.NOT_HELPFUL: total - helpable})
    parts = sorted(f"{count} {reason}" for reason, count in counts.items() if count)
    return f"preemption: 0/{total} nodes are available: {', '.join(parts)}."


def _someone_below(state: State, priority: int) -> bool:
    return any(bound < priority for bound in state.bound_priorities)


def _nodes_with_lower(state: State, priority: int) -> set[str]:
    return {
        pod.node
        for pod in state.pods.values()
        if pod.node is not None and not pod.terminal and state.spec(pod).priority < priority
    }
