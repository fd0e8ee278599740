"""Whether rules about other Pods are in play, and the shapes that Pods have then."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from domain.objects import Pod, PodSpec
from domain.shapes import PodShape
from domain.state import State


def rules_in_play(state: State, pods: Iterable[Pod]) -> bool:
    """Whether one of `pods`, or some Pod on a node or nominated to one, has rules about other Pods."""
    return state.has_terms or any(pod.spec.shape.peer is not None for pod in pods)


def shape_now(state: State, pod: Pod, *, rules: bool) -> PodShape:
    """The shape of `pod`; where rules about other Pods are in play, with what they see of it as it is now."""
    return replace(pod.spec.shape, peer=state.peer(pod)) if rules else pod.spec.shape


def shaped(state: State, pods: Sequence[Pod]) -> list[tuple[Pod, PodShape]]:
    """`pods`, each with the shape in which it is tried together with the others.

    Namespace and labels are part of it only if some rule could look at them; equal shapes are one.
    """
    if not rules_in_play(state, pods):
        return [(pod, pod.spec.shape) for pod in pods]
    seen: dict[PodSpec, PodShape] = {}
    shapes: dict[PodShape, PodShape] = {}
    for pod in pods:
        if pod.spec not in seen:
            shape = replace(pod.spec.shape, peer=pod.spec.peer)
            seen[pod.spec] = shapes.setdefault(shape, shape)
    return [(pod, seen[pod.spec]) for pod in pods]
