"""Dividing what there is otherwise: each PodGroup of a tree its minimum before any gets more."""

from collections.abc import Iterator

from domain.configuration import configuration_of
from domain.objects import COMPOSITE
from domain.whathelps.changes import Candidate, Configure, Proved
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene


def divide_lean(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """`siblings: lean`, where a tree waits and it is not set."""
    config = scene.state.config
    if scene.entity.kind != COMPOSITE or config.siblings == "lean":
        return
    document = configuration_of(config)
    document["ganger"] = {**document["ganger"], "siblings": "lean"}
    candidate = Candidate(
        kind="configure",
        text="configure siblings: lean, with which each group gets its minimum before any gets more",
        edits=(Configure(document),),
        subjects=("KubeSchedulerConfiguration",),
        before=config.siblings,
        after="lean",
    )
    proved = prover.prove(candidate)
    if proved is not None:
        yield proved
