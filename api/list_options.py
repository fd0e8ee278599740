"""Which parameters of a list or a watch do not go together, in Kubernetes' words.

Source: k8s.io/apimachinery 1.37, ValidateListOptions.
"""

from typing import Final

from api.errors import bad_value
from api.reading import ListQuery
from domain.admission import faults
from domain.admission.kinds import Kind
from domain.errors import Cause

_EXACT: Final = "Exact"
_NOT_OLDER_THAN: Final = "NotOlderThan"
_OPTIONS: Final = Kind(
    name="ListOptions", group="meta.k8s.io", versions=("v1",), plural="listoptions", short=()
)


def check_list(query: ListQuery) -> None:
    """Raise Invalid for what a list cannot be asked."""
    found = []
    if match := query.resource_version_match:
        if not query.resource_version:
            found.append(_no_match("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if query.resume:
            found.append(_no_match("resourceVersionMatch is forbidden when continue is provided"))
        if match not in (_EXACT, _NOT_OLDER_THAN):
            found.append(faults.not_supported("resourceVersionMatch", match, [_EXACT, _NOT_OLDER_THAN, ""]))
        if match == _EXACT and query.resource_version == "0":
            found.append(_no_match('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if query.send_initial_events is not None:
        found.append(faults.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    _refuse(found)


def check_watch(query: ListQuery) -> None:
    """Raise Invalid for what a watch cannot be asked, BadRequest for one of the past."""
    if query.at is not None:
        raise bad_value("at", query.at, "a watch is of the present: it begins at a resourceVersion")
    found = []
    match = query.resource_version_match or ""
    if query.send_initial_events is not None and match != _NOT_OLDER_THAN:
        found.append(
            _no_match(f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER_THAN}")
        )
    if match and query.send_initial_events is None:
        found.append(
            _no_match("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        )
    if match and match != _NOT_OLDER_THAN:
        found.append(faults.not_supported("resourceVersionMatch", match, [_NOT_OLDER_THAN]))
    _refuse(found)


def _no_match(detail: str) -> Cause:
    return faults.forbidden("resourceVersionMatch", detail)


def _refuse(found: list[Cause]) -> None:
    if found:
        raise faults.refusal(_OPTIONS, "", found)
