"""More nodes of a kind that exists, with that kind's labels and taints."""

from collections.abc import Iterator
from functools import partial
from itertools import count, islice

from domain.node_facts import NodeFacts
from domain.resources import PODS
from domain.shapes import PodShape
from domain.whathelps.changes import Alter, Candidate, Manifest, Proved
from domain.whathelps.cordons import open_up
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_MOST = 128
"""More nodes than that are not asked for."""

_KINDS = 8
_HOSTNAME = "kubernetes.io/hostname"


def add_nodes(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """As few nodes of one kind as help; of kinds that need as many the first by name."""
    best: tuple[int, Proved] | None = None
    for model in islice(_models(scene), _KINDS):
        most = min(len(scene.waiting), _MOST) if best is None else best[0] - 1
        best = prover.least(most, partial(_add, scene, model)) or best
    if best is not None:
        yield best[1]


def _models(scene: Scene) -> Iterator[str]:
    """One node of each kind on which some Pod that waits would fit if it were empty."""
    kinds: set[tuple[object, ...]] = set()
    for name in sorted(scene.state.node_records):
        facts = scene.state.nodes.facts(name)
        kind = _kind(facts)
        if kind not in kinds:
            kinds.add(kind)
            if any(_is_enough(facts, shape) for shape in scene.shapes):
                yield name


def _kind(facts: NodeFacts) -> tuple[object, ...]:
    """What nodes of one kind have in common: all but their names."""
    labels = tuple(
        (key, value) for key, value in facts.labels.items() if not _tells_name(facts.name, key, value)
    )
    return labels, tuple(sorted(facts.allocatable.items())), facts.taints


def _tells_name(name: str, key: str, value: str) -> bool:
    return key == _HOSTNAME or value == name


def _is_enough(facts: NodeFacts, shape: PodShape) -> bool:
    asked = {PODS: 1} | {resource: int(amount) for resource, amount in shape.requests}
    return all(int(facts.allocatable.get(resource, 0)) >= amount for resource, amount in asked.items())


def _add(scene: Scene, model: str, number: int) -> Candidate:
    names = islice(
        (f"{model}-{n}" for n in count(1) if f"{model}-{n}" not in scene.state.node_records), number
    )
    nodes = f"{number} nodes" if number > 1 else "a node"
    return Candidate(
        kind="addNodes",
        text=f"add {nodes} like {model}",
        edits=tuple(Alter("Node", model, partial(_become, name)) for name in names),
        subjects=(f"Node/{model}",),
        before="0",
        after=str(number),
    )


def _become(name: str, node: Manifest) -> None:
    """Make of `node` one called `name` that is otherwise like it, and not cordoned."""
    old = node["metadata"]
    labels = {
        key: name if _tells_name(old["name"], key, value) else value
        for key, value in (old.get("labels") or {}).items()
    }
    node["metadata"] = {"name": name, "labels": labels}
    open_up(node)
