"""What waits, now or as of a moment."""

from fastapi import APIRouter
from fastapi.responses import Response

from api.clusters import Existing
from api.queries import At, moment
from api.replies import json_reply
from api.schemas import WaitingLine, answers
from domain.waiting import waiting_line

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])


@router.get("/queue", summary="What waits", responses=answers(WaitingLine, 400, 404, 410))
def queue(served: Existing, at: At = None) -> Response:
    """Lane by lane, in the order in which it will be tried."""
    cluster = served.cluster
    if at is not None:
        then = moment(cluster, at)
        return json_reply(waiting_line(cluster.state_at(then.position), then.now))
    with cluster.lock:
        cluster.refresh()
        line = waiting_line(cluster.state, max(cluster.clock.now(), cluster.state.at))
    return json_reply(line)
