"""Patches: what a PATCH may be written in, and what each form makes of an object.

Sources: RFC 6902 (JSON patch), RFC 7386 (merge patch); k8s.io/apiserver, endpoints/handlers.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from fastapi import Request
from jsonpatch import JsonPatch, JsonPatchException
from jsonpointer import JsonPointer, JsonPointerException

from api.bodies import LIMIT, media_type_of, read_body, unknown_format
from api.errors import RequestEntityTooLarge
from api.merge_keys import rules_of
from api.strategic_merge import strategic_merge
from domain.admission.documents import is_too_deep, read_value
from domain.admission.kinds import Kind
from domain.errors import BadRequest, Cause, Invalid

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH)

_APPLY: Final = ("application/apply-patch+yaml", "application/apply-patch+cbor")
_NO_APPLY: Final = " (server-side apply is not there: ganger does not track who owns a field)"

MOST_OPERATIONS: Final = 10_000
"""Of one JSON patch, as in Kubernetes."""

Change: TypeAlias = Callable[[dict[str, Any]], Any]
"""What is made of an object, which stays as it is. Raises a Refused if that cannot be done."""


@dataclass(frozen=True)
class Patch:
    """A patch: its text, and what it does."""

    text: str
    change: Change


async def read_patch(request: Request, kind: Kind) -> Patch:
    """The patch in the body, for an object of `kind`.

    Raises UnsupportedMediaType, RequestEntityTooLarge, and BadRequest where the body is no such patch.
    """
    media_type = media_type_of(request)
    if media_type not in PATCH_TYPES:
        raise unknown_format(PATCH_TYPES, _NO_APPLY if media_type in _APPLY else "")
    body = await read_body(request)
    change = _change(read_value(body, "error decoding patch"), media_type, kind)
    return Patch(body.decode("utf-8-sig"), change)


def _change(patch: Any, media_type: str, kind: Kind) -> Change:
    if media_type == JSON_PATCH:
        return _json_patch(patch)
    if not isinstance(patch, dict):
        raise BadRequest("error decoding patch: it must be an object")
    if media_type == MERGE_PATCH:
        return lambda current: merge_patch(current, patch)
    rules = rules_of(kind)
    return lambda current: strategic_merge(current, patch, rules)


def merge_patch(current: Any, patch: Any) -> Any:
    """`current` as a JSON merge patch changes it."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(current) if isinstance(current, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def _json_patch(patch: Any) -> Change:
    """Raises BadRequest if `patch` is no list of operations."""
    if not isinstance(patch, list):
        raise BadRequest("error decoding patch: it must be a list of operations")
    if len(patch) > MOST_OPERATIONS:
        raise RequestEntityTooLarge(
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(patch)}"
        )
    try:
        operations = [JsonPatch([operation]) for operation in patch]
    except (JsonPatchException, JsonPointerException) as error:
        raise BadRequest(f"error decoding patch: {error}") from error
    return lambda current: _operated(current, operations)


def _operated(current: dict[str, Any], operations: list[JsonPatch]) -> Any:
    patched: Any = current
    copied = 0
    try:
        for index, operation in enumerate(operations):
            (step,) = operation.patch
            if step["op"] == "copy":
                copied += _size(JsonPointer(step["from"]).resolve(patched))
                if copied > LIMIT:
                    raise _does_not_apply(f"its copies come to more than {LIMIT} bytes")
            patched = operation.apply(patched, in_place=index > 0)
    except (JsonPatchException, JsonPointerException) as error:
        raise _does_not_apply(str(error)) from error
    if is_too_deep(patched):
        raise _does_not_apply("the object would be nested too deep")
    return patched


def _size(value: Any) -> int:
    """How many characters `value` takes as JSON, about."""
    if is_too_deep(value):
        raise _does_not_apply("the object would be nested too deep")
    return len(json.dumps(value, default=str))


def _does_not_apply(why: str) -> Invalid:
    """The refusal of a patch that this object does not take; Kubernetes does not say why."""
    return Invalid(
        "the server rejected our request due to an error in our request",
        causes=[Cause("UnexpectedServerResponse", why, "")],
    )
