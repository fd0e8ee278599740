"""Gating: what keeps an entity out of the active lane (PreEnqueue).

The whole entity is held if one of its Pods is. Source: kube-scheduler 1.37, plugins
SchedulingGates and GangScheduling; KEP-4671. What this version cannot decide yet is held too, by
name, rather than placed wrongly.
"""

from domain.objects import Group, Pod
from domain.queue import Entity, Hold, Lane
from domain.state import State

_BELOW_MINIMUM = Hold(
    Lane.GATED, "GangScheduling", "waiting for minCount pods from a gang to appear in scheduling queue"
)


def hold_of(state: State, entity: Entity, oldest: Pod, group: Group | None) -> Hold | None:
    """Why `entity` is held, by the first rule that holds it; None if nothing does.

    `oldest` is its oldest pending Pod, `group` the PodGroup that this names, if it exists.
    """
    if entity.is_pod:
        return _hold_of_pod(state, oldest)
    members = state.members[entity.key]
    if members.gated:
        first = state.pods[next(iter(members.gated))]
        return _gates(state, first)
    if group is None:
        name = entity.key.partition("/")[2]
        text = f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'
        return Hold(Lane.INCOMPLETE, "GangScheduling", text)
    if group.parent is not None:
        return _unknown_rule("spec.parentCompositePodGroupName")
    if group.policy == "gang" and members.created < group.min_count:
        return _BELOW_MINIMUM
    if group.topology_key is not None:
        return _unknown_rule("spec.schedulingConstraints.topology")
    if members.dying == len(members.pending):
        return _dying(oldest)
    return None


def _hold_of_pod(state: State, pod: Pod) -> Hold | None:
    spec = state.spec(pod)
    if spec.gates:
        return _gates(state, pod)
    if pod.deletion is not None:
        return _dying(pod)
    return None


def _gates(state: State, pod: Pod) -> Hold:
    names = " ".join(state.spec(pod).gates)
    return Hold(Lane.GATED, "SchedulingGates", f"waiting for scheduling gates: [{names}]")


def _unknown_rule(field: str) -> Hold:
    return Hold(Lane.GATED, "ganger", f"{field} is not supported by this version of ganger")


def _dying(pod: Pod) -> Hold:
    return Hold(Lane.GATED, "ganger", f"skip schedule deleting pod: {pod.key}")
