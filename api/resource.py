"""A kind in one of its versions: where its routes are, and how its objects look there."""

from collections.abc import Iterator, Mapping
from typing import Any

from domain.admission.kinds import KINDS, NODE, POD, POD_DISRUPTION_BUDGET, Kind

_WITH_STATUS = (NODE, POD, POD_DISRUPTION_BUDGET)


class Resource:
    """`everywhere` lists all namespaces, `collection` one of them; the same for a cluster-wide kind."""

    def __init__(self, kind: Kind, version: str) -> None:
        self.kind = kind
        self.version = version
        self.api_version = f"{kind.group}/{version}" if kind.group else version
        root = f"/apis/{self.api_version}" if kind.group else f"/api/{version}"
        self.everywhere = f"{root}/{kind.plural}"
        self.collection = self.everywhere
        if kind.namespaced:
            self.collection = f"{root}/namespaces/{{namespace}}/{kind.plural}"
        self.item = f"{self.collection}/{{name}}"
        self.has_status = kind in _WITH_STATUS

    def shown(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """`manifest` in the version of this path."""
        return {**manifest, "kind": self.kind.name, "apiVersion": self.api_version}


def resources() -> Iterator[Resource]:
    """Every kind in every version that it is served in."""
    for kind in KINDS:
        for version in kind.versions:
            yield Resource(kind, version)
