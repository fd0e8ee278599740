"""What a change would have come to."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool

from api.bodies import MEDIA_TYPES, read_object
from api.clusters import Existing
from api.errors import bad_value, wrong_field
from api.queries import AT, moment
from api.replies import json_reply
from api.schemas import WhatIf, Wire, answers
from domain.admission.kinds import kind_named
from worker.batch import Outcome
from worker.cluster import Cluster
from worker.moments import span_of
from worker.whatif import DEADLINE_S, whatif

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])


class Target(Wire, extra="forbid"):
    """An object to delete."""

    kind: str
    namespace: str = "default"
    name: str


class Question(Wire, extra="forbid"):
    """What is to be otherwise: `configuration` first, then `delete`, then `apply`."""

    at: str | None = Field(None, description=AT)
    apply: list[dict[str, Any]] = Field([], description="manifests, as one batch")
    delete: list[Target] = Field([])
    configuration: dict[str, Any] | None = Field(None, description="a KubeSchedulerConfiguration")
    span: str | None = Field(None, alias="for", description="so long (15m), not until all is at rest")
    save: str | None = Field(None, description="keep the changed fork as a cluster of this name")
    deadline_seconds: float = Field(DEADLINE_S, ge=0, le=DEADLINE_S, description="when to cut it off")


_BODY = {media_type: {"schema": Question.model_json_schema()} for media_type in MEDIA_TYPES}


@router.post(
    "/whatif",
    summary="What a change would have come to",
    responses=answers(WhatIf, 400, 404, 409, 410, 413, 415, 422),
    openapi_extra={"requestBody": {"required": True, "content": _BODY}},
)
async def what_if(request: Request, served: Existing) -> Response:
    """The groups and single Pods that fare otherwise. The cluster is forked in memory and stays as it is."""
    question = _question(await read_object(request) or {})
    return json_reply(await run_in_threadpool(_answer, served.cluster, question))


def _answer(cluster: Cluster, question: Question) -> Any:
    def change(fork: Cluster) -> list[Outcome]:
        outcomes: list[Outcome] = []
        if question.configuration is not None:
            outcomes.append(fork.configure(question.configuration))
        if question.delete:
            kinds = [(kind_named(each.kind), each) for each in question.delete]
            outcomes += fork.delete([(kind, kind.key_of(each.namespace, each.name)) for kind, each in kinds])
        return outcomes + fork.apply(question.apply)

    return whatif(
        cluster,
        change,
        at=None if question.at is None else moment(cluster, question.at),
        span_us=_span(question.span),
        deadline_s=question.deadline_seconds,
        save=question.save,
    )


def _question(document: dict[str, Any]) -> Question:
    try:
        return Question.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        raise wrong_field(".".join(map(str, first["loc"])), first) from error


def _span(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return span_of(text)
    except ValueError as error:
        raise bad_value("for", text, str(error)) from error
