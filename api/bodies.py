"""Request bodies: how large, in which format, and whether they are what the path is about."""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from api.errors import RequestEntityTooLarge, UnsupportedMediaType, bad_value
from api.protobuf import PROTOBUF, UnknownKind, read_protobuf
from domain.admission.documents import read_documents
from domain.admission.kinds import Kind
from domain.errors import BadRequest

LIMIT = 3 * 1024 * 1024
"""Bytes of a body; the API server's own limit."""

_AT_ONCE = 64 * 1024
"""Bytes of JSON that are read sooner than another thread is asked to."""

_JSON = "application/json"
MEDIA_TYPES = (_JSON, "application/yaml")


async def read_object(request: Request) -> dict[str, Any] | None:
    """The one object in the body; None if the body is empty.

    Raises RequestEntityTooLarge, UnsupportedMediaType, and BadRequest with line and column.
    """
    body = await read_body(request)
    if not body.strip():
        return None
    media_type = media_type_of(request) or _JSON
    if media_type == PROTOBUF:
        with suppress(UnknownKind):
            return read_protobuf(body)
    if media_type not in MEDIA_TYPES:
        raise unknown_format(MEDIA_TYPES, f" (it was {media_type})")
    if media_type == _JSON and len(body) < _AT_ONCE:
        return _decode(body, media_type)
    return await run_in_threadpool(_decode, body, media_type)


async def read_manifest(request: Request, kind: Kind, api_version: str) -> dict[str, Any]:
    """The manifest in the body, of `kind` in `api_version`, which it need not repeat. Raises BadRequest."""
    manifest = await read_object(request)
    if manifest is None:
        raise BadRequest("body: Required value: the request holds no object")
    check_type(manifest, kind, api_version)
    return manifest


def check_type(manifest: dict[str, Any], kind: Kind, api_version: str) -> None:
    """Write down what `manifest` is where it does not say so. Raises BadRequest if it is something else."""
    for field, expected in (("apiVersion", api_version), ("kind", kind.name)):
        found = manifest.setdefault(field, expected)
        if found != expected:
            raise bad_value(field, found, f"this path takes {api_version} {kind.name}")


def media_type_of(request: Request) -> str:
    """The media type of the body, in lower case, without parameters; empty if the request names none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def unknown_format(accepted: Iterable[str], why: str = "") -> UnsupportedMediaType:
    """The refusal of a body in a format that is not `accepted`, in Kubernetes' words, then `why`."""
    return UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include:"
        f" {', '.join(accepted)}{why}"
    )


async def read_body(request: Request) -> bytes:
    """The bytes of the body. Raises RequestEntityTooLarge."""
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > LIMIT:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LIMIT:
            raise _too_large()
    return bytes(body)


def _decode(body: bytes, media_type: str) -> dict[str, Any]:
    if media_type == _JSON:
        _check_json(body)
    documents = read_documents(body, "body")
    if len(documents) != 1:
        raise BadRequest(f"body: a request holds one object, this one has {len(documents)}")
    return documents[0].value


def _check_json(body: bytes) -> None:
    """Raise BadRequest where `body` is not JSON: the reader of documents takes YAML as well."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        raise BadRequest(f"body: {_fault(body) or error}") from error
    except RecursionError as error:
        raise BadRequest("body: it is nested too deep") from error


def _fault(body: bytes) -> str | None:
    """Where JSON is malformed, None if Python's own reader does not see it."""
    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    return None


def _too_large() -> RequestEntityTooLarge:
    return RequestEntityTooLarge(f"Request entity too large: limit is {LIMIT}")
