"""Rules that keep Pods and groups off nodes, given up: for that they are made anew."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from domain.objects import Group
from domain.shapes import PodShape
from domain.whathelps.changes import Candidate, Manifest, Proved
from domain.whathelps.proving import Prover
from domain.whathelps.scene import Scene, its_pods

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class _Rule(NamedTuple):
    """A rule that Pods can have: who has it, and how it is taken out of a manifest."""

    name: str
    has: Callable[[PodShape], bool]
    drop: Callable[[Manifest], object]


def loosen(scene: Scene, prover: Prover) -> Iterator[Proved]:
    """One rule that, given up, lets it start: first those of groups, then those of Pods."""
    for candidate in (*_without_constraints(scene), *_without_rules(scene)):
        proved = prover.prove(candidate)
        if proved is not None:
            yield proved
            return


def _without_constraints(scene: Scene) -> Iterator[Candidate]:
    for group in scene.groups:
        if group.topology_key is not None:
            anew = scene.all_anew(partial(_unconstrain, group))
            if anew is not None:
                yield Candidate(
                    kind="dropConstraint",
                    text=f"create {group.kind} {group.key} anew without its topology constraint "
                    f"({group.topology_key}){_and_all(scene)}",
                    edits=(anew,),
                    subjects=(group.subject,),
                    before=group.topology_key,
                )


def _and_all(scene: Scene) -> str:
    return " and its Pods" if len(scene.groups) == 1 else ", with its whole tree"


def _unconstrain(group: Group, manifest: Manifest) -> None:
    if manifest["kind"] == group.kind and manifest["metadata"]["name"] == group.name:
        manifest["spec"].pop("schedulingConstraints", None)


def _without_rules(scene: Scene) -> Iterator[Candidate]:
    for rule in _RULES:
        pods = [pod for pod in scene.waiting if rule.has(scene.state.spec(pod).shape)]
        if pods:
            yield Candidate(
                kind="dropConstraint",
                text=f"create {its_pods(pods)} anew without {rule.name}",
                edits=(scene.pods_anew(pods, rule.drop),),
                subjects=tuple(f"Pod/{pod.key}" for pod in pods),
                before=rule.name,
            )


def _drop(name: str) -> Callable[[Manifest], object]:
    return lambda pod: pod["spec"].pop(name, None)


def _drop_required(kind: str) -> Callable[[Manifest], object]:
    return lambda pod: ((pod["spec"].get("affinity") or {}).get(kind) or {}).pop(_REQUIRED, None)


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
    _Rule("its nodeSelector", lambda shape: bool(shape.node_selector), _drop("nodeSelector")),
    _Rule(
        "its required node affinity", lambda shape: shape.required is not None, _drop_required("nodeAffinity")
    ),
    _Rule(
        "its topology spread constraints that say DoNotSchedule",
        lambda shape: any(constraint.hard for constraint in shape.spread),
        _drop_hard_spread,
    ),
    _Rule("its required pod affinity", _has_terms("affinity"), _drop_required("podAffinity")),
    _Rule("its required pod anti-affinity", _has_terms("anti_affinity"), _drop_required("podAntiAffinity")),
    _Rule("its host ports", lambda shape: bool(shape.host_ports), _drop_host_ports),
)
