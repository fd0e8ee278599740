"""Others that could go: single Pods and whole trees of groups that run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from domain.amounts import quantity_of
from domain.explaining.wording import named, so_many
from domain.explanation import title
from domain.objects import Pod
from domain.resources import PODS
from domain.whathelps.changes import Candidate, Edit, Proved, Remove
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_MOST = 64
"""More of them are not looked at."""

_SHOWN_RESOURCES = 3


@dataclass(frozen=True)
class _Unit:
    """What goes together: its subject, its Pods with and without a node, and what those on nodes hold."""

    subject: str
    priority: int
    pods: tuple[Pod, ...]
    running: int
    held: dict[str, int]


def remove_others(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """As few others as help, of which lower priority and fewer Pods come first."""
    units = sorted(_units(scene), key=lambda unit: (unit.priority, unit.running, unit.subject))[:_MOST]
    proved = prover.fewest(units, lambda chosen: _remove(scene, chosen))
    if proved is not None:
        yield proved


def _units(scene: Scene) -> Iterator[_Unit]:
    state = scene.state
    members: dict[str, list[Pod]] = {}
    for pod in state.pods.values():
        if not pod.terminal and not scene.is_own(pod):
            members.setdefault(state.waits_as(pod), []).append(pod)
    for subject, pods in members.items():
        running = [pod for pod in pods if pod.node is not None]
        if running:
            yield _Unit(
                subject,
                max(pod.spec.priority for pod in running),
                tuple(pods),
                len(running),
                _held(scene, running),
            )


def _held(scene: Scene, running: Sequence[Pod]) -> dict[str, int]:
    """What is held of the resources that the waiting Pods ask for, or where none of those of any."""
    total: Counter[str] = Counter()
    for pod in running:
        for resource, amount in pod.spec.shape.requests:
            total[resource] += int(amount)
    asked = {resource for shape in scene.shapes for resource, _ in shape.requests}
    return {name: total[name] for name in sorted(total) if name in asked} or dict(sorted(total.items()))


def _remove(scene: Scene, units: Sequence[_Unit]) -> Candidate:
    edits: list[Edit] = []
    for unit in units:
        edits += [Remove("Pod", pod.key) for pod in unit.pods]
        edits += [Remove(group.kind, group.key) for group in reversed(scene.groups_as(unit.subject))]
    told = [_described(unit) for unit in units]
    return Candidate(
        kind="delete",
        text=f"delete {named(told)}",
        edits=tuple(edits),
        subjects=tuple(unit.subject for unit in units),
    )


def _described(unit: _Unit) -> str:
    if unit.subject.startswith("Pod/"):
        what = title(unit.subject)
    else:
        what = f"{title(unit.subject)} with its {so_many(len(unit.pods), 'Pod')}"
    held = [
        f"{quantity_of(name, amount)} {name}" for name, amount in list(unit.held.items())[-_SHOWN_RESOURCES:]
    ]
    if not held:
        held = [f"{unit.running} {PODS}"]
    return f"{what} (priority {unit.priority}, {', '.join(held)})"
