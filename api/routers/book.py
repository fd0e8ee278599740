"""What the book says about an object: its history, and why it is where it is."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from api.clusters import Existing
from api.errors import bad_value
from api.queries import At, check_reached, moment, time
from api.replies import bytes_reply, items_body, json_reply
from api.schemas import Explanation, LogPage, answers
from api.subjects import kind_in_path
from domain.admission.kinds import Kind, not_found
from domain.explanation import LEVELS, at_level
from domain.whathelps.budget import DEADLINE_S
from store.chain import StoredEvent
from worker.cluster import Cluster
from worker.explaining import until, why
from worker.history import events_of
from worker.moments import FORMS

router = APIRouter(prefix="/ganger/v1", tags=["ganger"])


class HistoryQuery(BaseModel):
    """Which part of a history is asked for."""

    after: int = Field(0, ge=0, description="only events after this position")
    limit: int = Field(100, ge=1, le=10_000, description="at most so many")
    since: str | None = Field(None, description=f"from this moment on: {FORMS}")
    until: str | None = Field(None, description=f"up to and with this moment: {FORMS}")
    at: str | None = Field(None, description="the same as `until`, as other reads call it")


History = Annotated[HistoryQuery, Query()]
Known = Annotated[str | None, Header(alias="if-none-match", description="the ETag of what the client has")]
Level = Annotated[
    int,
    Query(
        description="0: verdict and summary; 1: quorum, reasons by shape and the tree as well; "
        "2: nodes that are alike, placements, preemption in detail; 3: every node and every score"
    ),
]
Deadline = Annotated[
    float,
    Query(ge=0, le=50, description="for how many seconds to look for what would help; 0: not at all"),
]

_HISTORY: dict[str, Any] = {
    "summary": "History of an object",
    "responses": answers(LogPage, 400, 404, 410) | {304: {"description": "as the client has it"}},
}
_WHY: dict[str, Any] = {
    "summary": "Why an object is where it is",
    "responses": answers(Explanation, 400, 404, 410),
}


@router.get("/namespaces/{namespace}/{kind}/{name}/history", **_HISTORY)
def history(
    served: Existing, namespace: str, kind: str, name: str, query: History, known: Known = None
) -> Response:
    """Every event and attempt that concerns it, oldest first, also after it is gone."""
    found = kind_in_path(kind, namespaced=True)
    return _history(served.cluster, found, found.key_of(namespace, name), query, known)


@router.get("/{kind}/{name}/history", **_HISTORY)
def history_cluster_wide(
    served: Existing, kind: str, name: str, query: History, known: Known = None
) -> Response:
    """The same for nodes and other kinds that are in no namespace."""
    return _history(served.cluster, kind_in_path(kind, namespaced=False), name, query, known)


@router.get("/namespaces/{namespace}/{kind}/{name}/why", **_WHY)
def why_it_is(
    served: Existing,
    namespace: str,
    kind: str,
    name: str,
    at: At = None,
    level: Level = 1,
    deadline: Deadline = DEADLINE_S,
) -> Response:
    """Why it is bound, waiting, gated, unschedulable or gone, now or as of a moment."""
    found = kind_in_path(kind, namespaced=True)
    return _why(served.cluster, found, found.key_of(namespace, name), at, level, deadline)


@router.get("/{kind}/{name}/why", **_WHY)
def why_it_is_cluster_wide(
    served: Existing, kind: str, name: str, at: At = None, level: Level = 1, deadline: Deadline = DEADLINE_S
) -> Response:
    """The same for nodes and other kinds that are in no namespace."""
    return _why(served.cluster, kind_in_path(kind, namespaced=False), name, at, level, deadline)


def _history(cluster: Cluster, kind: Kind, key: str, query: HistoryQuery, known: str | None) -> Response:
    after = query.after
    check_reached(cluster, after, "after")
    since, until = time(cluster, "since", query.since), _until(cluster, query)
    if since is not None:
        after = max(after, cluster.log.position_at(since - 1))
    last = None if until is None else cluster.log.position_at(until)
    events = list(events_of(cluster.log, kind, key, after=after, until=last, limit=query.limit + 1))
    if not events and next(cluster.log.history(f"{kind.name}/{key}", limit=1), None) is None:
        raise not_found(kind, key.rpartition("/")[2])
    page, more = events[: query.limit], len(events) > query.limit
    tag = _tag(page, more=more)
    if _knows(known, tag):
        return Response(status_code=304, headers={"ETag": tag})
    reply = bytes_reply(items_body(page, next=page[-1].position if more else None))
    reply.headers["ETag"] = tag
    return reply


def _until(cluster: Cluster, query: HistoryQuery) -> int | None:
    """The time up to which is asked, by either of its names. Raises as `moment` does."""
    if query.at is None:
        return time(cluster, "until", query.until)
    if query.until is not None:
        raise bad_value("at", query.at, "it means the same as until: give one of them")
    return time(cluster, "at", query.at)


def _knows(known: str | None, tag: str) -> bool:
    """Whether what If-None-Match names is what there is (RFC 9110 §13.1.2)."""
    return known is not None and (known.strip() == "*" or tag in known)


def _tag(page: Sequence[StoredEvent], *, more: bool) -> str:
    """An ETag: where the page begins, and the hash of its last event, which vouches for all before it."""
    if not page:
        return '"0"'
    return f'"{page[0].position}-{page[-1].hash.hex()}-{more:d}"'


def _why(cluster: Cluster, kind: Kind, key: str, at: str | None, level: int, deadline: float) -> Response:
    if level not in LEVELS:
        raise bad_value("level", level, f"must be one of {', '.join(map(str, LEVELS))}")
    budget = until(deadline)
    if at is None:
        return json_reply(at_level(why(cluster, kind, key, level=level, budget=budget), level))
    then = moment(cluster, at)
    told = why(cluster, kind, key, position=then.position, now=then.now, level=level, budget=budget)
    return json_reply(at_level(told, level))
