"""Paths as they may also be written: with `/clusters/{name}` before them, which selects another cluster than
the server's own, and with a slash at their end, as some clients ask for `/version/`."""

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import bad_value, no_such_route, status_reply
from domain.errors import BadRequest, GangerError
from worker.cluster import CLUSTER_NAME, CLUSTER_NAME_RULE

KEY = "ganger.cluster"
"""Where the scope of a request holds the name, if its path has one."""

_PREFIX = re.compile(r"/clusters/([^/]+)(/.*)?")


class ClusterPrefix:
    """Takes both off, so that every route exists once; refuses the one letter that no store can look up."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := _refusal_of_nul(scope)) is not None:
            await status_reply(refusal)(scope, receive, send)
            return
        if scope["type"] == "http" and (match := _PREFIX.fullmatch(scope["path"])):
            name, path = match[1], match[2] or "/"
            if not CLUSTER_NAME.fullmatch(name):
                await status_reply(bad_value("cluster", name, CLUSTER_NAME_RULE))(scope, receive, send)
                return
            scope = {**scope, "path": path, "raw_path": path.encode(), KEY: name}
        if scope["type"] == "http" and scope["path"].endswith("/"):
            path = scope["path"].rstrip("/") or "/"
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(scope, receive, send)


def _refusal_of_nul(scope: Scope) -> GangerError | None:
    """The refusal of a request that names or asks for something with NUL, which PostgreSQL has in no text."""
    if "\0" in scope["path"]:
        return no_such_route()
    if b"%00" in scope["query_string"]:
        return BadRequest("the query holds NUL (%00), which no name and no value has")
    return None
