"""Recorded watch streams: what came from outside is imported, and ganger decides the rest itself.

A recording is JSON lines of `{"kind", "type", "object"}`, as a watch of the API server sends them, in
the order of their resourceVersions. Left out is what a scheduler, a kubelet and the API server's
controllers did in that cluster: bindings, nominations, conditions, evictions, the start of Pods,
protection, Events; and the PriorityClasses that every cluster has.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from domain.admission.groups import PROTECTION
from domain.admission.kinds import COMPOSITE_POD_GROUP, POD, POD_GROUP, PRIORITY_CLASS, Kind, kind_named
from domain.admission.priority import SYSTEM_CLASSES
from domain.errors import GangerError
from domain.objects import TERMINAL_PHASES
from domain.times import parse_rfc3339
from worker.batch import Batch, Request
from worker.cluster import Cluster

ACTOR = "import"

Change = Literal["ADDED", "MODIFIED", "DELETED"]


class BadRecording(GangerError):
    """A file is no recording."""


class Observation(msgspec.Struct, frozen=True):
    """One line of a recording: an object as it was after a change, or before it was deleted.

    `time` is when it was seen (RFC 3339), where the recording says so.
    """

    kind: str
    type: Change
    object: dict[str, Any]
    time: str | None = None


@dataclass(frozen=True)
class Fact:
    """Something that happened from outside; a deletion has no manifest.

    `index` is the observation's place in the recording, from 0; `at` how late it was by all the
    times that the recording had shown by then, in microseconds (Kubernetes keeps whole seconds).
    """

    index: int
    at: int
    change: Change
    kind: Kind
    key: str
    manifest: dict[str, Any] | None


def facts_in(observations: Iterable[Observation]) -> Iterator[Fact]:
    """What happened from outside, in order. Raises a Refused for a kind that ganger does not know."""
    asked: dict[tuple[str, str], dict[str, Any]] = {}
    leaving: set[tuple[str, str]] = set()
    at = 0
    for index, observation in enumerate(observations):
        at = max([at, *_times(observation)])
        if observation.kind == "Event":
            continue
        kind = kind_named(observation.kind)
        metadata = observation.object["metadata"]
        if kind is PRIORITY_CLASS and metadata["name"] in SYSTEM_CLASSES:
            continue
        key = kind.key_of(metadata.get("namespace"), metadata["name"])
        place = kind.name, key
        manifest = _asked(kind, observation)
        goes = observation.type == "DELETED" or "deletionTimestamp" in metadata
        if observation.type == "ADDED":
            yield Fact(index, at, "ADDED", kind, key, manifest)
        elif goes and place not in leaving:
            if not _was_evicted(observation.object):
                yield Fact(index, at, "DELETED", kind, key, None)
        elif observation.type == "MODIFIED" and manifest != asked.get(place):
            yield Fact(index, at, "MODIFIED", kind, key, manifest)
        if observation.type == "DELETED":
            leaving.discard(place)
        elif goes:
            leaving.add(place)
        asked[place] = manifest


def take(
    cluster: Cluster, facts: Sequence[Fact], reached: Callable[[Fact], object] = lambda fact: None
) -> list[Fact]:
    """Import `facts` as one batch. Returns those whose object is not there.

    That can be so, since here others may have been evicted than in the recording. Raises a Refused,
    and imports nothing, if admission does not take an object; `reached` is told of each before.
    """

    def admit(batch: Batch) -> list[Fact]:
        missing = []
        for fact in facts:
            reached(fact)
            if not _take(batch, fact):
                missing.append(fact)
        return missing

    (result,) = cluster.answer([Request(admit)], actor=ACTOR)
    if isinstance(result, GangerError):
        raise result
    return result


def _take(batch: Batch, fact: Fact) -> bool:
    if fact.change != "ADDED" and batch.get(fact.kind.name, fact.key) is None:
        return False
    if fact.manifest is None:
        batch.delete(fact.kind, fact.key)
    else:
        batch.apply(fact.manifest, namespace=None)
    return True


def _times(observation: Observation) -> list[int]:
    body = observation.object
    texts = (body["metadata"].get("creationTimestamp"), body.get("eventTime"), observation.time)
    return [parse_rfc3339(text) for text in texts if text is not None]


def _asked(kind: Kind, observation: Observation) -> dict[str, Any]:
    """The manifest without what the recorded cluster made of it.

    A Pod that is added on a node was there before the recording, or was made so. That a Pod's work
    has ended is the work's own doing and no kubelet's.
    """
    manifest = dict(observation.object)
    added = observation.type == "ADDED"
    ours = {"resourceVersion", "generation", "managedFields"}
    if not added:
        ours |= {"deletionTimestamp", "deletionGracePeriodSeconds"}
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in ours}
    manifest["metadata"] = metadata
    finalizers = [name for name in metadata.pop("finalizers", ()) if name != PROTECTION]
    if finalizers:
        metadata["finalizers"] = finalizers
    if kind in (POD_GROUP, COMPOSITE_POD_GROUP):
        manifest.pop("status", None)
    if kind is POD:
        spec, phase = manifest.get("spec", {}), manifest.pop("status", {}).get("phase")
        if not added and spec:
            manifest["spec"] = {name: value for name, value in spec.items() if name != "nodeName"}
        if phase in TERMINAL_PHASES or (added and "nodeName" in spec):
            manifest["status"] = {"phase": phase}
    return manifest


def _was_evicted(body: Mapping[str, Any]) -> bool:
    """Whether a scheduler deleted this Pod to make room."""
    conditions = body.get("status", {}).get("conditions") or ()
    return any(each.get("reason") == "PreemptionByScheduler" for each in conditions)
