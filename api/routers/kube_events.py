"""Kubernetes Events at Kubernetes' paths, in both of their APIs: they are read, and nothing else."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from api.clusters import Existing
from api.kube_events import get_event, list_events
from api.reading import GetQuery, ListQuery
from api.resource import CORE_EVENTS, GROUP_EVENTS, Resource
from api.schemas import Object, ObjectList, answers
from api.tables import Tables

_ANSWERS = (400, 404, 405, 410, 422)

Get = Annotated[GetQuery, Query()]
List = Annotated[ListQuery, Query()]


def routers() -> list[APIRouter]:
    """The routes of Events in each of their APIs."""
    return [_router(CORE_EVENTS), _router(GROUP_EVENTS)]


def _router(resource: Resource) -> APIRouter:
    router = APIRouter(tags=[resource.api_version])

    @router.get(resource.collection, summary="List events", responses=answers(ObjectList, *_ANSWERS))
    def list_them(request: Request, served: Existing, namespace: str, query: List) -> Response:
        found = list_events(served.cluster, resource, namespace, query)
        return Tables(request).list_reply(served.cluster, resource, found)

    @router.get(
        resource.everywhere,
        summary="List events of all namespaces",
        responses=answers(ObjectList, *_ANSWERS),
    )
    def list_all(request: Request, served: Existing, query: List) -> Response:
        found = list_events(served.cluster, resource, None, query)
        return Tables(request).list_reply(served.cluster, resource, found)

    @router.get(resource.item, summary="Read an Event", responses=answers(Object, *_ANSWERS))
    def read(request: Request, served: Existing, namespace: str, name: str, query: Get) -> Response:
        found = get_event(served.cluster, resource, namespace, name, query)
        return Tables(request).reply(served.cluster, resource, found)

    return router
