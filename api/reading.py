"""Objects as they are asked for: one, or a list."""

from typing import Any

from pydantic import BaseModel, Field

from api.errors import bad_value
from api.listing import Page, Selection, decode_continue, encode_continue, list_objects
from api.queries import AT, MOST_INT64, check_reached, moment
from api.resource import Resource
from api.selectors import parse_fields, parse_labels
from domain.admission.kinds import not_found
from domain.state import State
from worker.cluster import Cluster
from worker.moments import Moment


class Selectors(BaseModel):
    """Which objects of a list are meant."""

    label_selector: str = Field("", alias="labelSelector")
    field_selector: str = Field("", alias="fieldSelector")


class GetQuery(BaseModel):
    """What a GET of one object may say."""

    at: str | None = Field(None, description=AT)
    resource_version: str | None = Field(
        None, alias="resourceVersion", description="a position that the answer must not be older than"
    )


class ListQuery(GetQuery, Selectors):
    """What a GET of a list may say."""

    resource_version_match: str | None = Field(
        None, alias="resourceVersionMatch", description="`Exact`: as of that position; else `NotOlderThan`"
    )
    limit: int = Field(0, ge=0, le=MOST_INT64, description="at most so many; 0 for all")
    resume: str = Field("", alias="continue", description="the token of the page before")
    watch: bool = Field(False, description="follow the list: a line of JSON for each change")
    allow_watch_bookmarks: bool = Field(
        False, alias="allowWatchBookmarks", description="also say how far a quiet watch has come"
    )
    send_initial_events: bool | None = Field(
        None, alias="sendInitialEvents", description="begin a watch with what there is, then a bookmark"
    )
    timeout_seconds: int = Field(
        0, alias="timeoutSeconds", ge=0, le=MOST_INT64, description="when a watch ends"
    )


def get_object(
    cluster: Cluster, resource: Resource, namespace: str | None, name: str, query: GetQuery
) -> dict[str, Any]:
    """The object. Raises NotFound, Expired for a position in the future, BadRequest."""
    kind, key = resource.kind, resource.kind.key_of(namespace, name)
    state, now = _state(cluster, query.at, query.resource_version)
    if state is not None:
        shown = cluster.shown(kind, key, state, now)
    else:
        with cluster.lock:
            cluster.refresh()
            shown = cluster.shown(kind, key)
    if shown is None:
        raise not_found(kind, name)
    return resource.shown(shown)


def list_body(
    cluster: Cluster, resource: Resource, namespace: str | None, query: ListQuery
) -> dict[str, Any]:
    """A `PodList` or the like. Raises as `get_object`."""
    selection = selection_of(resource, namespace, query)
    resume = decode_continue(query.resume) if query.resume else None
    state: State | None
    now: int | None
    if resume is not None:
        state, now = cluster.state_at(resume.position), resume.now
    else:
        exact = query.resource_version_match == "Exact"
        state, now = _state(cluster, query.at, query.resource_version, exact=exact)
    page = list_objects(cluster, selection, state=state, now=now, limit=query.limit or None, resume=resume)
    return body_of(page, resource)


def selection_of(resource: Resource, namespace: str | None, query: Selectors) -> Selection:
    """The objects that `query` is about. Raises BadRequest."""
    return Selection(
        kind=resource.kind,
        namespace=namespace,
        labels=parse_labels(query.label_selector),
        fields=parse_fields(query.field_selector, resource.kind.qualified),
    )


def body_of(page: Page, resource: Resource) -> dict[str, Any]:
    """A `PodList` or the like with the objects of `page`."""
    return {
        "kind": f"{resource.kind.name}List",
        "apiVersion": resource.api_version,
        "metadata": _list_metadata(page),
        "items": [resource.shown(manifest) for manifest in page.items],
    }


def _state(
    cluster: Cluster, at: str | None, version: str | None, *, exact: bool = False
) -> tuple[State | None, int | None]:
    """The State that is asked for, None for the present one, and the time at which it is looked at."""
    asked = moment_asked(cluster, at, version, exact=exact)
    return (None, None) if asked is None else (cluster.state_at(asked.position), asked.now)


def moment_asked(
    cluster: Cluster, at: str | None, version: str | None, *, exact: bool = False
) -> Moment | None:
    """The moment that is asked about, None for the present. Raises BadRequest, Expired for the future."""
    if at is not None:
        if version not in (None, "", "0"):
            raise bad_value("at", at, "a resourceVersion says another moment: give one of them")
        return moment(cluster, at)
    if version in (None, "", "0"):
        return None
    assert version is not None
    position = position_of(version)
    if exact:
        return moment(cluster, version)
    check_reached(cluster, position, "resourceVersion")
    return None


def position_of(text: str, field: str = "resourceVersion") -> int:
    """The position that `field` names. Raises BadRequest if it names none."""
    if not (text.isascii() and text.isdecimal()):
        raise bad_value(field, text, "must be a position of the log")
    return int(text)


def _list_metadata(page: Page) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(page.position)}
    if page.resume is not None:
        metadata["continue"] = encode_continue(page.resume)
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata
