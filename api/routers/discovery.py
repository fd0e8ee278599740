"""What this server serves, as Kubernetes' clients ask for it."""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Header
from fastapi.responses import Response

from api import openapi
from api.errors import NotAcceptable, no_such_route
from api.replies import JSON, json_reply
from api.resource import Resource, all_resources
from domain.version import VERSION

KUBERNETES = ("1", "37")
"""The version of Kubernetes whose API this is, as far as it goes."""

_STATUS_VERBS = ("get", "patch", "update")

_ABOUT_THE_BUILD = ("buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion", "platform")
"""What clients want a version to say, and what only a compiled program has."""

router = APIRouter(tags=["discovery"])


@router.get("/version", summary="The version of the API")
async def version() -> Response:
    """Kubernetes' version whose API this is; `gitVersion` names ganger too."""
    major, minor = KUBERNETES
    shown = {"major": major, "minor": minor, "gitVersion": f"v{major}.{minor}.0+ganger-{VERSION}"}
    return json_reply(dict.fromkeys(_ABOUT_THE_BUILD, "") | shown)


@router.get("/api", summary="Versions of the core API")
async def core_versions() -> Response:
    """`v1`."""
    return json_reply({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})


@router.get("/apis", summary="API groups")
async def groups() -> Response:
    """Every group with its versions, the preferred one first."""
    return json_reply({"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups()})


@router.get("/apis/{group}", summary="One API group")
async def group(group: str) -> Response:
    """A group with its versions."""
    for found in _groups():
        if found["name"] == group:
            return json_reply({"kind": "APIGroup", "apiVersion": "v1"} | found)
    raise no_such_route()


@router.get("/api/v1", summary="Resources of the core API")
async def core_resources() -> Response:
    """Each resource with its verbs."""
    return json_reply(_resource_list("v1"))


@router.get("/apis/{group}/{version}", summary="Resources of a group in a version")
async def group_resources(group: str, version: str) -> Response:
    """Each resource with its verbs."""
    found = _resource_list(f"{group}/{version}")
    if not found["resources"]:
        raise no_such_route()
    return json_reply(found)


@router.get("/openapi/v2", summary="OpenAPI in version 2")
async def openapi_2(accept: Annotated[str, Header()] = "*/*") -> Response:
    """One document, in JSON alone."""
    if not any(each in accept for each in ("*/*", "application/*", JSON)):
        raise NotAcceptable(f"only the following media types are accepted: {JSON}")
    return json_reply(openapi.version_2())


@router.get("/openapi/v3", summary="Where OpenAPI documents are")
async def openapi_index() -> Response:
    """One document for each API group and version."""
    return json_reply(openapi.index())


@router.get("/openapi/v3/api/{version}", summary="OpenAPI of the core API")
async def core_openapi(version: str) -> Response:
    """As far as clients look things up in it; `/openapi.json` has every route."""
    return _openapi(f"api/{version}")


@router.get("/openapi/v3/apis/{group}/{version}", summary="OpenAPI of a group in a version")
async def group_openapi(group: str, version: str) -> Response:
    """The same for the other groups."""
    return _openapi(f"apis/{group}/{version}")


def _openapi(path: str) -> Response:
    found = openapi.document(path)
    if found is None:
        raise no_such_route()
    return json_reply(found)


def _groups() -> list[dict[str, Any]]:
    versions: dict[str, list[str]] = {}
    for resource in all_resources():
        if resource.kind.group and resource.version not in versions.setdefault(resource.kind.group, []):
            versions[resource.kind.group].append(resource.version)
    return [_group(name, _newest_first(found)) for name, found in versions.items()]


def _newest_first(versions: Iterable[str]) -> list[str]:
    """Stable before beta before alpha, as Kubernetes prefers them."""
    stability = ("v1", "v1beta1", "v1alpha3")
    return sorted(versions, key=stability.index)


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    served = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def _resource_list(api_version: str) -> dict[str, Any]:
    found = [
        shown
        for resource in all_resources()
        if resource.api_version == api_version
        for shown in _shown(resource)
    ]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": found,
    }


def _shown(resource: Resource) -> list[dict[str, Any]]:
    kind = resource.kind
    common = {"singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.name}
    shown: list[dict[str, Any]] = [
        {"name": kind.plural, "verbs": list(resource.verbs), "shortNames": list(kind.short)} | common
    ]
    if resource.has_status:
        status = {"name": f"{kind.plural}/status", "verbs": list(_STATUS_VERBS)}
        shown.append(status | common | {"singularName": ""})
    return shown
