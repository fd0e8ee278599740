"""What Pods want of the Pods around them, and what rules of others see of a Pod.

Namespaces that a rule leaves open, and the labels it takes from its own Pod (matchLabelKeys,
KEP-3633 and KEP-3243), are filled in here, so that a rule can be read without its Pod.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from domain.selectors import LabelSelector, Requirement, conjunction, equality, label_selector_of, selects

NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that every namespace has."""

Namespaces = Mapping[str, Mapping[str, str]]
"""The labels of namespaces by name; one that is missing has none but its name."""

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class PodTerm(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Pods selected by labels and namespace, and the node label within whose value they are near.

    A Pod's namespace must be among `namespaces` or have labels that `namespace_selector` selects.
    """

    topology_key: str
    selector: LabelSelector
    namespaces: tuple[str, ...]
    namespace_selector: LabelSelector


class WeightedPodTerm(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A preference: `weight` is 1 to 100 for nearness, -1 to -100 for distance."""

    weight: int
    term: PodTerm


class PodTerms(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """The (anti-)affinity of a Pod to others."""

    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred: tuple[WeightedPodTerm, ...] = ()


class Peer(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True, cache_hash=True):
    """What rules of other Pods see of a Pod, and the rules that it has for them.

    `leaving` is whether it is being deleted; such Pods are not spread over.
    """

    namespace: str
    labels: tuple[tuple[str, str], ...]
    terms: PodTerms | None = None
    leaving: bool = False


class SpreadConstraint(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """How unevenly Pods of `selector` may lie over the values of a node label (KEP-895).

    `hard` is DoNotSchedule. `least_domains` is minDomains (KEP-3022); the last two say whether nodes
    count that the Pod could not have for its node affinity or their taints (KEP-3094).
    """

    topology_key: str
    max_skew: int
    hard: bool
    selector: LabelSelector
    least_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


def peer_of(spec: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> Peer:
    """The Pod with the stored `spec`, as others see it."""
    affinity = spec.get("affinity") or {}
    near, far = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    terms = PodTerms(
        affinity=_terms(near.get(REQUIRED) or (), namespace, labels),
        anti_affinity=_terms(far.get(REQUIRED) or (), namespace, labels),
        preferred=tuple(
            WeightedPodTerm(sign * one["weight"], _term(one["podAffinityTerm"], namespace, labels))
            for sign, rules in ((1, near), (-1, far))
            for one in rules.get(PREFERRED) or ()
        ),
    )
    return Peer(
        namespace=namespace,
        labels=tuple(sorted(labels.items())),
        terms=None if terms == PodTerms() else terms,
    )


def spread_of(spec: Mapping[str, Any], labels: Mapping[str, str]) -> tuple[SpreadConstraint, ...]:
    """The topology spread constraints of a Pod with the stored `spec` and `labels`."""
    return tuple(
        SpreadConstraint(
            topology_key=one["topologyKey"],
            max_skew=one["maxSkew"],
            hard=one["whenUnsatisfiable"] == "DoNotSchedule",
            selector=_selector(one, labels),
            least_domains=one.get("minDomains") or 1,
            honors_affinity=(one.get("nodeAffinityPolicy") or "Honor") == "Honor",
            honors_taints=one.get("nodeTaintsPolicy") == "Honor",
        )
        for one in spec.get("topologySpreadConstraints") or ()
    )


def near(term: PodTerm, peer: Peer, namespaces: Namespaces) -> bool:
    """Whether `term` is about a Pod like `peer`."""
    return _in_scope(term, peer.namespace, namespaces) and selects(term.selector, dict(peer.labels))


def spread_over(constraint: SpreadConstraint, namespace: str, peer: Peer) -> bool:
    """Whether a Pod like `peer` counts for a `constraint` of a Pod in `namespace`."""
    return (
        not peer.leaving and peer.namespace == namespace and selects(constraint.selector, dict(peer.labels))
    )


def _in_scope(term: PodTerm, namespace: str, namespaces: Namespaces) -> bool:
    if namespace in term.namespaces:
        return True
    if not term.namespace_selector:  # nothing or everything
        return term.namespace_selector is not None
    return selects(term.namespace_selector, {**namespaces.get(namespace, {}), NAME_LABEL: namespace})


def _terms(manifests: Iterable[Any], namespace: str, labels: Mapping[str, str]) -> tuple[PodTerm, ...]:
    return tuple(_term(one, namespace, labels) for one in manifests)


def _term(manifest: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> PodTerm:
    namespaces = tuple(sorted(set(manifest.get("namespaces") or ())))
    namespace_selector = label_selector_of(manifest.get("namespaceSelector"))
    if not namespaces and namespace_selector is None:
        namespaces = (namespace,)
    return PodTerm(
        topology_key=manifest["topologyKey"],
        selector=_selector(manifest, labels),
        namespaces=namespaces,
        namespace_selector=namespace_selector,
    )


def _selector(manifest: Mapping[str, Any], labels: Mapping[str, str]) -> LabelSelector:
    """The label selector of a rule, with what it takes from the labels of its own Pod."""
    selector = label_selector_of(manifest.get("labelSelector"))
    if selector is None:
        return None
    alike = [equality(key, labels[key]) for key in manifest.get("matchLabelKeys") or () if key in labels]
    unlike = [
        Requirement(key, "NotIn", (labels[key],))
        for key in manifest.get("mismatchLabelKeys") or ()
        if key in labels
    ]
    return conjunction((*selector, *alike, *unlike))
