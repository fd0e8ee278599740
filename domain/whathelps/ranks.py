"""A higher priority, for which all that waits together is made anew."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from domain.objects import POD_GROUP, PREEMPT_LOWER
from domain.whathelps.changes import Candidate, Manifest, Proved, Put, unchanged
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_HIGHEST = 1_000_000_000
"""The highest priority that a user may give. Source: Kubernetes, HighestUserDefinablePriority."""


class _Class(NamedTuple):
    """A PriorityClass; one that is not `known` has to be created first."""

    value: int
    name: str
    known: bool


def raise_priority(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """The lowest PriorityClass above its own with which it starts, an existing one where that will do;
    before that, its own priority with leave to preempt. None where it would start made anew as it is, or
    with one class for all of it: then its priority is not what keeps it."""
    if scene.all_anew(unchanged) is None:
        return
    same = _Class(scene.entity.priority, _name(scene, scene.entity.priority + 1), known=False)
    level = prover.prove(_raise(scene, [same], 1))
    if level is not None:
        if _never_preempts(scene):
            yield level
        return
    for classes in (_existing(scene), _new(scene)):
        found = prover.least(len(classes), partial(_raise, scene, classes))
        if found is not None:
            yield found[1]
            return


def _never_preempts(scene: Scene) -> bool:
    """Whether what waits may evict nobody."""
    root = scene.groups[0] if scene.groups else None
    own = scene.waiting[0].spec.preemption_policy if root is None else root.preemption_policy
    return own != PREEMPT_LOWER


def _existing(scene: Scene) -> list[_Class]:
    return sorted(
        _Class(facts.value, name, known=True)
        for name, facts in scene.state.priority_classes.items()
        if scene.entity.priority < facts.value <= _HIGHEST and facts.preemption_policy == PREEMPT_LOWER
    )


def _new(scene: Scene) -> list[_Class]:
    """Classes right above the priorities of those that run and would not be evicted now."""
    values = {priority + 1 for priority in scene.state.bound_priorities}
    values |= {priority + 1 for priority in scene.state.group_priorities}
    taken = {facts.value for facts in scene.state.priority_classes.values()}
    wanted = (value for value in values - taken if scene.entity.priority < value <= _HIGHEST)
    return sorted(_Class(value, _name(scene, value), known=False) for value in wanted)


def _name(scene: Scene, value: int) -> str:
    name = f"above-{value - 1}" if value > 0 else f"below-{1 - value}"
    while name in scene.state.priority_classes:
        name += "-1"
    return name


def _raise(scene: Scene, classes: Sequence[_Class], rank: int) -> Candidate:
    chosen = classes[rank - 1]

    def lift(manifest: Manifest) -> None:
        spec = manifest["spec"]
        spec["priorityClassName"] = chosen.name
        spec.pop("priority", None)
        spec.pop("preemptionPolicy", None)

    anew = scene.all_anew(lift)
    assert anew is not None, "looked at before"
    made = () if chosen.known else (_class(chosen),)
    whose = f"{scene.entity.kind} {scene.entity.key}"
    pods = (
        ""
        if scene.entity.is_pod
        else " and its Pods"
        if scene.entity.kind == POD_GROUP
        else ", with its tree,"
    )
    which = f'PriorityClass "{chosen.name}"' if chosen.known else "of a new PriorityClass"
    return Candidate(
        kind="raisePriority",
        text=f"create {whose}{pods} anew with priority {chosen.value} ({which})"
        if chosen.value != scene.entity.priority
        else f"create {whose}{pods} anew with preemptionPolicy {PREEMPT_LOWER} ({which})",
        edits=(*made, anew),
        subjects=(scene.entity.name,),
        before=str(scene.entity.priority),
        after=str(chosen.value),
    )


def _class(chosen: _Class) -> Put:
    return Put(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": chosen.name},
            "value": chosen.value,
        }
    )
