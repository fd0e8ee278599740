"""Faults of a manifest in Kubernetes' words: `<path>: <kind of fault>: <details>`.

Source: k8s.io/apimachinery, util/validation/field.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from domain.admission.kinds import Kind
from domain.errors import Cause, Forbidden, Invalid

MUST_BE_IMMUTABLE = "field is immutable"


def required(path: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", _join("Required value", detail), path)


def invalid(path: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {_shown(value)}: {detail}", path)


def immutable(path: str) -> Cause:
    """A field that may not change did; as declarative validation says it, without the value."""
    return invalid(path, None, MUST_BE_IMMUTABLE)


def forbidden(path: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", path)


def duplicate(path: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {_shown(value)}", path)


def too_many(path: str, count: int, limit: int) -> Cause:
    items = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} {items}", path)


def too_long(path: str, limit: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", path)


def not_supported(path: str, value: str, supported: Iterable[str]) -> Cause:
    values = ", ".join(f'"{name}"' for name in supported)
    return Cause(
        "FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {values}", path
    )


def not_between(path: str, value: int, low: int, high: int) -> Cause:
    return invalid(path, value, f"must be between {low} and {high}, inclusive")


def not_at_least(path: str, value: Any, least: int) -> Cause:
    return invalid(path, value, f"must be greater than or equal to {least}")


def exactly_one(path: str, given: Sequence[str], members: Sequence[str]) -> list[Cause]:
    """The fault, if any, of a union of which `given` of `members` are set."""
    names = ", ".join(f"`{member}`" for member in members)
    if not given:
        return [invalid(path, "", f"must specify one of: {names}")]
    if len(given) > 1:
        return [invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {names}")]
    return []


def refusal(kind: Kind, name: str, faults: Sequence[Cause]) -> Invalid:
    """The refusal that lists all `faults`; there is at least one."""
    text = f'{kind.qualified} "{name}" is invalid: {listed(faults)}'
    return Invalid(text, name=name, group=kind.group, kind=kind.name, causes=faults)


def listed(faults: Sequence[Cause]) -> str:
    """The texts of `faults`, in brackets if there are several."""
    texts = [str(fault) for fault in faults]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def not_admitted(kind: Kind, name: str, why: str) -> Forbidden:
    text = f'{kind.resource} "{name}" is forbidden: {why}'
    return Forbidden(text, name=name, group=kind.group, kind=kind.plural)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{_escaped(value)}"'
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _join(head: str, detail: str) -> str:
    return f"{head}: {detail}" if detail else head
