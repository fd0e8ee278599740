"""The pages and their addresses, below `/ui`."""

from collections.abc import Callable, Coroutine, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, Field

from api.clusters import Existing, Served
from api.errors import bad_parameter, bad_value, ganger_error
from api.pages.links import ROOT, Links
from api.pages.lists import LISTED, listing, members_of
from api.pages.templating import html
from api.prefix import KEY
from api.queries import looking
from api.subjects import kind_in_path, subject_of
from domain.admission.kinds import Kind, not_found
from domain.errors import GangerError, NotFound
from domain.explanation import LEVELS
from domain.state import State
from domain.times import rfc3339_micro
from domain.waiting import waiting_line
from domain.whathelps.budget import DEADLINE_S
from store.tables import ATTEMPT
from worker.cluster import Cluster
from worker.explaining import until, why
from worker.history import Entry, attempt_of, entries, events_of
from worker.moments import FORMS
from worker.status import status_code

ROWS: Final = 200
"""In a list, at most; and entries of a history, or decisions."""

MEMBERS: Final = 50
"""Of a group or on a node, at most."""

At = Annotated[str | None, BeforeValidator(lambda text: text or None), Query(description=f"as of {FORMS}")]
"""A form that is left empty asks for now."""
After = Annotated[int, Query(ge=0)]


class _PageRoute(APIRoute):
    """A route whose errors are pages, too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def page(request: Request) -> Response:
            try:
                return await answer(request)
            except RequestValidationError as wrong:
                return await _error_page(request, bad_parameter(wrong))
            except GangerError as error:
                return await _error_page(request, error)

        return page


class _ObjectQuery(BaseModel):
    """What of an object's page is asked for; `after` leaves out events up to this position."""

    at: At = None
    level: int = 1
    after: int = Field(0, ge=0)


ObjectQuery = Annotated[_ObjectQuery, Query()]

router = APIRouter(prefix=ROOT, include_in_schema=False, route_class=_PageRoute)
front_door = APIRouter(include_in_schema=False)


@front_door.get("/")
async def home(request: Request) -> Response:
    """A browser that is sent to the server finds the page."""
    return RedirectResponse(Links(request, None).to())


@router.get("/style.css")
async def style() -> Response:
    """How the pages look."""
    return FileResponse(Path(__file__).with_name("style.css"), media_type="text/css")


@router.get("")
def queue(request: Request, served: Existing, at: At = None, after: After = 0) -> Response:
    """What waits, lane by lane; `after` leaves out so many."""
    with looking(served.cluster, at) as (state, now):
        every = waiting_line(state, now).waiters
        page = _Page(request, at, state, now)
    waiters = every[after : after + ROWS]
    more = after + ROWS if len(every) > after + ROWS else None
    return page.html("queue.html", title="Queue", waiters=waiters, total=len(every), more=more)


@router.get("/decisions")
def decisions(
    request: Request,
    served: Existing,
    at: At = None,
    before: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    """Every attempt, newest first."""
    with looking(served.cluster, at) as (state, now):
        page = _Page(request, at, state, now)
    last = page.position if before is None else min(before - 1, page.position)
    found = list(_decisions(served.cluster, last, limit=ROWS + 1))
    return page.html("decisions.html", title="Decisions", decisions=found[:ROWS], more=len(found) > ROWS)


@router.get("/find")
def find(request: Request, served: Existing, object: str = "", at: At = None) -> Response:  # noqa: A002
    """To the page of the object that the search field names."""
    return RedirectResponse(Links(request, at).of(subject_of(object.strip())))


@router.get("/{kind}")
def objects(request: Request, served: Existing, kind: str, at: At = None, after: str = "") -> Response:
    """All objects of a kind."""
    wanted = next((each for each in LISTED if each.plural == kind), None)
    if wanted is None:
        raise NotFound(f"there is no list of {kind}: there are {', '.join(each.plural for each in LISTED)}")
    with looking(served.cluster, at) as (state, now):
        found = listing(state, wanted, now, after=after, limit=ROWS)
        page = _Page(request, at, state, now)
    return page.html("objects.html", title=f"{wanted.name}s", kind=wanted, listing=found)


@router.get("/namespaces/{namespace}/{kind}/{name}")
def one(
    request: Request, served: Existing, namespace: str, kind: str, name: str, query: ObjectQuery
) -> Response:
    """Why an object is where it is, and its history."""
    found = kind_in_path(kind, namespaced=True)
    return _object(request, served, found, found.key_of(namespace, name), query)


@router.get("/{kind}/{name}")
def one_cluster_wide(
    request: Request, served: Existing, kind: str, name: str, query: ObjectQuery
) -> Response:
    """The same for nodes and other kinds that are in no namespace."""
    return _object(request, served, kind_in_path(kind, namespaced=False), name, query)


def _object(request: Request, served: Served, kind: Kind, key: str, query: _ObjectQuery) -> Response:
    at, level, after = query.at, query.level, query.after
    if level not in LEVELS[1:]:
        raise bad_value("level", level, f"must be one of {', '.join(map(str, LEVELS[1:]))}")
    cluster, subject = served.cluster, f"{kind.name}/{key}"
    with looking(served.cluster, at) as (state, now):
        page = _Page(request, at, state, now)
        members = members_of(state, kind, key, limit=MEMBERS)
    position = None if at is None else page.position
    told = why(cluster, kind, key, position=position, now=now, level=level, budget=until(DEADLINE_S))
    stored = list(events_of(cluster.log, kind, key, after=after, until=page.position, limit=ROWS + 1))
    if not stored and after == 0:
        raise not_found(kind, key.rpartition("/")[2])
    return page.html(
        "object.html",
        title=told.object.title,
        subject=subject,
        told=told,
        level=level,
        levels=LEVELS[1:],
        members=members,
        history=list(entries(stored[:ROWS], subject, cluster.event)),
        more=stored[ROWS - 1].position if len(stored) > ROWS else None,
    )


class _Decision(NamedTuple):
    entity: str
    entry: Entry


def _decisions(cluster: Cluster, until: int, *, limit: int) -> Iterator[_Decision]:
    """The attempts up to position `until`, newest first."""
    event_at = cache(cluster.event)  # many found the same as one before
    for stored in cluster.log.of_type(ATTEMPT, until=until, limit=limit, newest_first=True):
        entity = attempt_of(stored).entity
        yield _Decision(entity, next(entries([stored], entity, event_at)))


class _Page:
    """What all pages show: which cluster it is, and as of when."""

    def __init__(self, request: Request, at: str | None, state: State, now: int) -> None:
        self.position = state.position
        self._values = _frame(request, at) | {"position": state.position, "time": rfc3339_micro(now)}

    def html(self, template: str, **values: object) -> Response:
        return html(template, self._values | values)


def _frame(request: Request, at: str | None) -> dict[str, object]:
    return {
        "cluster": request.scope.get(KEY, request.app.state.clusters.default),
        "links": Links(request, at),
        "now": Links(request, None),
        "here": request.url.path,
        "at": at,
        "kinds": LISTED,
        "position": None,
    }


async def _error_page(request: Request, error: GangerError) -> Response:
    await ganger_error(request, error)  # which logs what is the server's fault
    values = _frame(request, None) | {"title": "Not shown", "error": str(error)}
    return html("error.html", values, code=status_code(error))
