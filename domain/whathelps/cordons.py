"""Nodes that take no Pods because somebody said so: cordons, and taints that could be tolerated."""

from collections.abc import Iterator, Sequence
from functools import partial

from domain.taints import PREFER_NO_SCHEDULE, Taint, tolerated
from domain.whathelps.changes import Alter, Candidate, Manifest, Proved
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene, its_pods, named

_CORDON = "node.kubernetes.io/unschedulable"
_MOST_NODES = 64
_MOST_TAINTS = 8


def uncordon(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """As few cordoned nodes as help, taken back into service."""
    cordoned = [name for name in sorted(scene.state.node_records) if _is_cordoned(scene, name)][:_MOST_NODES]
    proved = prover.fewest(cordoned, lambda names: _uncordon(scene, names))
    if proved is not None:
        yield proved


def _is_cordoned(scene: Scene, name: str) -> bool:
    facts = scene.state.nodes.facts(name)
    return facts.unschedulable or any(taint.key == _CORDON for taint in facts.taints)


def _uncordon(scene: Scene, names: Sequence[str]) -> Candidate:
    return Candidate(
        kind="uncordon",
        text=f"uncordon {f'{len(names)} nodes' if len(names) > 1 else 'node'} {named(names)}",
        edits=tuple(Alter("Node", name, open_up) for name in names),
        subjects=tuple(f"Node/{name}" for name in names),
        before="unschedulable",
        after="schedulable",
    )


def open_up(node: Manifest) -> None:
    """Take the cordon off a node."""
    spec = node.get("spec") or {}
    spec.pop("unschedulable", None)
    taints = [taint for taint in spec.get("taints") or () if taint["key"] != _CORDON]
    if taints:
        spec["taints"] = taints
    else:
        spec.pop("taints", None)


def tolerate(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """A taint that Pods which wait could tolerate: further tolerations may be added to them as they are."""
    for taint in _untolerated(scene)[:_MOST_TAINTS]:
        proved = prover.prove(_tolerate(scene, taint))
        if proved is not None:
            yield proved
            return


def _untolerated(scene: Scene) -> list[Taint]:
    """The taints but for cordons that keep a Pod which waits off a node, each once."""
    taints: dict[Taint, None] = {}
    for name in sorted(scene.state.node_records):
        for taint in scene.state.nodes.facts(name).taints:
            if taint.effect != PREFER_NO_SCHEDULE and taint.key != _CORDON and _keeps_off(scene, taint):
                taints[taint] = None
    return list(taints)


def _keeps_off(scene: Scene, taint: Taint) -> bool:
    return any(not tolerated(taint, shape.tolerations) for shape in scene.shapes)


def _tolerate(scene: Scene, taint: Taint) -> Candidate:
    pods = [pod for pod in scene.waiting if not tolerated(taint, scene.state.spec(pod).shape.tolerations)]
    written = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
    tainted = [
        name for name in sorted(scene.state.node_records) if taint in scene.state.nodes.facts(name).taints
    ]
    return Candidate(
        kind="tolerate",
        text=f"let {its_pods(pods)} tolerate the taint {written} of {named(tainted)}",
        edits=tuple(Alter("Pod", pod.key, partial(_add_toleration, taint)) for pod in pods),
        subjects=tuple(f"Pod/{pod.key}" for pod in pods),
        after=written,
    )


def _add_toleration(taint: Taint, pod: Manifest) -> None:
    toleration = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    if taint.value:
        toleration |= {"operator": "Equal", "value": taint.value}
    pod["spec"]["tolerations"] = [*(pod["spec"].get("tolerations") or ()), toleration]
