"""Kubernetes Events at Kubernetes' paths, in both of their APIs: they are read, and nothing else."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from api.clusters import Existing
from api.kube_events import get_event, list_events
from api.reading import GetQuery, ListQuery
from api.replies import json_reply
from api.resource import CORE_EVENTS, GROUP_EVENTS, Resource
from api.schemas import Object, ObjectList, answers

_ANSWERS = (400, 404, 405, 410)

Get = Annotated[GetQuery, Query()]
List = Annotated[ListQuery, Query()]


def routers() -> list[APIRouter]:
    """The routes of Events in each of their APIs."""
    return [_router(CORE_EVENTS), _router(GROUP_EVENTS)]


def _router(resource: Resource) -> APIRouter:
    router = APIRouter(tags=[resource.api_version])

    @router.get(resource.collection, summary="List events", responses=answers(ObjectList, *_ANSWERS))
    def list_them(served: Existing, namespace: str, query: List) -> Response:
        return json_reply(list_events(served.cluster, resource, namespace, query))

    @router.get(
        resource.everywhere,
        summary="List events of all namespaces",
        responses=answers(ObjectList, *_ANSWERS),
    )
    def list_all(served: Existing, query: List) -> Response:
        return json_reply(list_events(served.cluster, resource, None, query))

    @router.get(resource.item, summary="Read an Event", responses=answers(Object, *_ANSWERS))
    def read(served: Existing, namespace: str, name: str, query: Get) -> Response:
        return json_reply(get_event(served.cluster, resource, namespace, name, query))

    return router
