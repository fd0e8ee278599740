"""A change that could help: what it does to which objects, in the words of whoever makes it."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]

Rewrite: TypeAlias = Callable[[Manifest], object]
"""Changes a manifest in place, to which other changes may have been made before."""

_ASKED_METADATA = ("name", "namespace", "labels", "annotations")


@dataclass(frozen=True)
class Put:
    """Create an object, or replace it by its whole manifest."""

    manifest: Manifest


@dataclass(frozen=True)
class Remove:
    """Delete the object `key` of a kind, as a user does."""

    kind: str
    key: str


@dataclass(frozen=True)
class Alter:
    """Apply what `rewrite` makes of the object `key` of a kind as it then is; by another name a new one."""

    kind: str
    key: str
    rewrite: Rewrite


@dataclass(frozen=True)
class Renew:
    """Delete Pods by key, then groups by kind and key, the last first; and create all of them anew.

    Each is created as it was asked for when it was deleted, with `rewrite` done to it.
    """

    pods: tuple[str, ...]
    groups: tuple[tuple[str, str], ...]
    rewrite: Rewrite


@dataclass(frozen=True)
class Configure:
    """Configure the scheduler by a whole KubeSchedulerConfiguration."""

    document: Manifest


Edit: TypeAlias = Put | Remove | Alter | Renew | Configure


@dataclass(frozen=True)
class Candidate:
    """A change to be tried: all of `edits` at once, in order.

    `kind` says what sort of change it is, `text` what to do, in the imperative. `subjects` are the
    objects that it is about; `before` and `after` the value that changes, where there is one.
    """

    kind: str
    text: str
    edits: tuple[Edit, ...]
    subjects: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True)
class Proved:
    """A change that was tried: with it the object starts, for which the Pods of keys `evicted` go."""

    candidate: Candidate
    evicted: tuple[str, ...] = ()


def unchanged(manifest: Manifest) -> None:
    """The Rewrite of what is made anew as it was."""


def together(first: Candidate, second: Candidate) -> Candidate:
    """Both changes as one."""
    return Candidate(
        kind=f"{first.kind}+{second.kind}",
        text=f"{first.text}, and {second.text}",
        edits=(*first.edits, *second.edits),
        subjects=(*first.subjects, *second.subjects),
    )


def subject_of(manifest: Mapping[str, Any]) -> str:
    """`Kind/namespace/name` of an object in a namespace."""
    metadata = manifest["metadata"]
    return f"{manifest['kind']}/{metadata['namespace']}/{metadata['name']}"


def as_asked(stored: Mapping[str, Any]) -> Manifest:
    """The manifest of an object as somebody would create it, without what the cluster has added."""
    made: Manifest = deepcopy(dict(stored))
    made["metadata"] = {name: value for name, value in made["metadata"].items() if name in _ASKED_METADATA}
    made.pop("status", None)
    return made
