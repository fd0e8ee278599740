"""Kubernetes Events as they are asked for: one, or a list."""

from collections.abc import Callable
from typing import Any

from api.errors import MethodNotAllowed
from api.list_options import check_list
from api.listing import Continue, Page, decode_continue
from api.queries import check_reached
from api.reading import GetQuery, ListQuery, body_of, moment_asked
from api.resource import GROUP_EVENTS, Resource
from api.selectors import FieldSelector, only_value, parse_fields, parse_labels, selects_fields
from domain.admission.kinds import not_found
from domain.kube_events import KubeEvent
from domain.label_selectors import selects
from worker.cluster import Cluster
from worker.kube_events import as_core, as_events_k8s_io, events_about, recent_events
from worker.moments import Moment


def get_event(
    cluster: Cluster, resource: Resource, namespace: str, name: str, query: GetQuery
) -> dict[str, Any]:
    """The Event, however old it is. Raises NotFound, Expired for a position in the future, BadRequest."""
    then = moment_asked(cluster, query.at, query.resource_version)
    until = None if then is None else then.position
    for event in events_about(cluster, f"{namespace}/{name.rpartition('.')[0]}", until=until):
        if event.name == name:
            return _form(resource)(event)
    raise not_found(resource.kind, name)


def list_events(
    cluster: Cluster, resource: Resource, namespace: str | None, query: ListQuery
) -> dict[str, Any]:
    """An `EventList`, by namespace and name: of the last hour, or all of a Pod that the fields name.

    Raises MethodNotAllowed for a watch, since they are stored nowhere, Invalid, else as `get_event`.
    """
    if query.watch:
        raise MethodNotAllowed("events cannot be watched: they follow from the log; list them again")
    check_list(query)
    labels = parse_labels(query.label_selector)
    fields = parse_fields(query.field_selector, resource.kind.qualified)
    resume = decode_continue(query.resume) if query.resume else None
    then = _moment(cluster, query, resume)
    form = _form(resource)
    shown = [
        manifest
        for event in sorted(_candidates(cluster, resource, namespace, fields, then), key=_key)
        if (resume is None or _key(event) > resume.key)
        and namespace in (None, event.namespace)
        and selects(labels, {})
        and selects_fields(fields, manifest := form(event))
    ]
    return body_of(_page(shown, then, query.limit, counted=not (labels or fields)), resource)


def _candidates(
    cluster: Cluster, resource: Resource, namespace: str | None, fields: FieldSelector, then: Moment
) -> list[KubeEvent]:
    """The Events among which those are that the fields select."""
    about = "regarding" if resource is GROUP_EVENTS else "involvedObject"
    name = only_value(fields, f"{about}.name")
    place = namespace or only_value(fields, f"{about}.namespace")
    if name and place:
        return events_about(cluster, f"{place}/{name}", until=then.position)
    return recent_events(cluster, now=then.now, until=then.position)


def _moment(cluster: Cluster, query: ListQuery, resume: Continue | None) -> Moment:
    if resume is not None:
        check_reached(cluster, resume.position, "continue")
        return Moment(resume.position, resume.now)
    exact = query.resource_version_match == "Exact"
    asked = moment_asked(cluster, query.at, query.resource_version, exact=exact)
    return asked or Moment(cluster.log.head().position, cluster.clock.now())


def _page(shown: list[dict[str, Any]], then: Moment, limit: int, *, counted: bool) -> Page:
    if not limit or len(shown) <= limit:
        return Page(shown, then.position)
    last = shown[limit - 1]["metadata"]
    resume = Continue(then.position, f"{last['namespace']}/{last['name']}", then.now)
    return Page(shown[:limit], then.position, resume, len(shown) - limit if counted else None)


def _form(resource: Resource) -> Callable[[KubeEvent], dict[str, Any]]:
    return as_events_k8s_io if resource is GROUP_EVENTS else as_core


def _key(event: KubeEvent) -> str:
    return f"{event.namespace}/{event.name}"
