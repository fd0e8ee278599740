"""What the members of a group have to agree on. Source: kube-scheduler 1.37, PodGroup cycle.

Nobody compares Pods with their group at admission; the scheduler does in every cycle, and a
member that differs is an error of the whole group, not unschedulability.
"""

from collections.abc import Sequence

from domain.objects import Group, Pod
from domain.scheduling import texts
from domain.state import State


def disagreement(state: State, group: Group, members: Sequence[Pod]) -> str | None:
    """The first fault among the queued `members` and then the bound ones; None if all agree."""
    bound = [state.pods[key] for key in state.members_of(group.key).bound]
    bound.sort(key=lambda pod: pod.arrival)
    first = state.spec(members[0]).scheduler
    agreeing: set[int] = set()
    for pod in (*members, *bound):
        if pod.spec in agreeing:
            continue
        spec = state.spec(pod)
        if spec.scheduler != first:
            return texts.other_scheduler(spec.scheduler, first)
        if spec.priority != group.priority:
            return texts.other_priority(spec.priority, group.priority)
        if spec.preemption_policy != group.preemption_policy:
            return texts.other_policy(spec.preemption_policy, group.preemption_policy)
        agreeing.add(pod.spec)
    return None
