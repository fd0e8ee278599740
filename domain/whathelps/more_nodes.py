"""More nodes: of a kind that exists, or where none of those will do one made to measure."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import count, islice

from domain.amounts import quantity_of
from domain.explaining.wording import so_many
from domain.node_facts import NodeFacts
from domain.resources import PODS
from domain.scheduling.company import HOSTNAME
from domain.shapes import PodShape
from domain.whathelps.changes import Alter, Candidate, Manifest, Proved, Put
from domain.whathelps.cordons import open_up, unmark
from domain.whathelps.labels import labels_for
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_MOST = 128
"""More nodes than that are not asked for."""

_KINDS = 8


def add_nodes(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """As few nodes of one kind as help; of kinds that need as many the first by name. Where none of them
    helps, and some Pod fits no kind, one node with room for all that waits."""
    best: tuple[int, Proved] | None = None
    for model in islice(_models(scene), _KINDS):
        most = min(len(scene.waiting), _MOST) if best is None else best[0] - 1
        best = prover.least(most, partial(_add, scene, model)) or best
    made = None if best is None else best[1]
    if made is None and _lacks_a_kind(scene):
        made = prover.prove(_to_measure(scene))
    if made is not None:
        yield made


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


def _lacks_a_kind(scene: Scene) -> bool:
    """Whether some Pod that waits is too large for every node, were it empty, or matches none."""
    every = [scene.state.nodes.facts(name) for name in scene.state.node_records]
    return any(
        not any(_is_enough(facts, shape) and _has_labels(facts, shape) for facts in every)
        for shape in scene.shapes
    )


def _has_labels(facts: NodeFacts, shape: PodShape) -> bool:
    return all(facts.labels.get(key) == value for key, value in shape.node_selector)


def _kind(facts: NodeFacts) -> tuple[object, ...]:
    """What nodes of one kind have in common: all but their names."""
    labels = tuple(
        (key, value) for key, value in facts.labels.items() if not _tells_name(facts.name, key, value)
    )
    return labels, tuple(sorted(facts.allocatable.items())), facts.taints


def _tells_name(name: str, key: str, value: str) -> bool:
    return key == HOSTNAME or value == name


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
    """Make of `node` one called `name` that is otherwise like it, and nothing is said against it."""
    old = node["metadata"]
    labels = {
        key: name if _tells_name(old["name"], key, value) else value
        for key, value in (old.get("labels") or {}).items()
    }
    node["metadata"] = {"name": name, "labels": labels}
    open_up(node)
    unmark(node)


def _to_measure(scene: Scene) -> Candidate:
    """A node that has what all that waits asks for, and the labels that it is selected by."""
    asked: Counter[str] = Counter()
    labels: dict[str, str] = {}
    for pod in scene.waiting:
        shape = pod.spec.shape
        asked.update({resource: int(amount) for resource, amount in shape.requests})
        labels |= labels_for(shape)
    amounts = {resource: quantity_of(resource, amount) for resource, amount in sorted(asked.items())}
    what = [f"{amount} {resource}" for resource, amount in amounts.items()]
    pods = len(scene.waiting)
    what += [f"room for {so_many(pods, 'Pod')}"] if not amounts else []
    told = f" labelled {', '.join(f'{key}={value}' for key, value in labels.items())}" if labels else ""
    name = next(name for n in count(1) if (name := f"new-{n}") not in scene.state.node_records)
    node: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "status": {"allocatable": {**amounts, PODS: str(pods)}},
    }
    return Candidate(
        kind="addNodes",
        text=f"add a node with {', '.join(what)}{told}",
        edits=(Put(node),),
        subjects=(f"Node/{name}",),
        before="0",
        after="1",
    )
