"""A running `ganger serve`, spoken to over HTTP."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import HTTPException
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

import msgspec

from cli.errors import CannotDo, FromServer
from cli.opening import check_cluster_name
from cli.settings import DEFAULT_CLUSTER
from domain.admission.kinds import Kind
from domain.difference import Difference
from domain.envelope import decode_line
from domain.events import Event
from domain.explanation import Explanation
from domain.upcast import CURRENT
from domain.waiting import WaitingLine
from store.chain import StoredEvent
from worker.history import Entry, entries
from worker.whatif import WhatIf

TIMEOUT_S = 60
PAGE = 1000
"""Events of a history that are asked for at a time."""

_OWN = "/ganger/v1"
_WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')

Body = TypeVar("Body")
Query = Mapping[str, str | None]


class Client:
    """Requests to the server at `url` about `cluster`. `warnings` gathers what answers warn of."""

    def __init__(self, url: str, cluster: str) -> None:
        self._base = (url if "://" in url else f"http://{url}").rstrip("/")
        if not _is_url(self._base):
            raise CannotDo(f"{url!r} is not the URL of a server, such as http://127.0.0.1:8470")
        if cluster != DEFAULT_CLUSTER:
            check_cluster_name(cluster)
            self._base += f"/clusters/{quote(cluster, safe='')}"
        self.warnings: list[str] = []

    def read(self, path: str, kind: type[Body], **query: str | None) -> Body:
        """The answer to a GET as `kind`. Raises as `request`."""
        return self.request("GET", path, kind, query)

    def request(
        self,
        method: str,
        path: str,
        kind: type[Body],
        query: Query,
        document: Mapping[str, Any] | None = None,
    ) -> Body:
        """The answer as `kind`. Raises FromServer for a refusal, CannotDo if there is no usable answer.

        What is None in `query` is left out.
        """
        answer = self._answer(
            method, path, query, None if document is None else msgspec.json.encode(document)
        )
        try:
            return msgspec.json.decode(answer, type=kind)
        except msgspec.DecodeError as error:
            raise CannotDo(f"the server {self._base} answers {path} in an unknown form: {error}") from error

    def _answer(self, method: str, path: str, query: Query, body: bytes | None) -> bytes:
        given = {name: value for name, value in query.items() if value is not None}
        url = f"{self._base}{path}" + (f"?{urlencode(given)}" if given else "")
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if body else {})
        try:
            with urlopen(Request(url, body, headers, method=method), timeout=TIMEOUT_S) as answer:
                self.warnings += _warnings(answer.headers.get_all("Warning") or ())
                content: bytes = answer.read()
                return content
        except HTTPError as error:
            raise _refusal(error) from error
        except URLError as error:
            reason = error.reason.strerror if isinstance(error.reason, OSError) else error.reason
            raise CannotDo(f"the server {self._base} cannot be reached: {reason}") from error
        except (HTTPException, OSError, ValueError) as error:
            raise CannotDo(f"the server {self._base} gave no usable answer: {error}") from error

    def why(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        at: str | None,
        level: int = 1,
        deadline: float = 0.0,
    ) -> Explanation:
        """Why an object is as it is, now or as of `at`, what would help
        searched for until `deadline` (seconds); `level` is at least 1. Raises FromServer."""
        path = f"{_own_path(kind, namespace, name)}/why"
        return self.read(path, Explanation, at=at, level=str(level), deadline=f"{deadline:g}")

    def queue(self, *, at: str | None) -> WaitingLine:
        """What waits, now or as of `at`. Raises FromServer."""
        return self.read(f"{_OWN}/queue", WaitingLine, at=at)

    def diff(self, since: str, until: str | None) -> Difference:
        """What differs between two moments, the second of which may be now (None). Raises FromServer."""
        return self.read(f"{_OWN}/diff", Difference, **{"from": since, "to": until})

    def whatif(self, question: Mapping[str, Any]) -> WhatIf:
        """What changes would have come to. Raises FromServer, CannotDo."""
        return self.request("POST", f"{_OWN}/whatif", WhatIf, {}, question)

    def config(self, *, at: str | None = None) -> dict[str, Any]:
        """The configuration in force, now or as of `at`. Raises FromServer."""
        return self.read(f"{_OWN}/config", dict, at=at)

    def configure(self, document: Mapping[str, Any], *, dry_run: bool) -> dict[str, Any]:
        """The configuration in force once `document` replaces it. Raises FromServer."""
        return self.request("PUT", f"{_OWN}/config", dict, {"dryRun": "All" if dry_run else None}, document)

    def history(
        self, kind: Kind, namespace: str, name: str, *, since: str | None = None, until: str | None = None
    ) -> Iterator[Entry]:
        """The history of an object, asked for page by page. Raises FromServer."""
        return entries(
            self._events(f"{_own_path(kind, namespace, name)}/history", since=since, until=until),
            f"{kind.name}/{kind.key_of(namespace, name)}",
            self._event_at,
        )

    def _events(self, path: str, **query: str | None) -> Iterator[StoredEvent]:
        after: int | None = 0
        while after is not None:
            page = self.read(path, _Page, after=str(after), limit=str(PAGE), **query)
            yield from map(_stored, page.items)
            after = page.next

    def _event_at(self, position: int) -> Event:
        stored = _stored(self.read(f"{_OWN}/log/{position}", _Item))
        return CURRENT.event(stored.type, stored.line)

    def take_warnings(self) -> Sequence[str]:
        """The warnings since the last call."""
        taken, self.warnings = self.warnings, []
        return taken


def _is_url(text: str) -> bool:
    """Whether requests can be sent there: a scheme that is spoken, a host, a port that there is."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class ObjectList(msgspec.Struct):
    """A list of objects, as Kubernetes' paths give it."""

    items: list[dict[str, Any]]


class _Item(msgspec.Struct):
    """An event as the server gives it: the line as it is kept, and its hash."""

    event: msgspec.Raw
    hash: str


class _Page(msgspec.Struct):
    """Some events; `next` is the position after which the next page begins, None at the end."""

    items: list[_Item]
    next: int | None = None


def _stored(item: _Item) -> StoredEvent:
    envelope = decode_line(bytes(item.event))
    return StoredEvent(
        envelope.position, envelope.kind, envelope.at, bytes(item.event), bytes.fromhex(item.hash)
    )


def path_of(kind: Kind, namespace: str, name: str | None = None, api_version: str | None = None) -> str:
    """The path of an object, or of all objects of a kind where `name` is None."""
    version = api_version or kind.api_version
    parts = ["/apis" if "/" in version else "/api", version]
    if kind.namespaced and namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(kind.plural)
    if name is not None:
        parts.append(quote(name, safe=""))
    return "/".join(parts)


def _own_path(kind: Kind, namespace: str, name: str) -> str:
    """The path of an object among those that are ganger's own."""
    place = f"/namespaces/{quote(namespace, safe='')}" if kind.namespaced else ""
    return f"{_OWN}{place}/{kind.plural}/{quote(name, safe='')}"


def _warnings(headers: Iterable[str]) -> list[str]:
    """The texts of HTTP `Warning` headers, as the API server writes them (RFC 7234)."""
    return [re.sub(r"\\(.)", r"\1", text) for header in headers for text in _WARNING.findall(header)]


def _refusal(error: HTTPError) -> FromServer:
    """The refusal in the Status that came with an HTTP error."""
    try:
        with error:
            status = json.loads(error.read())
        return FromServer(status["reason"], status["message"])
    except (HTTPException, OSError, ValueError, KeyError, TypeError):
        return FromServer(error.reason, f"the answer was {error.code} {error.reason}")
