"""`/clusters/{name}` before any path selects another cluster than the server's own."""

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import bad_value, status_reply
from worker.cluster import CLUSTER_NAME, CLUSTER_NAME_RULE

KEY = "ganger.cluster"
"""Where the scope of a request holds the name, if its path has one."""

_PREFIX = re.compile(r"/clusters/([^/]+)(/.*)?")


class ClusterPrefix:
    """Takes the prefix off, so that every route exists once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (match := _PREFIX.fullmatch(scope["path"])):
            name, path = match[1], match[2] or "/"
            if not CLUSTER_NAME.fullmatch(name):
                await status_reply(bad_value("cluster", name, CLUSTER_NAME_RULE))(scope, receive, send)
                return
            scope = {**scope, "path": path, "raw_path": path.encode(), KEY: name}
        await self._app(scope, receive, send)
