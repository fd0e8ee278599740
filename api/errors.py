"""Errors as HTTP: every one of them leaves as a Kubernetes `Status`."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from api.replies import json_reply
from domain.errors import BadRequest, GangerError, NotFound, Refused
from worker.status import status_body, status_code

log = logging.getLogger("ganger.api")

_NO_ROUTE = "the server could not find the requested resource"
_NO_METHOD = "the server does not allow this method on the requested resource"


class MethodNotAllowed(Refused):
    """The route is there, but not for this verb."""

    reason = "MethodNotAllowed"


class NotAcceptable(Refused):
    """The client takes no format that there is."""

    reason = "NotAcceptable"


class RequestEntityTooLarge(Refused):
    """The body is larger than any object may be."""

    reason = "RequestEntityTooLarge"


class UnsupportedMediaType(Refused):
    """The body is in a format that is not taken."""

    reason = "UnsupportedMediaType"


class InternalError(Refused):
    """A defect of ganger; the log of the server has the details."""

    reason = "InternalError"


def bad_value(field: str, value: object, rule: str) -> BadRequest:
    """The refusal of a value in a request: the field, what was given, and what it should be."""
    return BadRequest(f"{field}: Invalid value: {json.dumps(value, default=str)}: {rule}")


def bad_parameter(error: RequestValidationError) -> BadRequest:
    """The refusal of a parameter that FastAPI has found wrong."""
    first = error.errors()[0]
    return wrong_field(str(first["loc"][-1]), first)


def wrong_field(field: str, found: Mapping[str, Any]) -> BadRequest:
    """The refusal of `field`, of which pydantic has `found` something wrong."""
    if found["type"] == "missing":
        return BadRequest(f"{field}: Required value")
    if found["type"] == "extra_forbidden":
        return BadRequest(f"{field}: there is no such field")
    return bad_value(field, found["input"], found["msg"].replace("Input should be", "must be"))


def no_such_route() -> NotFound:
    """The refusal of a path that leads nowhere."""
    return NotFound(_NO_ROUTE)


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with a Status."""
    app.add_exception_handler(GangerError, ganger_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid_parameter)
    app.add_exception_handler(Exception, _defect)


def status_reply(error: GangerError) -> Response:
    """`error` as a response."""
    return json_reply(status_body(error), code=status_code(error))


async def ganger_error(request: Request, error: Exception) -> Response:
    """What `error`, a GangerError, is answered with; faults of the server are logged."""
    assert isinstance(error, GangerError)
    reply = status_reply(error)
    if reply.status_code >= 500:
        log.error("%s %s: %s", request.method, request.url.path, error)
    return reply


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    match error.status_code:
        case 404:
            return status_reply(no_such_route())
        case 405:
            reply = status_reply(MethodNotAllowed(_NO_METHOD))
            reply.headers.update(error.headers or {})
            return reply
        case _:
            return status_reply(BadRequest(str(error.detail)))


async def _invalid_parameter(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return status_reply(bad_parameter(error))


async def _defect(request: Request, error: Exception) -> Response:
    return status_reply(
        InternalError(f"an internal error of ganger: {type(error).__name__}; see the server's log")
    )
