"""Where the pages are: links that stay in the cluster and at the moment that is being looked at."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from starlette.requests import Request

from api.prefix import KEY
from domain.admission.kinds import Kind, kind_named

ROOT = "/ui"


class Links:
    """Links of one page. `at` is the moment that is looked at, as the user named it; None for now."""

    def __init__(self, request: Request, at: str | None) -> None:
        cluster = request.scope.get(KEY)
        self._prefix = "" if cluster is None else f"/clusters/{quote(cluster, safe='')}"
        self._at = at

    def to(self, path: str = "", **query: object) -> str:
        """The page at `path` below the root; parameters that are None or empty are left out."""
        asked: Mapping[str, object] = {"at": self._at} | query
        given = {name: value for name, value in asked.items() if value not in (None, "")}
        return f"{self._prefix}{ROOT}{path}" + (f"?{urlencode(given)}" if given else "")

    def of(self, subject: str, **query: object) -> str:
        """The page of the object `Kind/namespace/name`."""
        kind, _, key = subject.partition("/")
        return self.to(path_of(kind_named(kind), key), **query)

    def json(self, subject: str, what: str) -> str:
        """What the page of an object shows, for programs: its `why` or `history`."""
        kind, _, key = subject.partition("/")
        query = "" if self._at is None else f"?{urlencode({'at': self._at})}"
        return f"{self._prefix}/ganger/v1{path_of(kind_named(kind), key)}/{what}{query}"


def path_of(kind: Kind, key: str) -> str:
    """The path of an object, as in ganger's own routes."""
    *namespace, name = (quote(part, safe="") for part in key.split("/"))
    above = f"/namespaces/{namespace[0]}" if namespace else ""
    return f"{above}/{kind.plural}/{name}"
