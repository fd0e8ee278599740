"""What differs between two moments."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from api.clusters import Existing
from api.queries import moment
from api.replies import json_reply
from api.schemas import StateDifference, answers
from worker.comparing import compare
from worker.moments import FORMS

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])

From = Annotated[str, Query(alias="from", description=FORMS)]
To = Annotated[str | None, Query(alias="to", description=f"{FORMS}; now if left out")]


@router.get(
    "/diff", summary="What differs between moments", responses=answers(StateDifference, 400, 404, 410)
)
def diff(served: Existing, since: From, until: To = None) -> Response:
    """Objects that came, went or changed, and who entered or left which lane."""
    cluster = served.cluster
    first = moment(cluster, since, "from")
    return json_reply(compare(cluster, first, None if until is None else moment(cluster, until, "to")))
