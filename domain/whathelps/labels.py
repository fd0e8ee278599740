"""Labels that nodes lack: those that Pods select nodes by, and those that constraints divide nodes by."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from domain.explaining.wording import named, number_of
from domain.shapes import PodShape
from domain.whathelps.changes import Alter, Candidate, Manifest, Proved
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene

_MOST_NODES = 64
_MOST_VALUES = 4
_ONLY_VALUE = "a"
"""The value of a label that no node has yet: any would do."""


def label_nodes(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """As few nodes as help, with the labels that they lack."""
    for labels in _wanted(scene):
        nodes = [name for name in sorted(scene.state.node_records) if _lacks(scene, name, labels)]
        proved = prover.fewest(nodes[:_MOST_NODES], partial(with_labels, labels))
        if proved is not None:
            yield proved
            return


def _wanted(scene: Scene) -> Iterator[dict[str, str]]:
    """Sets of labels of which one could be what nodes lack."""
    for shape in scene.shapes:
        selected = labels_for(shape)
        if selected:
            yield selected
    for key in _divided_by(scene):
        values = sorted(
            {
                scene.state.nodes.facts(name).labels[key]
                for name in scene.state.node_records
                if _has(scene, name, key)
            }
        )
        for value in values[:_MOST_VALUES] or [_ONLY_VALUE]:
            yield {key: value}


def labels_for(shape: PodShape) -> dict[str, str]:
    """Labels with which `shape` would select a node; none where it asks for none that can be given."""
    labels = dict(shape.node_selector)
    for requirement in shape.required[0].labels if shape.required else ():
        if requirement.operator == "In":
            labels.setdefault(requirement.key, requirement.values[0])
        elif requirement.operator == "Exists":
            labels.setdefault(requirement.key, _ONLY_VALUE)
    return labels


def _divided_by(scene: Scene) -> list[str]:
    """The labels by which constraints of the groups and Pods that wait divide the nodes."""
    keys = [group.topology_key for group in scene.groups]
    for shape in scene.shapes:
        keys += [constraint.topology_key for constraint in shape.spread if constraint.hard]
        terms = None if shape.peer is None else shape.peer.terms
        keys += [] if terms is None else [term.topology_key for term in terms.affinity]
    return list(dict.fromkeys(key for key in keys if key is not None))


def _has(scene: Scene, name: str, key: str) -> bool:
    return key in scene.state.nodes.facts(name).labels


def _lacks(scene: Scene, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node lacks some of `labels` and has no other value for any."""
    has = scene.state.nodes.facts(name).labels
    return any(key not in has for key in labels) and all(
        has.get(key, value) == value for key, value in labels.items()
    )


def with_labels(labels: Mapping[str, str], names: Sequence[str]) -> Candidate:
    """Nodes with further labels, or other values of those that they have."""
    written = " ".join(f"{key}={value}" for key, value in labels.items())

    def add(node: Manifest) -> None:
        node["metadata"]["labels"] = {**(node["metadata"].get("labels") or {}), **labels}

    return Candidate(
        kind="labelNodes",
        text=f"label {number_of(len(names), 'node', 'nodes')} {named(names)} {written}",
        edits=tuple(Alter("Node", name, add) for name in names),
        subjects=tuple(f"Node/{name}" for name in names),
        after=written,
    )
