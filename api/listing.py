"""Lists of objects: which are selected, and one page of them."""

import base64
import binascii
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from api.errors import bad_value
from api.selectors import FieldSelector, selects_fields
from domain.admission.kinds import Kind
from domain.budgets import Counted
from domain.label_selectors import LabelSelector, selects
from domain.objects import Pod
from domain.state import State
from worker.cluster import Cluster
from worker.shown import Visible, all_visible, counts_of


@dataclass(frozen=True)
class Selection:
    """Objects of a kind; `namespace` None means all of them."""

    kind: Kind
    namespace: str | None = None
    labels: LabelSelector = ()
    fields: FieldSelector = ()


class Continue(msgspec.Struct, frozen=True):
    """Where a list goes on: after `key`, of the objects as they were at `position`, at `now` (µs)."""

    position: int
    key: str
    now: int


@dataclass(frozen=True)
class Page:
    """Objects by namespace and name as of `position`; `remaining` is None where nobody has counted."""

    items: list[dict[str, Any]]
    position: int
    resume: Continue | None = None
    remaining: int | None = None


def is_selected(selection: Selection, shown: Mapping[str, Any]) -> bool:
    """Whether an object of the kind, as a user reads it, is among those that are selected."""
    metadata = shown["metadata"]
    return (
        selection.namespace in (None, metadata.get("namespace"))
        and selects(selection.labels, metadata.get("labels") or {})
        and selects_fields(selection.fields, shown)
    )


def encode_continue(resume: Continue) -> str:
    """The token that a client sends back to have the next page."""
    return base64.urlsafe_b64encode(msgspec.json.encode(resume)).decode().rstrip("=")


def decode_continue(token: str) -> Continue:
    """What `encode_continue` encoded. Raises BadRequest for any other text."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)), type=Continue)
    except (binascii.Error, ValueError, msgspec.DecodeError) as error:
        raise bad_value("continue", token, "must be the token of an earlier page") from error


def list_objects(
    cluster: Cluster,
    selection: Selection,
    *,
    state: State | None = None,
    now: int | None = None,
    limit: int | None = None,
    resume: Continue | None = None,
) -> Page:
    """A page of what is selected, at present or in `state` at `now`, from `resume` on."""
    if now is None:
        now = cluster.present() if state is None else state.at
    after = "" if resume is None else resume.key
    records, counts, position = _candidates(cluster, selection, state, now, after)
    shown = _selected(cluster, selection, records, counts)
    if limit is None:
        return Page(list(shown), position)
    items = list(islice(shown, limit))
    if next(shown, None) is None:
        return Page(items, position)
    last = items[-1]["metadata"]
    key = selection.kind.key_of(last.get("namespace"), last["name"])
    filtered = selection.labels or selection.fields
    return Page(items, position, Continue(position, key, now), None if filtered else len(records) - limit)


def _candidates(
    cluster: Cluster, selection: Selection, state: State | None, now: int, after: str
) -> tuple[list[Visible], Mapping[str, Counted], int]:
    """Copies of the records that may be selected, what is counted for them, and the position they are as of.

    Copies, since reading their manifests takes a while, and the worker is not to wait for it.
    """
    if state is not None:
        return *_records(cluster, state, now, selection, after), state.position
    with cluster.lock:
        cluster.refresh()
        return *_records(cluster, None, now, selection, after), cluster.state.position


def _records(
    cluster: Cluster, state: State | None, now: int, selection: Selection, after: str
) -> tuple[list[Visible], Mapping[str, Counted]]:
    prefix = "" if selection.namespace is None else f"{selection.namespace}/"
    then = state or cluster.state
    found = [
        copy.copy(cluster.seen(record, state, now))
        for key, record in all_visible(then, selection.kind.name).items()
        if key > after and key.startswith(prefix) and _may_match(selection.fields, record)
    ]
    found.sort(key=lambda record: record.key)
    return found, counts_of(then, selection.kind.name, [record.key for record in found])


def _may_match(fields: FieldSelector, record: Visible) -> bool:
    """False if a field that the record itself has rules the object out."""
    for requirement in fields:
        match requirement.key:
            case "metadata.name":
                value: str | None = record.key.rpartition("/")[2]
            case "spec.nodeName" if isinstance(record, Pod):
                value = record.node
            case "status.phase" if isinstance(record, Pod):
                value = record.phase
            case _:
                continue
        if not requirement.test(value):
            return False
    return True


def _selected(
    cluster: Cluster, selection: Selection, records: list[Visible], counts: Mapping[str, Counted]
) -> Iterator[dict[str, Any]]:
    for shown in cluster.shown_records(records, counts):
        if is_selected(selection, shown):
            yield shown
