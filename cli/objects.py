"""The objects of a cluster as commands see them, whoever keeps them: this process or a server."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from domain.admission.kinds import Kind

if TYPE_CHECKING:
    from domain.explanation import Explanation
    from worker.history import Entry

Shown = dict[str, Any]
"""An object as Kubernetes shows it."""


@dataclass(frozen=True)
class GroupFacts:
    """How a group stands: what counts toward its minimum, what of that is placed, verdict and lane.

    That are Pods, or of a composite the groups right below it, of which `ready` have their quorum.
    """

    created: int
    bound: int
    status: str
    lane: str
    ready: int = 0


class Facts(Protocol):
    """What tables say beside the objects themselves. `now` is in microseconds."""

    now: int

    def group(self, kind: str, key: str) -> GroupFacts:
        """How the group `namespace/name` of a kind stands."""
        ...

    def used(self, node: str) -> Mapping[str, int]:
        """What the Pods on a node request, by resource in base units, with `pods`."""
        ...


class Objects(Protocol):
    """Reading objects, now or as of a moment."""

    @property
    def facts(self) -> Facts:
        """What tables say beside the objects."""
        ...

    def one(self, kind: Kind, namespace: str, name: str) -> Shown:
        """The object of this name. Raises NotFound or what a server says."""
        ...

    def all(self, kind: Kind, namespace: str | None) -> list[Shown]:
        """The objects of a kind, of one namespace or all, sorted by namespace and name."""
        ...

    def history(self, kind: Kind, namespace: str, name: str) -> "Iterable[Entry]":
        """What concerns an object, in the order of the log."""
        ...

    def events(self, kind: Kind, shown: Shown) -> list[Shown]:
        """The Kubernetes Events about an object, the one that happened last at the end."""
        ...


@dataclass(frozen=True)
class Change:
    """What became of one object of a request: `created`, `configured`, `unchanged`, `deleted`, …"""

    kind: Kind
    name: str
    change: str
    warnings: Sequence[str] = ()


def labels_of(shown: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of an object."""
    return shown["metadata"].get("labels") or {}


def key_of(shown: Mapping[str, Any]) -> str:
    """`namespace/name`, or `name` where there is no namespace."""
    metadata = shown["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]


def facts_of(told: "Explanation") -> GroupFacts:
    """How the group stands that `told` explains."""
    quorum = told.quorum
    return GroupFacts(
        created=0 if quorum is None else quorum.created,
        bound=0 if quorum is None else quorum.scheduled,
        status=str(told.verdict),
        lane=told.lane or "",
        ready=0 if quorum is None else quorum.ready or 0,
    )
