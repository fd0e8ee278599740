"""The application: every route, every error a Status, every cluster under its prefix."""

from typing import Any

from fastapi import Depends, FastAPI

from api.clusters import Clusters
from api.docs_page import router as docs_page
from api.errors import add_error_handlers
from api.pages import routes as pages
from api.parameters import known_alone
from api.prefix import ClusterPrefix
from api.routers import (
    attempts,
    book,
    config,
    diff,
    discovery,
    health,
    kube_events,
    log,
    objects,
    queue,
    replay,
    state,
    whatif,
)
from api.schemas import explanation_schemas
from api.shortcut import Shortcut
from domain.version import VERSION

_DESCRIPTION = """
Kubernetes' own paths, bodies and error objects for its own kinds; under `/ganger/v1` what the book says.
`resourceVersion` is a position of the log. The prefix `/clusters/{name}` before any path selects another
cluster than the server's own.
"""


class Application(FastAPI):
    """FastAPI, except that wrong parameters are 400 here, as its OpenAPI says: not the 422 it adds."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        if self.openapi_schema is None:
            document = super().openapi()
            schemas = document["components"]["schemas"]
            schemas |= explanation_schemas()
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            for operations in document["paths"].values():
                for operation in operations.values():
                    if "HTTPValidationError" in str(operation["responses"].get("422")):
                        del operation["responses"]["422"]
        return super().openapi()


def create_app(clusters: Clusters) -> FastAPI:
    """The application that serves `clusters`; whoever made them closes them."""
    app = Application(
        title="ganger",
        version=VERSION,
        description=_DESCRIPTION.strip(),
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.clusters = clusters
    for module in (book, queue, config, diff, whatif, attempts, log, state, replay):
        app.include_router(module.router, dependencies=[Depends(known_alone)])
    for module in (health, discovery):
        app.include_router(module.router)
    for router in (*objects.routers(), *kube_events.routers()):  # many, which are looked through last
        app.include_router(router)
    app.include_router(docs_page)
    app.include_router(pages.front_door)
    app.include_router(pages.router)
    add_error_handlers(app)
    app.add_middleware(Shortcut)
    app.add_middleware(ClusterPrefix)
    return app
