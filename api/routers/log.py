"""The book itself: its events as they are stored, its head, and following it."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from api.clusters import Existing
from api.following import MEDIA_TYPE, follow, some_of
from api.queries import After, Limit, Position, check_reached
from api.reading import position_of
from api.replies import JSON, bytes_reply, item, items_body, json_reply
from api.schemas import Entry, Head, LogPage, answers
from domain.errors import Expired
from domain.times import rfc3339_micro

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])

LINES = "application/x-ndjson"

Accept = Annotated[
    str,
    Header(
        description=f"`{JSON}` for a page, `{LINES}` for one item a line, `{MEDIA_TYPE}` to follow the log"
    ),
]
LastEventId = Annotated[
    str | None, Header(alias="last-event-id", description="the id of the last event a follower has seen")
]


_OTHER_FORMS = {form: {"schema": {"type": "string"}} for form in (LINES, MEDIA_TYPE)}


@router.get(
    "/log",
    summary="Events as stored",
    responses=answers(LogPage, 400, 404, 410) | {200: {"model": LogPage, "content": _OTHER_FORMS}},
)
async def log(
    served: Existing,
    after: After = 0,
    limit: Limit = 100,
    accept: Accept = JSON,
    last_event_id: LastEventId = None,
) -> Response:
    """Oldest first, byte for byte. Followed as server-sent events, the id of each is its position."""
    events = served.cluster.log
    if MEDIA_TYPE in accept:
        field = "Last-Event-ID" if last_event_id else "after"
        start = position_of(last_event_id, field) if last_event_id else after
        await run_in_threadpool(check_reached, served.cluster, start, field)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(follow(events, served.tail, start), media_type=MEDIA_TYPE, headers=headers)
    await run_in_threadpool(check_reached, served.cluster, after, "after")
    found = await run_in_threadpool(some_of, events, after, limit + 1)
    page = found[:limit]
    if LINES in accept:
        return Response(b"".join(item(event) + b"\n" for event in page), media_type=LINES)
    return bytes_reply(items_body(page, next=page[-1].position if len(found) > limit else None))


@router.get("/log/head", summary="The newest event", responses=answers(Head, 404))
def head(served: Existing) -> Response:
    """Position, hash and time: note the hash, and any later change of what came before it can be seen."""
    newest = served.cluster.log.head()
    return json_reply(_place(newest.position, newest.hash, newest.at))


@router.get("/log/{position}", summary="One event", responses=answers(Entry, 400, 404, 410))
def entry(served: Existing, position: Position) -> Response:
    """The event at a position."""
    event = served.cluster.log.get(position)
    if event is None:
        raise Expired(f"there is no event at position {position}")
    return json_reply(_place(event.position, event.hash, event.at) | {"event": msgspec.Raw(event.line)})


def _place(position: int, digest: bytes, at: int) -> dict[str, Any]:
    time = rfc3339_micro(at) if position else None
    return {"position": position, "hash": digest.hex(), "time": time}
