"""Deletion as clients ask for it: DeleteOptions, preconditions, and what is answered."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.errors import bad_value
from api.resource import Resource
from domain.admission.kinds import POD, Kind, conflict
from domain.errors import BadRequest
from worker.batch import Batch, Outcome


class Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    """What must hold of the object, or it is not deleted."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    """The part of DeleteOptions that means something here; `grace_period_seconds` None: the object's own.

    Nothing is owned by anything here, so propagationPolicy and orphanDependents change nothing.
    """

    grace_period_seconds: int | None = None
    preconditions: Preconditions = Preconditions()
    dry_run: list[str] = []


def read_options(body: Mapping[str, Any] | None, *, grace: int | None) -> DeleteOptions:
    """The options in a body, if there is one; `grace` of the query goes before its. Raises BadRequest."""
    options = _from_body(body or {})
    if grace is None:
        return options
    return msgspec.structs.replace(options, grace_period_seconds=grace)


def _from_body(body: Mapping[str, Any]) -> DeleteOptions:
    if body.get("kind", "DeleteOptions") != "DeleteOptions":
        raise bad_value("kind", body["kind"], "a DELETE takes DeleteOptions")
    try:
        return msgspec.convert(
            {key: value for key, value in body.items() if value is not None}, DeleteOptions
        )
    except msgspec.ValidationError as error:
        raise BadRequest(f"DeleteOptions: {error}") from error


class Deletion:
    """A request to delete one object; `before` is what there was, once it has been admitted."""

    def __init__(self, kind: Kind, key: str, *, grace: int | None, preconditions: Preconditions) -> None:
        self.before: Mapping[str, Any] = {}
        self._kind = kind
        self._key = key
        self._grace = grace
        self._preconditions = preconditions

    def __call__(self, batch: Batch) -> Outcome:
        before = batch.get(self._kind.name, self._key)
        if before is not None:
            self.before = before
            self._check(before["metadata"]["uid"], batch.resource_version(self._kind.name, self._key))
        return batch.delete(self._kind, self._key, grace=self._grace)

    @property
    def _name(self) -> str:
        return self._key.rpartition("/")[2]

    def _check(self, uid: str, version: str | None) -> None:
        wanted = self._preconditions
        if wanted.uid is not None and wanted.uid != uid:
            why = f"Precondition failed: UID in precondition: {wanted.uid}, UID in object meta: {uid}"
            raise conflict(self._kind, self._name, why)
        if wanted.resource_version is not None and wanted.resource_version != version:
            why = (
                f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the"
                f" ResourceVersion in record ({version}). The object might have been modified"
            )
            raise conflict(self._kind, self._name, why)


def gone(resource: Resource, before: Mapping[str, Any]) -> dict[str, Any]:
    """What is answered when an object went at once: a Pod as it was, else a Status."""
    kind = resource.kind
    if kind is POD:
        return resource.shown(before)
    metadata = before["metadata"]
    details = {"name": metadata["name"], "group": kind.group, "kind": kind.plural, "uid": metadata["uid"]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
