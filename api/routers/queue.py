"""What waits, now or as of a moment."""

from fastapi import APIRouter
from fastapi.responses import Response

from api.clusters import Existing
from api.queries import At, looking
from api.replies import json_reply
from api.schemas import WaitingLine, answers
from domain.waiting import waiting_line

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])


@router.get("/queue", summary="What waits", responses=answers(WaitingLine, 400, 404, 410))
def queue(served: Existing, at: At = None) -> Response:
    """Lane by lane, in the order in which it will be tried."""
    with looking(served.cluster, at) as (state, now):
        line = waiting_line(state, now)
    return json_reply(line)
