"""What bodies look like, for the OpenAPI document: the responses themselves are never built from these."""

from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from domain import explanation


class Wire(BaseModel):
    """A body: camelCase outside, snake_case inside."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class StatusCause(Wire):
    """One fault of a manifest."""

    reason: str
    message: str
    field: str


class StatusDetails(Wire):
    """What a refusal is about."""

    name: str | None = None
    group: str | None = None
    kind: str | None = None
    uid: str | None = None
    causes: list[StatusCause] | None = None


class Status(Wire):
    """A Kubernetes Status: every refusal is one."""

    kind: str = "Status"
    api_version: str = "v1"
    metadata: dict[str, Any] = {}
    status: str
    message: str
    reason: str
    details: StatusDetails | None = None
    code: int


class Object(Wire):
    """A Kubernetes object; what else it has depends on its kind."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel)

    kind: str
    api_version: str
    metadata: dict[str, Any]


class ObjectList(Wire):
    """A Kubernetes list; `metadata.resourceVersion` is the position that it is as of."""

    kind: str
    api_version: str
    metadata: dict[str, Any]
    items: list[Object]


class Event(Wire):
    """The line of the log, byte for byte: canonical JSON, which its hash was made of."""

    actor: str
    at: int = Field(description="microseconds since 1970")
    batch: int = Field(description="position of the first event that was appended together with it")
    cause: int | None = Field(description="position of what led to it")
    index: int = Field(description="counts from 0 within the batch")
    payload: dict[str, Any]
    position: int
    subjects: list[str]
    type: str
    version: int


class LogItem(Wire):
    """An event and its hash: sha256 of the hash before it and the line."""

    hash: str
    event: Event


class LogPage(Wire):
    """Events in the order asked for; `next` is the `after` of the next page, null on the last one."""

    items: list[LogItem]
    next: int | None


class AttemptPage(Wire):
    """Attempts, newest first; `next` is the `before` of the next page, null on the last one."""

    items: list[LogItem]
    next: int | None


class AttemptRecord(Wire):
    """One decision: the attempt, and what was decided with it, in one batch.

    `findings` is the earlier attempt that `payload.sameAs` refers to, null where there is none.
    """

    attempt: LogItem
    decided: list[LogItem]
    findings: LogItem | None


class Difference(Wire):
    """A field that came out otherwise; values as JSON, null where there is none."""

    path: str
    recorded: str | None
    decided: str | None


class Divergence(Wire):
    """The first event that came out otherwise, in the batch of `attempt`, decided on `snapshot`.

    `overtaken` is the position of an event after which the decision should not have been committed.
    """

    position: int
    attempt: int
    entity: str | None
    snapshot: int | None
    overtaken: int | None
    recorded: dict[str, Any] | None
    decided: dict[str, Any] | None
    differences: list[Difference]


class BadSnapshot(Wire):
    """A snapshot of the store that is not what the log folds to."""

    position: int
    fault: str


class Replay(Wire):
    """What a replay saw; `divergence` is null if every decision came out the same.

    `elsewhere` counts attempts of other scheduler `versions`, `unseen` those decided on what was before
    the log begins.
    """

    same: bool
    events: int
    begins_after: int
    head_hash: str
    attempts: int
    elsewhere: int
    versions: list[str]
    unseen: int
    snapshots: int
    bad_snapshots: list[BadSnapshot]
    divergence: Divergence | None


class Head(Wire):
    """The newest event; position 0 where there is none."""

    position: int
    hash: str
    time: str | None


class Entry(Head):
    """An event with its place in the chain."""

    event: Event


class Waiter(Wire):
    """An entity that waits: `place` is its place in its lane, `pods` how many Pods wait in it."""

    entity: str
    lane: str
    place: int
    priority: int
    pods: int
    attempts: int
    since: str
    due: str | None = Field(description="when its backoff is over; null in other lanes")
    waits_for: str


class WaitingLine(Wire):
    """What waits, lane by lane, in the order in which it is tried."""

    position: int
    time: str
    waiters: list[Waiter]


class State(Wire):
    """A whole cluster: every object as Kubernetes shows it, by resource, and what waits."""

    position: int
    time: str
    hash: str
    objects: dict[str, list[Object]]
    queue: WaitingLine


class Configuration(Wire):
    """A KubeSchedulerConfiguration; `ganger` has what kube-scheduler has no field for."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel)

    api_version: str
    kind: str
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    profiles: list[dict[str, Any]]
    ganger: dict[str, str] = Field(description="retry: onChange or byClock; siblings: greedy or lean")


class Moment(Wire):
    """A position of the log and a time."""

    position: int
    time: str


class FieldChange(Wire):
    """One thing about an object, before and after; null where it has no such thing."""

    field: str
    before: str | None
    after: str | None


class ObjectChange(Wire):
    """What became of an object; `group` is the PodGroup of a Pod."""

    object: str
    change: str = Field(description="created, deleted, replaced (another of that name) or changed")
    group: str | None
    fields: list[FieldChange]


class LaneChange(Wire):
    """An entity that entered or left a lane, or was tried; a lane is null where it did not wait."""

    entity: str
    before: str | None
    after: str | None
    attempts_before: int
    attempts_after: int


class StateDifference(Wire):
    """What differs between two moments."""

    since: Moment = Field(alias="from")
    until: Moment = Field(alias="to")
    objects: list[ObjectChange]
    lanes: list[LaneChange]
    configuration: list[FieldChange]


class Eviction(Wire):
    """A Pod that had to make room for an entity."""

    pod: str
    preemptor: str
    time: str


class Course(Wire):
    """What became of a group or a single Pod in one fork."""

    verdict: str
    pods: int
    bound: int
    started: str | None
    waited_us: int | None = Field(description="microseconds from when it began to wait to `started`")
    nodes: dict[str, str]
    evicted: list[Eviction]


class OtherCourse(Wire):
    """A group or single Pod that fares otherwise; null where there is none such."""

    entity: str
    without: Course | None
    changed: Course | None = Field(alias="with")


class Elsewhere(Wire):
    """A Pod that is on another node than in the log."""

    pod: str
    log: str | None
    again: str | None


class Recorded(Wire):
    """How the fork without the change compares with what the log holds after the fork."""

    until: Moment
    requests: int = Field(description="how many of the log were made again")
    dropped: int = Field(description="how many of them made no sense any more with the change")
    elsewhere: list[Elsewhere]


class WhatIf(Wire):
    """What a change would have come to; `complete` is false where the deadline cut it off."""

    fork: Moment
    until: str
    complete: bool
    changes: list[str]
    recorded: Recorded | None
    compared: int
    differences: list[OtherCourse]


class Explanation(Wire):
    """Why an object is where it is; its schema is `explanation_schemas`."""


def explanation_schemas() -> dict[str, Any]:
    """The schemas of an explanation and all of its parts, by name, as the domain defines them."""
    _, parts = msgspec.json.schema_components(
        [explanation.Explanation], ref_template="#/components/schemas/{name}"
    )
    return parts


def answers(model: type[BaseModel], *refusals: int, code: int = 200) -> dict[int | str, dict[str, Any]]:
    """What a route answers: `model`, or one of `refusals`, which are Status objects."""
    said: dict[int | str, dict[str, Any]] = {code: {"model": model}}
    return said | {refusal: {"model": Status} for refusal in refusals}
