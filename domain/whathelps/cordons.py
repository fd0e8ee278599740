"""Nodes that take no Pods because somebody said so: cordons, and taints that could be tolerated."""

from collections.abc import Iterator, Sequence
from functools import partial

from domain.explaining.wording import named, pods_named
from domain.scheduling.filters.node_unschedulable import CORDON
from domain.taints import PREFER_NO_SCHEDULE, Taint, taint_of, tolerated, written
from domain.whathelps.changes import Alter, Candidate, Manifest, Proved
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_MARKS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints under these keys come and go with the condition of a node. Source: Kubernetes, node controllers."""

_MOST_NODES = 64
_MOST_TAINTS = 8


def uncordon(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """As few cordoned nodes as help, taken back into service."""
    cordoned = [name for name in sorted(scene.state.node_records) if _is_cordoned(scene, name)][:_MOST_NODES]
    proved = prover.fewest(cordoned, _uncordon)
    if proved is not None:
        yield proved


def _is_cordoned(scene: Scene, name: str) -> bool:
    facts = scene.state.nodes.facts(name)
    return facts.unschedulable or any(taint.key == CORDON.key for taint in facts.taints)


def _uncordon(names: Sequence[str]) -> Candidate:
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
    taints = [taint for taint in spec.get("taints") or () if taint["key"] != CORDON.key]
    if taints:
        spec["taints"] = taints
    else:
        spec.pop("taints", None)


def bring_back(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """As few nodes as help that Kubernetes has tainted because something is wrong with them."""
    marked = [name for name in sorted(scene.state.node_records) if _marks(scene, name)][:_MOST_NODES]
    proved = prover.fewest(marked, lambda names: _bring_back(scene, names))
    if proved is not None:
        yield proved


def _marks(scene: Scene, name: str) -> list[Taint]:
    """The taints of a node that say what is wrong with it."""
    return [taint for taint in scene.state.nodes.facts(name).taints if _is_mark(taint)]


def _is_mark(taint: Taint) -> bool:
    return taint.key.startswith(_MARKS) and taint.key != CORDON.key and taint.effect != PREFER_NO_SCHEDULE


def _bring_back(scene: Scene, names: Sequence[str]) -> Candidate:
    taints = list(dict.fromkeys(written(taint) for name in names for taint in _marks(scene, name)))
    nodes, verb = ("nodes", "are") if len(names) > 1 else ("node", "is")
    return Candidate(
        kind="untaint",
        text=f"bring {nodes} {named(names)} back, which {verb} tainted {named(taints)}",
        edits=tuple(Alter("Node", name, unmark) for name in names),
        subjects=tuple(f"Node/{name}" for name in names),
        before=", ".join(taints),
    )


def unmark(node: Manifest) -> None:
    """Take from a node the taints that say what is wrong with it."""
    spec = node.get("spec") or {}
    if "taints" in spec:
        spec["taints"] = [taint for taint in spec["taints"] if not _is_mark(taint_of(taint))]


def tolerate(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """A taint that Pods which wait could tolerate: further tolerations may be added to them as they are."""
    for taint in _untolerated(scene)[:_MOST_TAINTS]:
        proved = prover.prove(_tolerate(scene, taint))
        if proved is not None:
            yield proved
            return


def _untolerated(scene: Scene) -> list[Taint]:
    """The taints that somebody gave and that keep a Pod which waits off a node, each once."""
    taints: dict[Taint, None] = {}
    for name in sorted(scene.state.node_records):
        for taint in scene.state.nodes.facts(name).taints:
            chosen = taint.effect != PREFER_NO_SCHEDULE and not taint.key.startswith(_MARKS)
            if chosen and _keeps_off(scene, taint):
                taints[taint] = None
    return list(taints)


def _keeps_off(scene: Scene, taint: Taint) -> bool:
    return any(not tolerated(taint, shape.tolerations) for shape in scene.shapes)


def _tolerate(scene: Scene, taint: Taint) -> Candidate:
    pods = [pod for pod in scene.waiting if not tolerated(taint, pod.spec.shape.tolerations)]
    tainted = [
        name for name in sorted(scene.state.node_records) if taint in scene.state.nodes.facts(name).taints
    ]
    return Candidate(
        kind="tolerate",
        text=f"let {pods_named(pods)} tolerate the taint {written(taint)} of {named(tainted)}",
        edits=tuple(Alter("Pod", pod.key, partial(_add_toleration, taint)) for pod in pods),
        subjects=tuple(pod.subject for pod in pods),
        after=written(taint),
    )


def _add_toleration(taint: Taint, pod: Manifest) -> None:
    toleration = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    if taint.value:
        toleration |= {"operator": "Equal", "value": taint.value}
    pod["spec"]["tolerations"] = [*(pod["spec"].get("tolerations") or ()), toleration]
