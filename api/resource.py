"""A kind in one of its versions: where its routes are, and how its objects look there."""

from collections.abc import Iterator, Mapping
from typing import Any

from domain.admission.kinds import (
    EVENT,
    EVENT_OF_GROUP,
    KINDS,
    NAMESPACE,
    NODE,
    POD,
    POD_DISRUPTION_BUDGET,
    Kind,
)

_WITH_STATUS = (NODE, POD, POD_DISRUPTION_BUDGET)
_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_READING = ("get", "list")


class Resource:
    """`everywhere` lists all namespaces, `collection` one of them; the same for a cluster-wide kind.

    `verbs` are those of Kubernetes that it takes.
    """

    def __init__(self, kind: Kind, version: str, *, verbs: tuple[str, ...] = _ALL_VERBS) -> None:
        self.verbs = verbs
        self.kind = kind
        self.version = version
        self.api_version = f"{kind.group}/{version}" if kind.group else version
        self.root = f"/apis/{self.api_version}" if kind.group else f"/api/{version}"
        self.everywhere = f"{self.root}/{kind.plural}"
        self.collection = self.everywhere
        if kind.namespaced:
            self.collection = f"{self.root}/namespaces/{{namespace}}/{kind.plural}"
        self.item = f"{self.collection}/{{name}}"
        self.has_status = kind in _WITH_STATUS

    def shown(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """`manifest` in the version of this path."""
        return {**manifest, "kind": self.kind.name, "apiVersion": self.api_version}


def resources() -> Iterator[Resource]:
    """Every kind of object that is kept, in every version that it is served in."""
    for kind in KINDS:
        verbs = tuple(verb for verb in _ALL_VERBS if kind is not NAMESPACE or verb != "deletecollection")
        for version in kind.versions:
            yield Resource(kind, version, verbs=verbs)


CORE_EVENTS = Resource(EVENT, EVENT.version, verbs=_READING)
"""Events, which follow from the log and are only read."""
GROUP_EVENTS = Resource(EVENT_OF_GROUP, EVENT_OF_GROUP.version, verbs=_READING)
"""The same in the newer API."""


def all_resources() -> Iterator[Resource]:
    """Everything that is served at Kubernetes' paths."""
    yield from resources()
    yield CORE_EVENTS
    yield GROUP_EVENTS
