"""Pods that name a group and do not help it to its minimum, and why not."""

from collections.abc import Iterator

from domain.explaining.wording import number_of, pods_named
from domain.objects import Group
from domain.state import State


def uncounted(state: State, group: Group) -> Iterator[str]:
    """A sentence for each reason why Pods of a PodGroup do not help: not counted, or not to be tried."""
    members = state.members_of(group.key)
    foreign = [state.pods[key] for key in members.foreign]
    if foreign:
        schedulers = sorted({pod.spec.scheduler for pod in foreign})
        verbs = number_of(len(foreign), "names", "name"), number_of(len(foreign), "does", "do")
        scheduler = f"the scheduler {schedulers[0]}" if len(schedulers) == 1 else "other schedulers"
        yield f"{pods_named(foreign)} {verbs[0]} {scheduler} and {verbs[1]} not count"
    ended = [pod for pod in state.pods.values() if pod.group == group.key and pod.terminal]
    if ended:
        verbs = number_of(len(ended), "has", "have"), number_of(len(ended), "does", "do")
        yield f"{pods_named(ended)} {verbs[0]} ended and {verbs[1]} not count"
    leaving = [pod for key in members.pending if (pod := state.pods[key]).deletion is not None]
    if leaving:
        verb = number_of(len(leaving), "is", "are")
        yield f"{pods_named(leaving)} {verb} being deleted and cannot be tried"
