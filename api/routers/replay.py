"""Checking the log: folded from nothing, and every decision made again."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from api.clusters import Existing
from api.replies import json_reply
from api.schemas import Replay, answers
from worker.replaying import StoredLog, replay, report_of, snapshots_of

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])

AgainstCurrent = Annotated[
    bool,
    Query(alias="againstCurrent", description="decide attempts of other scheduler versions again, too"),
]


@router.post("/replay", summary="Check the log", responses=answers(Replay, 400, 404))
def check(served: Existing, against_current: AgainstCurrent = False) -> Response:
    """Answers once the whole log, up to where it ended at the request, has been replayed."""
    log = served.cluster.log
    result = replay(StoredLog(log), snapshots=snapshots_of(log), against_current=against_current)
    return json_reply(report_of(result))
