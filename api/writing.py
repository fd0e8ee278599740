"""Requests that change something: what is asked of the cluster, and what is answered."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fastapi.responses import Response

from api.clusters import Served
from api.deleting import DeleteOptions, Deletion, gone
from api.errors import bad_value
from api.listing import Page
from api.patches import Change
from api.queries import MOST_INT64
from api.reading import body_of
from api.replacing import Replacing, name_of
from api.replies import json_reply
from api.resource import Resource
from api.unknown_fields import UnknownFields
from domain.configuration import CONFIGURATION
from domain.errors import BadRequest, NotFound
from worker.batch import Batch, Outcome
from worker.requests import Answer


async def create(
    served: Served, unknown: UnknownFields, namespace: str | None, manifest: dict[str, Any], *, dry_run: bool
) -> Response:
    """201 and the object as it is now. Raises a Refused if it is not taken."""
    resource = unknown.resource
    unknown.check(manifest)
    answer = await _ask(
        served,
        lambda batch: unknown.settle(batch.create(manifest, namespace=namespace)),
        about=_about(resource, namespace, name_of(manifest)),
        dry_run=dry_run,
    )
    return _shown(resource, answer, code=201)


async def replace(
    served: Served,
    unknown: UnknownFields,
    namespace: str | None,
    name: str,
    change: Change,
    *,
    status: bool,
    dry_run: bool,
) -> Response:
    """The object as it is now, replaced by `change` of it; with `status` that alone. Raises a Refused."""
    resource = unknown.resource
    replacing = Replacing(namespace, name, change, unknown, status=status)
    answer = await _ask(served, replacing, about=_about(resource, namespace, name), dry_run=dry_run)
    if answer.shown is None:  # its last finalizer went, and itself with it
        return json_reply(resource.shown(replacing.manifest), warnings=answer.outcome.warnings)
    return _shown(resource, answer)


async def delete(
    served: Served,
    resource: Resource,
    namespace: str | None,
    name: str,
    options: DeleteOptions,
    *,
    dry_run: bool,
) -> Response:
    """What is left of the object, or that it is gone. Raises NotFound, Conflict, Forbidden."""
    kind = resource.kind
    grace = options.grace_period_seconds
    if grace is not None and grace < 0:
        raise bad_value("gracePeriodSeconds", grace, "must be greater than or equal to 0")
    if grace is not None and grace > MOST_INT64:
        raise bad_value("gracePeriodSeconds", grace, f"must be less than or equal to {MOST_INT64}")
    deletion = Deletion(kind, kind.key_of(namespace, name), grace=grace, preconditions=options.preconditions)
    answer = await _ask(served, deletion, about=_about(resource, namespace, name), dry_run=dry_run)
    if answer.shown is None:
        return json_reply(gone(resource, deletion.before))
    return _shown(resource, answer)


async def delete_all(
    served: Served, resource: Resource, found: Page, options: DeleteOptions, *, dry_run: bool
) -> Response:
    """The objects of `found` as they were, each of them deleted by itself. Raises as `delete`."""

    async def delete_one(manifest: dict[str, Any]) -> None:
        metadata = manifest["metadata"]
        with suppress(NotFound):  # somebody else was quicker
            namespace, name = metadata.get("namespace"), metadata["name"]
            await delete(served, resource, namespace, name, options, dry_run=dry_run)

    await asyncio.gather(*map(delete_one, found.items))
    return json_reply(body_of(found, resource))


async def configure(served: Served, document: dict[str, Any], *, dry_run: bool) -> Response:
    """The configuration that is in force then. Raises Invalid."""
    answer = await _ask(
        served, lambda batch: batch.configure(document), about=CONFIGURATION.name, dry_run=dry_run
    )
    return json_reply(answer.outcome.object, warnings=answer.outcome.warnings)


def is_dry_run(values: list[str] | None) -> bool:
    """Whether `dryRun` asks for that. Raises BadRequest for a value other than All."""
    for value in values or ():
        if value != "All":
            raise BadRequest(f'dryRun: Unsupported value: "{value}": supported values: "All"')
    return bool(values)


async def _ask(
    served: Served, admit: Callable[[Batch], Outcome], *, about: str | None, dry_run: bool
) -> Answer:
    future = served.requests.submit(admit, about=about, dry_run=dry_run)
    # Shielded: what was asked for is done, also if the client does not wait for the answer.
    return await asyncio.shield(asyncio.wrap_future(future))


def _shown(resource: Resource, answer: Answer, code: int = 200) -> Response:
    assert answer.shown is not None
    return json_reply(resource.shown(answer.shown), code=code, warnings=answer.outcome.warnings)


def _about(resource: Resource, namespace: str | None, name: str | None) -> str | None:
    return None if name is None else f"{resource.kind.name}/{resource.kind.key_of(namespace, name)}"
