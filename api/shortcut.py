"""The short way for what is asked most: to create one object, or to read one as it is now.

FastAPI's routes answer the same to the same requests, and are what the OpenAPI document is made of. They
take what is not plain enough for the short way: query parameters, a cluster that is still to be opened, or a
table to be answered with.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api import writing
from api.bodies import read_manifest
from api.clusters import Clusters, Served
from api.errors import ganger_error
from api.prefix import KEY
from api.reading import GetQuery, get_object
from api.replies import json_reply
from api.resource import Resource, resources
from api.tables import Tables
from api.unknown_fields import UnknownFields, mode_of
from domain.errors import GangerError

_PATH: Final = re.compile(r"(/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+))?")
_AS_IT_IS: Final = GetQuery()  # type: ignore[call-arg]  # the plugin of mypy does not see aliases' defaults

_Answer = Callable[[Request], Awaitable[Response]]


class Shortcut:
    """Answers those requests itself, and leaves all others to `app`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._resources = {(each.root, each.kind.plural, each.kind.namespaced): each for each in resources()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answer(scope)
        if answer is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await answer(request)
        except GangerError as error:
            response = await ganger_error(request, error)
        await response(scope, receive, send)

    def _answer(self, scope: Scope) -> _Answer | None:
        """What answers the request in `scope`; None if it takes another way."""
        if scope["type"] != "http" or scope["query_string"]:
            return None
        match = _PATH.fullmatch(scope["path"])
        if match is None:
            return None
        root, namespace, plural, name = match.groups()
        resource = self._resources.get((root, plural, namespace is not None))
        clusters: Clusters = scope["app"].state.clusters
        served = clusters.opened(scope.get(KEY, clusters.default))
        if resource is None or served is None:
            return None
        if scope["method"] == "POST" and name is None:
            return _creation(served, resource, namespace)
        if scope["method"] == "GET" and name is not None and served.cluster.state.position:
            if Tables(Request(scope)).wanted:
                return None
            return _reading(served, resource, namespace, name)
        return None


def _creation(served: Served, resource: Resource, namespace: str | None) -> _Answer:
    unknown = UnknownFields(resource, mode_of(None))

    async def create(request: Request) -> Response:
        manifest = await read_manifest(request, resource.kind, resource.api_version)
        return await writing.create(served, unknown, namespace, manifest, dry_run=False)

    return create


def _reading(served: Served, resource: Resource, namespace: str | None, name: str) -> _Answer:
    def read() -> Response:
        return json_reply(get_object(served.cluster, resource, namespace, name, _AS_IT_IS))

    async def in_thread(_: Request) -> Response:
        return await run_in_threadpool(read)

    return in_thread
