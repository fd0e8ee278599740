"""Reading stored manifests: only the fields that scheduling needs, equal parts shared.

What is read here was admitted, so it is well formed; a manifest that is not makes the log
corrupt. Pods of one template have equal spec bytes, which are parsed once.
"""

import re
from sys import intern
from typing import Any

import msgspec

from domain.budgets import Budget, budget_of
from domain.errors import CorruptLog
from domain.node_facts import NodeFacts, node_facts
from domain.objects import POD_GROUP, PREEMPT_LOWER, Group, PodSpec, PriorityClassFacts
from domain.peers import NAME_LABEL, Peer, peer_of
from domain.profile import DEFAULT_SCHEDULER
from domain.shapes import PodShape, shape_of
from domain.times import SECOND, parse_rfc3339
from domain.uids import kept_uid

RUN_SECONDS = "ganger.dev/run-seconds"
"""Annotation: how long the simulated kubelet lets the Pod run, in whole seconds of at most ten digits."""

_WHOLE_SECONDS = re.compile(r"[0-9]{1,10}")

_REMEMBERED_SPECS = 4096
_GROUP = b'"schedulingGroup":{'
"""Begins the part of a spec in which Pods of one template differ from group to group."""


_NO_LABELS = msgspec.Raw(b"{}")


class Metadata(msgspec.Struct, gc=False, rename="camel"):
    """The part of `metadata` that scheduling and protection read; `labels` are still in bytes."""

    name: str
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] = ()
    generation: int = 0
    annotations: dict[str, str] | None = None
    labels: msgspec.Raw = _NO_LABELS

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PodStatus(msgspec.Struct, gc=False, rename="camel"):
    """The part of a Pod's `status` that is taken as observed."""

    phase: str = "Pending"
    start_time: str | None = None
    nominated_node_name: str | None = None


class PodManifest(msgspec.Struct, gc=False):
    """A Pod as stored, with its spec still in bytes."""

    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class ObjectManifest(msgspec.Struct, gc=False):
    """Any object, as far as all kinds are alike."""

    metadata: Metadata


_decode_pod = msgspec.json.Decoder(PodManifest).decode
_decode_object = msgspec.json.Decoder(ObjectManifest).decode
_decode_status = msgspec.json.Decoder(PodStatus).decode
_decode_labels = msgspec.json.Decoder(dict[str, str] | None).decode


def read_pod(raw: msgspec.Raw) -> PodManifest:
    """The Pod in `raw`. Raises CorruptLog if it is none."""
    try:
        return _decode_pod(raw)
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not a Pod: {error}") from error


def read_status(raw: msgspec.Raw) -> PodStatus:
    """The Pod status in `raw`. Raises CorruptLog if it is none."""
    try:
        return _decode_status(raw)
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not a Pod status: {error}") from error


def read_metadata(raw: msgspec.Raw) -> Metadata:
    """The metadata of the object in `raw`. Raises CorruptLog if it has none."""
    try:
        return _decode_object(raw).metadata
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not an object: {error}") from error


def read_node(raw: msgspec.Raw) -> NodeFacts:
    """What scheduling reads of the Node in `raw`."""
    return node_facts(_plain(raw))


def read_group(raw: msgspec.Raw, kind: str = POD_GROUP, *, arrival: int, created_us: int) -> Group:
    """The PodGroup or CompositePodGroup in `raw`, which came at position `arrival`."""
    metadata = read_metadata(raw)
    spec = _plain(raw).get("spec", {})
    policy = spec.get("schedulingPolicy", {})
    gang = policy.get("gang")
    topology = (spec.get("schedulingConstraints") or {}).get("topology") or []
    return Group(
        key=metadata.key,
        kept_uid=kept_uid(metadata.uid),
        policy="basic" if gang is None else "gang",
        min_count=1 if gang is None else gang["minCount" if kind == POD_GROUP else "minGroupCount"],
        priority=spec.get("priority", 0),
        preemption_policy=intern(spec.get("preemptionPolicy", PREEMPT_LOWER)),
        parent=spec.get("parentCompositePodGroupName"),
        topology_key=topology[0]["key"] if topology else None,
        disrupted_whole="all" in (spec.get("disruptionMode") or {}),
        arrival=arrival,
        manifest=arrival,
        revision=arrival,
        created_us=created_us,
        kind=kind,
    )


def read_priority_class(raw: msgspec.Raw) -> PriorityClassFacts:
    """What admission takes from the PriorityClass in `raw`."""
    body = _plain(raw)
    return PriorityClassFacts(
        value=body.get("value", 0),
        global_default=body.get("globalDefault", False),
        preemption_policy=body.get("preemptionPolicy", PREEMPT_LOWER),
    )


def read_budget(key: str, raw: msgspec.Raw) -> Budget:
    """The PodDisruptionBudget in `raw`."""
    return budget_of(key, _plain(raw))


def run_time(metadata: Metadata) -> int | None:
    """How long the simulated kubelet lets a Pod run, in microseconds; None: without end."""
    seconds = (metadata.annotations or {}).get(RUN_SECONDS)
    return int(seconds) * SECOND if seconds is not None and can_run_for(seconds) else None


def can_run_for(seconds: str) -> bool:
    """Whether the annotation says how long a Pod runs."""
    return _WHOLE_SECONDS.fullmatch(seconds) is not None


def moment(text: str | None, otherwise: int) -> int:
    """The RFC 3339 time `text` in microseconds, `otherwise` where there is none."""
    return otherwise if text is None else parse_rfc3339(text)


class Specs:
    """Reads the specs of Pods, so that what is equal is one object, in as far as it is remembered."""

    def __init__(self) -> None:
        self._shapes: dict[PodShape, PodShape] = {}
        self._peers: dict[Peer, Peer] = {}
        self._specs: dict[PodSpec, PodSpec] = {}
        self._by_bytes: dict[bytes, PodSpec] = {}

    def read(self, manifest: PodManifest) -> PodSpec:
        """The spec of a Pod; what is equal but for the group is parsed once."""
        metadata = manifest.metadata
        key = bytes(manifest.spec)
        group = key.find(_GROUP)
        if group >= 0:
            key = key[:group] + key[key.index(b"}", group) :]
        key = b"%b %b %b" % (metadata.namespace.encode(), metadata.labels, key)
        spec = self._by_bytes.get(key)
        if spec is None:
            if len(self._by_bytes) >= _REMEMBERED_SPECS:
                self._forget()
            spec = self.shared(_pod_spec(_plain(manifest.spec), metadata.namespace, read_labels(metadata)))
            self._by_bytes[key] = spec
        return spec

    def shared(self, spec: PodSpec) -> PodSpec:
        """The first of all specs that are equal to `spec`; the same goes for its shape and its peer."""
        known = self._specs.get(spec)
        if known is None:
            shape = self._shapes.setdefault(spec.shape, spec.shape)
            peer = self._peers.setdefault(spec.peer, spec.peer)
            known = msgspec.structs.replace(spec, shape=shape, peer=peer)
            self._specs[known] = known
        return known

    def _forget(self) -> None:
        """Let go of what Pods had that may be long gone."""
        for known in (self._shapes, self._peers, self._specs, self._by_bytes):
            known.clear()


def read_labels(metadata: Metadata) -> dict[str, str]:
    """The labels in `metadata`. Raises CorruptLog if they are none."""
    try:
        return _decode_labels(metadata.labels) or {}
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not labels: {error}") from error


def read_namespace(raw: msgspec.Raw) -> dict[str, str]:
    """The labels of the Namespace in `raw`, without that of its name, sorted."""
    labels = read_labels(read_metadata(raw))
    return {key: value for key, value in sorted(labels.items()) if key != NAME_LABEL}


def _pod_spec(spec: dict[str, Any], namespace: str, labels: dict[str, str]) -> PodSpec:
    return PodSpec(
        shape=shape_of(spec, namespace, labels),
        peer=peer_of(spec, namespace, labels),
        priority=spec.get("priority", 0),
        preemption_policy=spec.get("preemptionPolicy", PREEMPT_LOWER),
        scheduler=spec.get("schedulerName", DEFAULT_SCHEDULER),
        gates=tuple(gate["name"] for gate in spec.get("schedulingGates") or ()),
        grace=spec.get("terminationGracePeriodSeconds", 30),
    )


def _plain(raw: msgspec.Raw) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(raw)
    return body
