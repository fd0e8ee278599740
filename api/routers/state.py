"""A whole cluster at once, now or as of a moment."""

from fastapi import APIRouter
from fastapi.responses import Response

from api.clusters import Existing
from api.listing import Selection, list_objects
from api.queries import At, moment
from api.replies import json_reply
from api.schemas import State, answers
from domain.admission.kinds import KINDS
from domain.envelope import GENESIS
from domain.times import rfc3339_micro
from domain.waiting import waiting_line
from worker.moments import Moment

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])


@router.get("/state", summary="The whole state", responses=answers(State, 400, 404, 410))
def state(served: Existing, at: At = None) -> Response:
    """Every object as Kubernetes shows it, by resource, and what waits."""
    cluster = served.cluster
    if at is None:
        head = cluster.log.head()
        then = Moment(head.position, max(cluster.clock.now(), head.at))
    else:
        then = moment(cluster, at)
    folded = cluster.state_at(then.position)
    newest = cluster.log.get(folded.position)
    return json_reply(
        {
            "position": folded.position,
            "time": rfc3339_micro(then.now),
            "hash": (GENESIS if newest is None else newest.hash).hex(),
            "objects": {
                kind.resource: list_objects(cluster, Selection(kind), state=folded, now=then.now).items
                for kind in KINDS
            },
            "queue": waiting_line(folded, then.now),
        }
    )
