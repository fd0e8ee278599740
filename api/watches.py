"""Watches as they are asked for: `watch=true` on a list."""

from collections.abc import AsyncIterator
from typing import Final

from fastapi.responses import Response, StreamingResponse

from api.clusters import Served
from api.list_options import check_watch
from api.listing import list_objects
from api.queries import check_reached
from api.reading import ListQuery, position_of, selection_of
from api.replies import JSON
from api.resource import Resource
from api.tables import Tables
from api.watching import INITIAL_EVENTS_END, Form, Watch, bookmark, error_line, object_line, too_old, watch
from domain.errors import Expired
from worker.cluster import Cluster

LONGEST_S: Final = 3600.0
"""Seconds after which a watch ends that is not given a time."""

_HEADERS: Final = {"Cache-Control": "no-cache, private", "X-Accel-Buffering": "no"}


def watch_reply(
    served: Served, resource: Resource, namespace: str | None, query: ListQuery, tables: Tables
) -> Response:
    """A stream of changes, one line each, from a position on or from the objects that there are.

    Raises BadRequest and Invalid; that the position is out of reach is said in the stream, as in Kubernetes.
    """
    check_watch(query)
    asked = Watch(
        resource=resource,
        selection=selection_of(resource, namespace, query),
        bookmarks=query.allow_watch_bookmarks,
        timeout_s=query.timeout_seconds or LONGEST_S,
        form=_in_tables(served, resource, tables) if tables.wanted else dict,
    )
    position = position_of(query.resource_version or "0")
    try:
        check_reached(served.cluster, position, "resourceVersion")
        if _begins_with_what_there_is(query, position):
            first, position = _what_there_is(served, asked, query)
        else:
            first, position = b"", _beginning(served.cluster, position)
    except Expired as error:
        return Response(error_line(error), media_type=JSON)
    return StreamingResponse(_stream(served, asked, first, position), media_type=JSON, headers=_HEADERS)


async def _stream(served: Served, asked: Watch, first: bytes, position: int) -> AsyncIterator[bytes]:
    if first:
        yield first
    async for lines in watch(served.broadcast, asked, position):
        yield lines


def _in_tables(served: Served, resource: Resource, tables: Tables) -> Form:
    return lambda shown: tables.of_one(resource, shown, served.cluster.clock.now())


def _begins_with_what_there_is(query: ListQuery, position: int) -> bool:
    if query.send_initial_events is None:
        return position == 0
    return query.send_initial_events


def _beginning(cluster: Cluster, position: int) -> int:
    """The position after which changes are told; 0 is now. Raises Expired if the log begins later."""
    oldest = cluster.log.begins_after()
    if 0 < position < oldest:
        raise too_old(position, oldest)
    return position or cluster.log.head().position


def _what_there_is(served: Served, asked: Watch, query: ListQuery) -> tuple[bytes, int]:
    """The objects as if each had just been added, and the position that they are as of."""
    page = list_objects(served.cluster, asked.selection)
    lines = [object_line("ADDED", asked, manifest) for manifest in page.items]
    if query.send_initial_events and asked.bookmarks:
        lines.append(bookmark(asked.resource, page.position, {INITIAL_EVENTS_END: "true"}))
    return b"".join(lines), page.position
