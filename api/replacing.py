"""PUT and PATCH: an object that is there is replaced by what a client has made of it."""

from collections.abc import Mapping
from typing import Any

from api.bodies import check_type
from api.patches import Change
from api.unknown_fields import UnknownFields
from domain.admission.kinds import not_found
from domain.errors import BadRequest
from worker.batch import Batch, Outcome, Read


class Replacing:
    """A request to replace one object by `change` of it as it is shown, or with `status` its status alone.

    `manifest` is what it was replaced by, once that has been admitted.
    """

    def __init__(
        self, namespace: str | None, name: str, change: Change, unknown: UnknownFields, *, status: bool
    ) -> None:
        self.manifest: Mapping[str, Any] = {}
        self._resource = unknown.resource
        self._namespace = namespace
        self._name = name
        self._change = change
        self._unknown = unknown
        self._status = status

    def __call__(self, batch: Batch) -> Outcome:
        kind = self._resource.kind
        key = kind.key_of(self._namespace, self._name)
        found = batch.read(kind.name, key)
        if found is None:
            raise not_found(kind, self._name)
        changed = self._change(self._resource.shown(found.shown))
        if not isinstance(changed, dict):
            raise BadRequest("error decoding patch: what it leaves is no object")
        check_type(changed, kind, self._resource.api_version)
        check_name(changed, self._name)
        self._unknown.check(changed, None if self._unknown.patch is None else found.stored)
        manifest = with_status_as_stored(changed, found)
        replace = batch.replace_status if self._status else batch.replace
        outcome = replace(manifest, namespace=self._namespace)
        self.manifest = manifest
        return self._unknown.settle(outcome)


def by_manifest(manifest: dict[str, Any], name: str) -> Change:
    """The change that leaves `manifest`, whatever there was. Raises BadRequest if it has another `name`."""
    check_name(manifest, name)
    return lambda _: manifest


def check_name(manifest: Mapping[str, Any], name: str) -> None:
    """Raise BadRequest if `manifest` has another name than the path."""
    found = name_of(manifest)
    if not found:
        raise BadRequest(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if found != name:
        raise BadRequest(f"the name of the object ({found}) does not match the name on the URL ({name})")


def name_of(manifest: Mapping[str, Any]) -> str | None:
    """The name, None if there is none yet; what is wrong with it is admission's to say."""
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) and name else None


def with_status_as_stored(manifest: Mapping[str, Any], found: Read) -> dict[str, Any]:
    """`manifest`, made from an object as it is shown, with what ganger adds to a status taken off again.

    So the object does not keep as observed what follows from the log, and a change that changes nothing
    is none.
    """
    status, before = manifest.get("status"), found.shown.get("status") or {}
    if not isinstance(status, Mapping):
        return dict(manifest)
    if status == before:
        without = {name: value for name, value in manifest.items() if name != "status"}
        return {**without, "status": found.stored["status"]} if "status" in found.stored else without
    kept = found.stored.get("status") or {}
    changed = {name: _without_ours(given, before.get(name), kept.get(name)) for name, given in status.items()}
    return {**manifest, "status": changed}


def _without_ours(given: Any, shown: Any, stored: Any) -> Any:
    """A field of a status; a list without the items that are `shown` and not `stored`."""
    if not isinstance(given, list) or not isinstance(shown, list):
        return given
    ours = [item for item in shown if item not in (stored or ())]
    return [item for item in given if item not in ours]
