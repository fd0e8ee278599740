"""Refusals as Kubernetes answers them: a `Status` object, and the HTTP code that goes with it.

Source: metav1.Status; k8s.io/apimachinery, api/errors.
"""

from typing import Any

from domain.errors import CorruptLog, GangerError, PositionConflict, Refused
from store.errors import StoreError, StreamNotEmpty

_CODES = {
    "BadRequest": 400,
    "Forbidden": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "NotAcceptable": 406,
    "AlreadyExists": 409,
    "Conflict": 409,
    "Expired": 410,
    "RequestEntityTooLarge": 413,
    "UnsupportedMediaType": 415,
    "Invalid": 422,
    "InternalError": 500,
    "ServiceUnavailable": 503,
}


def status_reason(error: GangerError) -> str:
    """The reason of a Status for `error`: a refusal's own, else what it means to a client."""
    match error:
        case Refused():
            return error.reason
        case PositionConflict():
            return "Conflict"
        case StreamNotEmpty():
            return "AlreadyExists"
        case CorruptLog():
            return "InternalError"
        case StoreError():
            return "ServiceUnavailable"
        case _:
            return "InternalError"


def status_code(error: GangerError) -> int:
    """The HTTP code that Kubernetes answers `error` with."""
    return _CODES[status_reason(error)]


def status_body(error: GangerError) -> dict[str, Any]:
    """`error` as a Status object."""
    body: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": str(error),
        "reason": status_reason(error),
    }
    if isinstance(error, Refused) and (details := _details(error)):
        body["details"] = details
    body["code"] = status_code(error)
    return body


def _details(error: Refused) -> dict[str, Any]:
    causes = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in error.causes
    ]
    details = {"name": error.name, "group": error.group, "kind": error.kind, "causes": causes}
    return {key: value for key, value in details.items() if value}
