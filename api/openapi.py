"""OpenAPI as Kubernetes serves it, for clients that look up what a server takes.

In version 3 each API group and version has a document, which kubectl asks whether `fieldValidation` is known
here; in version 2 all have one.

The schema of a kind says what every object has and leaves the rest open, and no document offers strategic
merge patches: kubectl takes a document that does at its word, and makes them from its own schemas otherwise.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from api.bodies import MEDIA_TYPES
from api.patches import JSON_PATCH, MERGE_PATCH
from api.resource import Resource, all_resources
from domain.version import VERSION

ROOT = "/openapi/v3"

_METHODS = {
    "create": "post",
    "delete": "delete",
    "deletecollection": "delete",
    "get": "get",
    "list": "get",
    "patch": "patch",
    "update": "put",
}
_OF_LISTS = ("create", "deletecollection", "list")
_PARAMETERS = {
    "create": ("dryRun", "fieldManager", "fieldValidation"),
    "delete": ("dryRun", "gracePeriodSeconds", "propagationPolicy"),
    "deletecollection": ("dryRun", "fieldSelector", "gracePeriodSeconds", "labelSelector"),
    "get": ("resourceVersion",),
    "list": (
        "allowWatchBookmarks",
        "continue",
        "fieldSelector",
        "labelSelector",
        "limit",
        "resourceVersion",
        "resourceVersionMatch",
        "sendInitialEvents",
        "timeoutSeconds",
        "watch",
    ),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "update": ("dryRun", "fieldManager", "fieldValidation"),
}
_BODIES = {
    "create": MEDIA_TYPES,
    "delete": MEDIA_TYPES,
    "deletecollection": MEDIA_TYPES,
    "patch": (JSON_PATCH, MERGE_PATCH),
    "update": MEDIA_TYPES,
}


@cache
def index() -> dict[str, Any]:
    """Where the document of each API group and version is."""
    return {
        "paths": {path: {"serverRelativeURL": _address(path, found)} for path, found in _documents().items()}
    }


def document(path: str) -> dict[str, Any] | None:
    """The document of the group and version at `path` (`api/v1`, `apis/policy/v1`); None if there is none."""
    return _documents().get(path)


@cache
def _documents() -> dict[str, dict[str, Any]]:
    served: dict[str, list[Resource]] = {}
    for resource in all_resources():
        served.setdefault(resource.root.removeprefix("/"), []).append(resource)
    return {path: _document(resources) for path, resources in served.items()}


def _document(served: list[Resource]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for resource in served:
        for verb in filter(_METHODS.get, resource.verbs):
            place = resource.collection if verb in _OF_LISTS else resource.item
            paths.setdefault(place, {})[_METHODS[verb]] = _operation(resource, verb)
    return {
        "openapi": "3.0.0",
        "info": {"title": "ganger", "version": VERSION},
        "paths": paths,
        "components": {"schemas": {_schema_name(each): _schema(each) for each in served}},
    }


@cache
def version_2() -> dict[str, Any]:
    """All of it as one document of version 2."""
    documents = list(_documents().values())
    paths = {path: operations for each in documents for path, operations in each["paths"].items()}
    return {
        "swagger": "2.0",
        "info": documents[0]["info"],
        "paths": {
            path: {method: _in_version_2(operation) for method, operation in operations.items()}
            for path, operations in paths.items()
        },
        "definitions": {
            name: schema for each in documents for name, schema in each["components"]["schemas"].items()
        },
    }


def _in_version_2(operation: dict[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody")
    older = {name: value for name, value in operation.items() if name != "requestBody"}
    older["parameters"] = [
        {**{key: value for key, value in each.items() if key != "schema"}, **each["schema"]}
        for each in operation["parameters"]
    ]
    older["produces"] = ["application/json"]
    if body is not None:
        older["consumes"] = list(body["content"])
        older["parameters"].append({"name": "body", "in": "body", "schema": {"type": "object"}})
    return older


def _address(path: str, found: dict[str, Any]) -> str:
    """Its hash is in the address, so that clients need not fetch again what they have."""
    digest = hashlib.sha256(msgspec.json.encode(found)).hexdigest()
    return f"{ROOT}/{path}?hash={digest}"


def _operation(resource: Resource, verb: str) -> dict[str, Any]:
    scope = "Namespaced" if resource.kind.namespaced else ""
    operation: dict[str, Any] = {
        "operationId": f"{verb}{resource.version.capitalize()}{scope}{resource.kind.name}",
        "parameters": list(_parameters(resource, verb)),
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": _group_version_kind(resource),
    }
    if verb in _BODIES:
        content = {media_type: {"schema": {"type": "object"}} for media_type in _BODIES[verb]}
        operation["requestBody"] = {"content": content}
    return operation


def _parameters(resource: Resource, verb: str) -> Iterator[dict[str, Any]]:
    in_path = ["namespace"] if resource.kind.namespaced else []
    if verb not in _OF_LISTS:
        in_path.append("name")
    for name in in_path:
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    for name in _PARAMETERS[verb]:
        yield {"name": name, "in": "query", "schema": {"type": "string"}}


def _schema_name(resource: Resource) -> str:
    group = resource.kind.group.partition(".")[0] or "core"
    return f"io.k8s.api.{group}.{resource.version}.{resource.kind.name}"


def _schema(resource: Resource) -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "properties": {"apiVersion": text, "kind": text, "metadata": {"type": "object"}},
        "x-kubernetes-group-version-kind": [_group_version_kind(resource)],
        "x-kubernetes-preserve-unknown-fields": True,
    }


def _group_version_kind(resource: Resource) -> dict[str, str]:
    return {"group": resource.kind.group, "version": resource.version, "kind": resource.kind.name}
