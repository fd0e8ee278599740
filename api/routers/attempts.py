"""The decisions: every attempt, with what it found and what was decided."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query
from fastapi.responses import Response

from api.clusters import Existing
from api.errors import bad_value
from api.queries import After, Limit, Position, check_reached
from api.replies import bytes_reply, item, items_body
from api.schemas import AttemptPage, AttemptRecord, answers
from api.subjects import subject_of
from domain.envelope import decode_line
from domain.errors import NotFound
from domain.summaries import OUTCOMES
from store.chain import StoredEvent
from store.log import EventLog
from store.tables import ATTEMPT

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])


class _Payload(msgspec.Struct, rename="camel"):
    """The part of an attempt that is filtered by, or leads on."""

    entity: str
    outcome: str
    same_as: int | None = None


class _Line(msgspec.Struct):
    payload: _Payload


_decode = msgspec.json.Decoder(_Line).decode

Before = Annotated[int | None, Query(ge=1, description="only attempts before this position")]
Entity = Annotated[str | None, Query(description="only attempts of this entity: PodGroup/default/trainer")]
Outcome = Annotated[str | None, Query(description=f"only attempts that ended so: {', '.join(OUTCOMES)}")]


@router.get(
    "/attempts",
    summary="Attempts, newest first",
    responses=answers(AttemptPage, 400, 404, 410),
)
def attempts(
    served: Existing,
    entity: Entity = None,
    outcome: Outcome = None,
    after: After = 0,
    before: Before = None,
    limit: Limit = 100,
) -> Response:
    """Each with what it found; what was decided with it is under its position."""
    if outcome is not None and outcome not in OUTCOMES:
        raise bad_value("outcome", outcome, f"must be one of {', '.join(OUTCOMES)}")
    check_reached(served.cluster, after, "after")
    until = None if before is None else before - 1
    subject = None if entity is None else subject_of(entity)
    found = _attempts(served.cluster.log, subject, outcome, after, until)
    page = list(islice(found, limit))
    more = len(page) == limit and next(found, None) is not None
    return bytes_reply(items_body(page, next=page[-1].position if more else None))


@router.get(
    "/attempts/{position}",
    summary="One decision",
    responses=answers(AttemptRecord, 400, 404),
)
def attempt(served: Existing, position: Position) -> Response:
    """The attempt at a position, what was decided with it, and the findings it refers to."""
    log = served.cluster.log
    event = log.get(position)
    if event is None or event.type != ATTEMPT:
        raise NotFound(f'attempts "{position}" not found', name=str(position), kind="attempts")
    same_as = _decode(event.line).payload.same_as
    findings = None if same_as is None else log.get(same_as)
    body = b'{"attempt":%b,"decided":[%b],"findings":%b}' % (
        item(event),
        b",".join(map(item, _rest_of_batch(log, position))),
        b"null" if findings is None else item(findings),
    )
    return bytes_reply(body)


def _attempts(
    log: EventLog, subject: str | None, outcome: str | None, after: int, until: int | None
) -> Iterator[StoredEvent]:
    """The attempts after `after` up to `until` that are asked for, newest first."""
    if subject is None:
        found = log.of_type(ATTEMPT, after=after, until=until, newest_first=True)
    else:
        found = log.history(subject, after=after, until=until, newest_first=True)
    for event in found:
        if event.type == ATTEMPT:
            payload = _decode(event.line).payload
            if outcome in (None, payload.outcome) and subject in (None, payload.entity):
                yield event


def _rest_of_batch(log: EventLog, first: int) -> Iterator[StoredEvent]:
    for event in log.read(first):
        if decode_line(event.line).batch != first:
            return
        yield event
