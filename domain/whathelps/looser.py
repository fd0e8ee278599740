"""Rules that keep Pods and groups off nodes, given up: for that they are made anew."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from domain.explaining.wording import pods_named
from domain.objects import Group
from domain.peers import REQUIRED
from domain.shapes import PodShape
from domain.whathelps.changes import Candidate, Edit, Manifest, Proved, unchanged
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene


class _Rule(NamedTuple):
    """A rule that Pods can have: who has it, and how it is taken out of a manifest."""

    name: str
    has: Callable[[PodShape], bool]
    drop: Callable[[Manifest], object]


def loosen(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """One rule that, given up, lets it start: first those of groups, then those of Pods."""
    for candidate, as_it_was in (*_without_constraints(scene), *_without_rules(scene)):
        proved = prover.prove(candidate)
        if proved is not None and not prover.starts_with(as_it_was):
            yield proved
            return


def _without_constraints(scene: Scene) -> Iterator[tuple[Candidate, tuple[Edit, ...]]]:
    """Changes, and the edits that make the same anew unchanged."""
    for group in scene.groups:
        if group.topology_key is not None:
            anew = scene.all_anew(partial(_unconstrain, group))
            as_it_was = scene.all_anew(unchanged)
            if anew is not None and as_it_was is not None:
                candidate = Candidate(
                    kind="dropConstraint",
                    text=f"create {group.kind} {group.key} anew without its topology constraint "
                    f"({group.topology_key}){_and_all(scene)}",
                    edits=(anew,),
                    subjects=(group.subject,),
                    before=group.topology_key,
                )
                yield candidate, (as_it_was,)


def _and_all(scene: Scene) -> str:
    return " and its Pods" if len(scene.groups) == 1 else ", with its whole tree"


def _unconstrain(group: Group, manifest: Manifest) -> None:
    if manifest["kind"] == group.kind and manifest["metadata"]["name"] == group.name:
        manifest["spec"].pop("schedulingConstraints", None)


def _without_rules(scene: Scene) -> Iterator[tuple[Candidate, tuple[Edit, ...]]]:
    for rule in _RULES:
        pods = [pod for pod in scene.waiting if rule.has(pod.spec.shape)]
        if pods:
            whose = "its" if len(pods) == 1 else "their"
            candidate = Candidate(
                kind="dropConstraint",
                text=f"create {pods_named(pods)} anew without {whose} {rule.name}",
                edits=(scene.pods_anew(pods, rule.drop),),
                subjects=tuple(pod.subject for pod in pods),
                before=rule.name,
            )
            yield candidate, (scene.pods_anew(pods, unchanged),)


def _drop(name: str) -> Callable[[Manifest], object]:
    return lambda pod: pod["spec"].pop(name, None)


def _drop_required(kind: str) -> Callable[[Manifest], object]:
    return lambda pod: ((pod["spec"].get("affinity") or {}).get(kind) or {}).pop(REQUIRED, None)


def _drop_hard_spread(pod: Manifest) -> None:
    left = [
        constraint
        for constraint in pod["spec"].pop("topologySpreadConstraints", ())
        if constraint["whenUnsatisfiable"] != "DoNotSchedule"
    ]
    if left:
        pod["spec"]["topologySpreadConstraints"] = left


def _drop_host_ports(pod: Manifest) -> None:
    for container in (*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())):
        for port in container.get("ports") or ():
            port.pop("hostPort", None)


def _has_terms(field: str) -> Callable[[PodShape], bool]:
    return lambda shape: bool(
        shape.peer is not None and shape.peer.terms is not None and getattr(shape.peer.terms, field)
    )


_RULES = (
    _Rule("nodeSelector", lambda shape: bool(shape.node_selector), _drop("nodeSelector")),
    _Rule("required node affinity", lambda shape: shape.required is not None, _drop_required("nodeAffinity")),
    _Rule(
        "topology spread constraints that say DoNotSchedule",
        lambda shape: any(constraint.hard for constraint in shape.spread),
        _drop_hard_spread,
    ),
    _Rule("required pod affinity", _has_terms("affinity"), _drop_required("podAffinity")),
    _Rule("required pod anti-affinity", _has_terms("anti_affinity"), _drop_required("podAntiAffinity")),
    _Rule("host ports", lambda shape: bool(shape.host_ports), _drop_host_ports),
)
