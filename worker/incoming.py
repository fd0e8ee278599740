"""What others recorded of a cluster, imported: ganger decides the rest itself, in the recording's own time.

Read are watch streams (`worker.recordings`), the records and exports of kube-scheduler-simulator, and
objects as `kubectl get -o yaml|json` prints them, which are taken as one moment of a live cluster. Which
of them a file is follows from what stands in it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import msgspec

from domain.admission.documents import read_documents
from domain.admission.kinds import KINDS, NAMESPACE, NODE, PRIORITY_CLASS, Kind
from domain.admission.priority import SYSTEM_CLASSES
from domain.errors import BadRequest, Refused
from store.errors import StreamNotEmpty
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker
from worker.recordings import BadRecording, Fact, Observation, facts_in, take

Progress = Callable[[int, int], None]
"""Told how many of all facts are imported."""

_BY_NAME = {kind.name: kind for kind in KINDS}
_EXPORTED = {kind.resource: kind for kind in KINDS} | {"priorityClasses": PRIORITY_CLASS}
"""Kinds by the names of their lists in an export of kube-scheduler-simulator."""
_FIRST = (PRIORITY_CLASS, NAMESPACE, NODE)
"""Kinds that others refer to when they are admitted."""


class _Record(msgspec.Struct, frozen=True):
    """A line of kube-scheduler-simulator's recorder."""

    time: str
    event: Literal["Add", "Update", "Delete"]
    resource: dict[str, Any]

    def observed(self) -> Observation:
        """The same as a line of a watch stream."""
        change: Literal["ADDED", "MODIFIED", "DELETED"]
        match self.event:
            case "Add":
                change = "ADDED"
            case "Update":
                change = "MODIFIED"
            case "Delete":
                change = "DELETED"
        return Observation(_kind_in(self.resource), change, self.resource, self.time)


class _Watched(msgspec.Struct, frozen=True):
    """A line of a watch stream; the kind may stand in the object alone."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: dict[str, Any]
    kind: str | None = None

    def observed(self) -> Observation:
        """The same with its kind."""
        return Observation(self.kind or _kind_in(self.object), self.type, self.object)


@dataclass(frozen=True)
class Incoming:
    """Facts in their order; `places` says of each index where it stood, `skipped` how many objects of
    which unknown kinds were left out. `live`: they are one moment of a cluster, now, and no stream."""

    facts: Sequence[Fact]
    places: Sequence[str]
    skipped: dict[str, int]
    live: bool


def read_incoming(content: bytes, source: str) -> Incoming:
    """What `content` tells. Raises BadRecording or BadRequest with line, field and rule."""
    line = next((line for line in content.splitlines() if line.strip()), b"")
    fields = _fields_of(line)
    if {"event", "resource"} <= fields:
        return _stream(content, source, _Record)
    if {"type", "object"} <= fields:
        return _stream(content, source, _Watched)
    return _objects(content, source)


def take_in(
    cluster: Cluster, clock: VirtualClock, incoming: Incoming, *, progress: Progress | None = None
) -> int:
    """Import `incoming` into an empty cluster, and decide as time goes on; how many facts came too late.

    Those are about objects that are not there, since here other Pods may have been evicted. Raises
    StreamNotEmpty, or BadRecording for an object that admission does not take.
    """
    if cluster.state.position:
        raise StreamNotEmpty(cluster.log.stream, cluster.state.position)
    worker = Worker(cluster)
    late = done = 0
    for at, facts in groupby(incoming.facts, key=lambda fact: fact.at):
        worker.advance(clock, max(at, clock.now()))
        together = list(facts)
        late += len(_take(cluster, incoming, together))
        done += len(together)
        if progress is not None:
            progress(done, len(incoming.facts))
    if not incoming.live:
        while worker.step():
            pass
    return late


def _take(cluster: Cluster, incoming: Incoming, facts: Sequence[Fact]) -> list[Fact]:
    """Import facts as one batch. Raises BadRecording with the place of the one that is refused."""
    reached: list[Fact] = []
    try:
        return take(cluster, facts, reached.append)
    except Refused as refusal:
        raise BadRecording(f"{incoming.places[reached[-1].index]}: {refusal}") from refusal


def _fields_of(line: bytes) -> set[str]:
    try:
        return set(msgspec.json.decode(line, type=dict[str, msgspec.Raw]))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return set()


def _stream(content: bytes, source: str, form: type[_Record] | type[_Watched]) -> Incoming:
    decode: Callable[[bytes], _Record | _Watched] = msgspec.json.Decoder(form).decode
    seen: list[Observation] = []
    places: list[str] = []
    skipped: Counter[str] = Counter()
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        place = f"{source}, line {number}"
        try:
            observation = decode(line).observed()
        except (msgspec.DecodeError, BadRequest) as error:
            raise BadRecording(f"{place}: {error}") from error
        if observation.kind == "Event":
            continue
        if observation.kind not in _BY_NAME:
            skipped[observation.kind] += 1
            continue
        _check_metadata(observation.object, place)
        seen.append(observation)
        places.append(place)
    return Incoming(list(facts_in(seen)), places, dict(skipped), live=False)


def _objects(content: bytes, source: str) -> Incoming:
    """Objects as they are at one moment, those first that others refer to."""
    found: list[tuple[Observation, str]] = []
    skipped: Counter[str] = Counter()
    for manifest, place in _manifests(content, source):
        try:
            name = _kind_in(manifest)
        except BadRequest as error:
            raise BadRecording(f"{place}: {error}") from error
        kind = _BY_NAME.get(name)
        if kind is None:
            skipped[name] += 1
            continue
        _check_metadata(manifest, place)
        if kind is not PRIORITY_CLASS or manifest["metadata"]["name"] not in SYSTEM_CLASSES:
            found.append((Observation(name, "ADDED", manifest), place))
    found.sort(key=lambda each: _turn(_BY_NAME[each[0].kind]))
    if not found:
        raise BadRecording(
            f"{source}: no object that ganger takes is in it, nor is it a ganger-log file, a recorded watch"
            " stream (type, object) or a record of kube-scheduler-simulator (event, resource)"
        )
    facts = list(facts_in(observation for observation, _ in found))
    newest = max(fact.at for fact in facts)
    together = [replace(fact, at=newest) for fact in facts]
    return Incoming(together, [place for _, place in found], dict(skipped), live=True)


def _turn(kind: Kind) -> int:
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST) + KINDS.index(kind)


def _manifests(content: bytes, source: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects in lists, documents or an export of kube-scheduler-simulator, and where each stands."""
    for document in read_documents(content, source):
        value = document.value
        if "kind" in value or not value.keys() & _EXPORTED.keys():
            yield value, document.place
            continue
        for name, items in value.items():
            kind = _EXPORTED.get(name)
            for number, item in enumerate(items if isinstance(items, list) else ()):
                place = f"{source}, {name}[{number}]"
                if not isinstance(item, dict):
                    raise BadRecording(f"{place}: an object is a mapping of fields")
                yield {**_type_of(name, kind), **item}, place


def _type_of(name: str, kind: Kind | None) -> dict[str, str]:
    return {"kind": name} if kind is None else {"apiVersion": kind.api_version, "kind": kind.name}


def _kind_in(manifest: dict[str, Any]) -> str:
    kind = manifest.get("kind")
    if not isinstance(kind, str) or not kind:
        raise BadRequest("kind: Required value: an object says of which kind it is")
    return kind


def _check_metadata(manifest: dict[str, Any], place: str) -> None:
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise BadRecording(f"{place}: metadata.name: Required value: an object has a name")
