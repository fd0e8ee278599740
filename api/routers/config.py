"""The scheduler's configuration, now or as of a moment."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from api import writing
from api.bodies import MEDIA_TYPES, read_manifest
from api.clusters import Existing, PerhapsNew
from api.queries import At, looking
from api.replies import json_reply
from api.routers.objects import DryRun
from api.schemas import Configuration, answers
from domain.configuration import CONFIGURATION, configuration_of

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])

_BODY = {media_type: {"schema": Configuration.model_json_schema()} for media_type in MEDIA_TYPES}


@router.get("/config", summary="The configuration in force", responses=answers(Configuration, 400, 404, 410))
def config(served: Existing, at: At = None) -> Response:
    """As a KubeSchedulerConfiguration that PUT takes."""
    with looking(served.cluster, at) as (state, _):
        in_force = configuration_of(state.config)
    return json_reply(in_force)


@router.put(
    "/config",
    summary="Configure the scheduler",
    responses=answers(Configuration, 400, 413, 415, 422),
    openapi_extra={"requestBody": {"required": True, "content": _BODY}},
)
async def configure(request: Request, served: PerhapsNew, dry_run: DryRun = None) -> Response:
    """Replace the whole configuration: what the body leaves out gets its default."""
    document = await read_manifest(request, CONFIGURATION, CONFIGURATION.api_version)
    return await writing.configure(served, document, dry_run=writing.is_dry_run(dry_run))
