"""Node selector terms and label selectors, as Pods write them to say where they want to run."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec

NODE_NAME_FIELD = "metadata.name"


class Requirement(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """`key operator values`, about a label or a field of a node."""

    key: str
    operator: str
    values: tuple[str, ...]


class Term(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Requirements that a node must meet all together; a term without any matches no node."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]


class Preference(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A term that makes a node more welcome by `weight`, 1 to 100."""

    weight: int
    term: Term


def term_of(manifest: Mapping[str, Any]) -> Term:
    """The NodeSelectorTerm written in a Pod."""
    return Term(
        labels=_requirements(manifest.get("matchExpressions") or ()),
        fields=_requirements(manifest.get("matchFields") or ()),
    )


def _requirements(manifests: Iterable[Mapping[str, Any]]) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(one["key"], one["operator"], tuple(one.get("values") or ())) for one in manifests
    )


LabelSelector: TypeAlias = tuple[Requirement, ...] | None
"""Requirements on the labels of an object: none of them selects everything, None selects nothing."""


def label_selector_of(manifest: Mapping[str, Any] | None) -> LabelSelector:
    """The LabelSelector written in an object; equal ones are equal however they were written."""
    if manifest is None:
        return None
    labels = [equality(key, value) for key, value in (manifest.get("matchLabels") or {}).items()]
    return conjunction((*labels, *_requirements(manifest.get("matchExpressions") or ())))


def equality(key: str, value: str) -> Requirement:
    """That the label `key` has this `value`."""
    return Requirement(key, "In", (value,))


def conjunction(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """All of `requirements`, each of them once, in an order of their own."""
    return tuple(sorted(set(requirements), key=lambda one: (one.key, one.operator, one.values)))


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether an object with `labels` is selected. Source: k8s.io/apimachinery, labels.Requirement."""
    return selector is not None and all(_met(one, labels.get(one.key)) for one in selector)


def _met(requirement: Requirement, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case _:
            return value is None
