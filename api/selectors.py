"""Label and field selectors of a request: `labelSelector` and `fieldSelector`.

Source: k8s.io/apimachinery, fields.ParseSelector.
"""

import re
from collections.abc import Mapping
from typing import Any

from api.errors import bad_value
from domain import label_selectors
from domain.errors import BadRequest
from domain.label_selectors import LabelSelector, Requirement

FieldSelector = tuple[Requirement, ...]

_FIELD = re.compile(r"(?P<key>[^\s!=]+?)(?P<operator>==|!=|=)(?P<value>.*)")

_COMMON_FIELDS = ("metadata.name", "metadata.namespace")
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS = {
    "Pod": (
        *_COMMON_FIELDS,
        "spec.nodeName",
        "spec.schedulerName",
        "spec.restartPolicy",
        "status.phase",
        "status.nominatedNodeName",
    ),
    "Node": ("metadata.name", "spec.unschedulable"),
    "Event": (
        *_COMMON_FIELDS,
        *(f"involvedObject.{field}" for field in _REFERENCE),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "Event.events.k8s.io": (
        *_COMMON_FIELDS,
        *(f"regarding.{field}" for field in _REFERENCE),
        "reason",
        "reportingController",
        "type",
    ),
}

_DEFAULTS = {"spec.unschedulable": "false"}
_STANDS_FOR = {"source": "reportingComponent"}
"""Fields whose value is that of another one: an Event of the newer API has no source."""


def parse_labels(text: str) -> LabelSelector:
    """The label selector in `text`; an empty one selects everything. Raises BadRequest."""
    try:
        return label_selectors.parse_labels(text)
    except ValueError as error:
        raise bad_value("labelSelector", text, str(error)) from error


def parse_fields(text: str, kind: str) -> FieldSelector:
    """The field selector in `text` for objects of `kind` (`Pod`, `Event.events.k8s.io`).

    Raises BadRequest, also for unknown fields.
    """
    return tuple(_field_requirement(part, text, kind) for part in text.split(",") if part)


def selects_fields(selector: FieldSelector, manifest: Mapping[str, Any]) -> bool:
    """Whether the fields of `manifest` meet every requirement; a missing one counts as empty."""
    return all(requirement.test(_field(manifest, requirement.key)) for requirement in selector)


def only_value(selector: FieldSelector, key: str) -> str | None:
    """The value that the field `key` must have, None if it may have several."""
    return next((each.only for each in selector if each.key == key and each.only is not None), None)


def _field_requirement(part: str, text: str, kind: str) -> Requirement:
    match = _FIELD.fullmatch(part.strip())
    if match is None:
        raise bad_value("fieldSelector", text, f"invalid selector: {part!r}; can't understand {part!r}")
    key, value, wanted = match["key"], match["value"], match["operator"] != "!="
    known = _FIELDS.get(kind, _COMMON_FIELDS)
    if key not in known:
        raise BadRequest(f"field label not supported: {key} (it is one of {', '.join(known)})")
    return Requirement(key, lambda found: ((found or "") == value) == wanted, value if wanted else None)


def _field(manifest: Mapping[str, Any], path: str) -> str:
    value: Any = manifest
    for name in _STANDS_FOR.get(path, path).split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if value is None:
        return _DEFAULTS.get(path, "")
    return str(value).lower() if isinstance(value, bool) else str(value)
