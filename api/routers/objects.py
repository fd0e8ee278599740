"""Objects at Kubernetes' paths: create, get, list, replace, patch, delete, and the status of some."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from api import writing
from api.bodies import MEDIA_TYPES, read_manifest, read_object
from api.clusters import Existing, PerhapsNew, Served
from api.deleting import read_options
from api.list_options import check_list
from api.listing import list_objects
from api.patches import JSON_PATCH, PATCH_TYPES, Change, read_patch
from api.reading import GetQuery, ListQuery, Selectors, get_object, list_body, selection_of
from api.replacing import by_manifest
from api.resource import Resource, resources
from api.schemas import Object, ObjectList, answers
from api.tables import Tables
from api.unknown_fields import MODES, UnknownFields, mode_of
from api.watches import watch_reply

_SCHEMAS = {JSON_PATCH: {"type": "array", "items": {"type": "object"}}}
"""Of bodies that are no object."""

DRY_RUN = "`All`: admit and change nothing"
GRACE = "0: at once; the object's own if left out"

_READ = (400, 404, 410, 422)
_WRITE = (400, 403, 404, 409, 413, 415, 422)


class WriteQuery(BaseModel):
    """What a request that creates, replaces or patches an object may say."""

    dry_run: list[str] | None = Field(None, alias="dryRun", description=DRY_RUN)
    field_validation: str | None = Field(
        None,
        alias="fieldValidation",
        description=f"what becomes of unknown fields: {', '.join(MODES)}; else `Warn`",
    )


class ClearQuery(Selectors):
    """What a request that deletes the objects of a list may say."""

    dry_run: list[str] | None = Field(None, alias="dryRun", description=DRY_RUN)
    grace_period_seconds: int | None = Field(None, alias="gracePeriodSeconds", description=GRACE)


Clearing = Annotated[ClearQuery, Query()]
Options = Annotated[WriteQuery, Query()]
Get = Annotated[GetQuery, Query()]
List = Annotated[ListQuery, Query()]
DryRun = Annotated[list[str] | None, Query(alias="dryRun", description=DRY_RUN)]
Grace = Annotated[int | None, Query(alias="gracePeriodSeconds", description=GRACE)]


def routers() -> list[APIRouter]:
    """The routes of every kind, in every version that it is served in."""
    return [_router(resource) for resource in resources()]


def _router(resource: Resource) -> APIRouter:
    router = APIRouter(tags=[resource.api_version])
    _add_lists(router, resource)
    _add_read(router, resource, resource.item, f"a {resource.kind.name}")
    _add_writing(router, resource)
    if resource.has_status:
        called = f"the status of a {resource.kind.name}"
        _add_read(router, resource, f"{resource.item}/status", called)
        _add_replacing(router, resource, f"{resource.item}/status", called, status=True)
    return router


def _add_lists(router: APIRouter, resource: Resource) -> None:
    says: dict[str, Any] = {"responses": answers(ObjectList, *_READ)}
    plural = resource.kind.plural

    @router.get(resource.collection, summary=f"List {plural}", openapi_extra=_extra(resource), **says)
    def list_them(request: Request, served: Existing, query: List) -> Response:
        return _listed(request, served, resource, _namespace(request), query)

    if resource.kind.namespaced:

        @router.get(resource.everywhere, summary=f"List {plural} of all namespaces", **says)
        def list_all(request: Request, served: Existing, query: List) -> Response:
            return _listed(request, served, resource, None, query)


def _listed(
    request: Request, served: Served, resource: Resource, namespace: str | None, query: ListQuery
) -> Response:
    tables = Tables(request)
    if query.watch:
        return watch_reply(served, resource, namespace, query, tables)
    check_list(query)
    return tables.list_reply(served.cluster, resource, list_body(served.cluster, resource, namespace, query))


def _add_read(router: APIRouter, resource: Resource, path: str, called: str) -> None:
    """GET of an object, which is also what its status is read by."""

    @router.get(
        path,
        summary=f"Read {called}",
        responses=answers(Object, *_READ),
        openapi_extra=_extra(resource),
    )
    def read(request: Request, served: Existing, name: str, query: Get) -> Response:
        shown = get_object(served.cluster, resource, _namespace(request), name, query)
        return Tables(request).reply(served.cluster, resource, shown)


def _add_writing(router: APIRouter, resource: Resource) -> None:
    kind = resource.kind

    @router.post(
        resource.collection,
        status_code=201,
        summary=f"Create a {kind.name}",
        responses=answers(Object, *_WRITE, code=201),
        openapi_extra=_extra(resource, body=MEDIA_TYPES),
    )
    async def create(request: Request, served: PerhapsNew, options: Options) -> Response:
        manifest = await read_manifest(request, kind, resource.api_version)
        unknown = UnknownFields(resource, mode_of(options.field_validation))
        dry = writing.is_dry_run(options.dry_run)
        return await writing.create(served, unknown, _namespace(request), manifest, dry_run=dry)

    _add_replacing(router, resource, resource.item, f"a {kind.name}", status=False)
    if "deletecollection" in resource.verbs:
        _add_clearing(router, resource)

    @router.delete(
        resource.item,
        summary=f"Delete a {kind.name}",
        responses=answers(Object, *_WRITE),
        openapi_extra=_extra(resource, body=MEDIA_TYPES),
    )
    async def delete(
        request: Request, served: Existing, name: str, dry_run: DryRun = None, grace: Grace = None
    ) -> Response:
        options = read_options(await read_object(request), grace=grace)
        dry = writing.is_dry_run([*options.dry_run, *(dry_run or ())])
        return await writing.delete(served, resource, _namespace(request), name, options, dry_run=dry)


def _add_clearing(router: APIRouter, resource: Resource) -> None:
    @router.delete(
        resource.collection,
        summary=f"Delete {resource.kind.plural}",
        responses=answers(ObjectList, *_WRITE),
        openapi_extra=_extra(resource, body=MEDIA_TYPES),
    )
    async def clear(request: Request, served: Existing, query: Clearing) -> Response:
        options = read_options(await read_object(request), grace=query.grace_period_seconds)
        dry = writing.is_dry_run([*options.dry_run, *(query.dry_run or ())])
        selection = selection_of(resource, _namespace(request), query)
        found = await run_in_threadpool(list_objects, served.cluster, selection)
        return await writing.delete_all(served, resource, found, options, dry_run=dry)


def _add_replacing(router: APIRouter, resource: Resource, path: str, called: str, *, status: bool) -> None:
    """PUT and PATCH of what is at `path`: objects, or with `status` their status alone."""
    kind = resource.kind

    async def answer(
        request: Request, served: Served, name: str, options: WriteQuery, change: Change, patch: str | None
    ) -> Response:
        unknown = UnknownFields(resource, mode_of(options.field_validation), patch)
        dry = writing.is_dry_run(options.dry_run)
        place = _namespace(request)
        return await writing.replace(served, unknown, place, name, change, status=status, dry_run=dry)

    @router.put(
        path,
        summary=f"Replace {called}",
        responses=answers(Object, *_WRITE),
        openapi_extra=_extra(resource, body=MEDIA_TYPES),
    )
    async def replace(request: Request, served: Existing, name: str, options: Options) -> Response:
        manifest = await read_manifest(request, kind, resource.api_version)
        return await answer(request, served, name, options, by_manifest(manifest, name), None)

    @router.patch(
        path,
        summary=f"Patch {called}",
        responses=answers(Object, *_WRITE),
        openapi_extra=_extra(resource, body=PATCH_TYPES),
    )
    async def patch(request: Request, served: Existing, name: str, options: Options) -> Response:
        patch = await read_patch(request, kind)
        return await answer(request, served, name, options, patch.change, patch.text)


def _namespace(request: Request) -> str | None:
    """The namespace in the path, None for a cluster-wide kind: what is one parameter for some routes
    and none for others cannot be one of their functions."""
    namespace: str | None = request.path_params.get("namespace")
    return namespace


def _extra(resource: Resource, *, body: tuple[str, ...] = ()) -> dict[str, Any]:
    """What OpenAPI cannot see in the functions: the namespace in the path, and the body."""
    extra: dict[str, Any] = {}
    if resource.kind.namespaced:
        namespace = {"name": "namespace", "in": "path", "required": True, "schema": {"type": "string"}}
        extra["parameters"] = [namespace]
    if body:
        content = {
            media_type: {"schema": _SCHEMAS.get(media_type, {"type": "object"})} for media_type in body
        }
        extra["requestBody"] = {"content": content}
    return extra
