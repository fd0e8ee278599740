"""Node selector terms, as Pods write them to say where they want to run."""

from collections.abc import Iterable, Mapping
from typing import Any

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
