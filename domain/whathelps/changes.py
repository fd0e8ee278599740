"""A change that could help: what it does to which objects, in the words of whoever makes it."""

from dataclasses import dataclass
from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]


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
class Configure:
    """Configure the scheduler by a whole KubeSchedulerConfiguration."""

    document: Manifest


Edit: TypeAlias = Put | Remove | Configure


@dataclass(frozen=True)
class Candidate:
    """A change to be tried: all of `edits` at once.

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


def together(first: Candidate, second: Candidate) -> Candidate:
    """Both changes as one."""
    return Candidate(
        kind=f"{first.kind}+{second.kind}",
        text=f"{first.text}, and {second.text}",
        edits=(*first.edits, *second.edits),
        subjects=(*first.subjects, *second.subjects),
    )
