"""Pods made anew as they are, so that others of their group have their turn before them."""

from collections.abc import Iterator

from domain.explaining.wording import pods_named
from domain.whathelps.changes import Candidate, Proved, unchanged
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_MOST_SHAPES = 4


def reorder(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """The Pods of one shape that, tried after the others, let it start."""
    if len(scene.shapes) < 2:
        return
    for shape in scene.shapes[:_MOST_SHAPES]:
        pods = [pod for pod in scene.waiting if pod.spec.shape == shape]
        candidate = Candidate(
            kind="reorder",
            text=f"create {pods_named(pods)} anew, which is then tried after the others"
            if len(pods) == 1
            else f"create {pods_named(pods)} anew, which are then tried after the others",
            edits=(scene.pods_anew(pods, unchanged),),
            subjects=tuple(pod.subject for pod in pods),
        )
        proved = prover.prove(candidate)
        if proved is not None:
            yield proved
            return
