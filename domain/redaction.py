"""Redaction: the same facts under pseudonyms.

What a user chose is replaced: names, namespaces, labels, images, uids. What Kubernetes defines, amounts,
times and counts stay, since decisions follow from them. What no decision and no answer can depend on,
such as commands and environments, is left out.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from domain import events as ev
from domain.admission.groups import PROTECTION
from domain.admission.priority import SYSTEM_CLASSES
from domain.envelope import canonical
from domain.manifests import RUN_SECONDS
from domain.profile import DEFAULT_SCHEDULER
from domain.pseudonyms import Pseudonyms

REDACTED = "(redacted)"
"""Instead of a text that somebody else wrote."""

_WELL_KNOWN = frozenset(
    {
        RUN_SECONDS,
        PROTECTION,
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/metadata.name",
        "kubernetes.io/os",
        "metadata.name",
        "node-role.kubernetes.io/control-plane",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/instance-type",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/out-of-service",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""Keys of labels, taints, annotations and finalizers that mean the same everywhere."""

_LEFT_OUT = frozenset(
    {
        "args",
        "command",
        "description",
        "dnsConfig",
        "env",
        "envFrom",
        "generateName",
        "hostAliases",
        "imagePullSecrets",
        "kubectl.kubernetes.io/last-applied-configuration",
        "lifecycle",
        "livenessProbe",
        "managedFields",
        "message",
        "nodeInfo",
        "readinessProbe",
        "reason",
        "securityContext",
        "startupProbe",
        "volumeDevices",
        "volumeMounts",
        "volumes",
        "workingDir",
    }
)
_MAPS_OF_TEXTS = frozenset({"annotations", "labels", "matchLabels", "nodeSelector"})
_MAPS_BY_NAME = frozenset({"disruptedPods"})
_MAPS_OF_AMOUNTS = frozenset({"allocatable", "capacity", "limits", "overhead", "requests"})
_KEYS = frozenset({"key", "topologyKey"})
_LISTS_OF_KEYS = frozenset({"finalizers", "matchLabelKeys", "mismatchLabelKeys"})
_LISTS_OF_REQUIREMENTS = frozenset({"matchExpressions", "matchFields", "taints", "tolerations"})
_BY_NUMBER = frozenset({"Gt", "Lt"})
_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})
_STAY = frozenset(
    {
        "completionTime",
        "creationTimestamp",
        "deletionTimestamp",
        "effect",
        "finishedAt",
        "lastHeartbeatTime",
        "lastProbeTime",
        "lastTransitionTime",
        "maxUnavailable",
        "minAvailable",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "operator",
        "phase",
        "podManagementPolicy",
        "preemptionPolicy",
        "protocol",
        "qosClass",
        "resourceVersion",
        "restartPolicy",
        "startTime",
        "startedAt",
        "status",
        "unhealthyPodEvictionPolicy",
        "whenUnsatisfiable",
    }
)
"""Fields whose text is Kubernetes' own, a time or an amount."""
_TYPES = frozenset(
    {
        "ContainersReady",
        "DiskPressure",
        "DisruptionAllowed",
        "DisruptionTarget",
        "ExternalDNS",
        "ExternalIP",
        "Hostname",
        "Initialized",
        "InternalDNS",
        "InternalIP",
        "MemoryPressure",
        "NetworkUnavailable",
        "PIDPressure",
        "PodReadyToStartContainers",
        "PodScheduled",
        "Ready",
    }
)
"""Types of conditions and addresses that Kubernetes has."""


class Redactor:
    """Writes facts with pseudonyms.

    `numeric` are the keys of labels that somebody compares by number: their whole numbers are amounts,
    and stay.
    """

    def __init__(self, names: Pseudonyms, numeric: Mapping[str, None]) -> None:
        self._names = names
        self._numeric = numeric

    # Payloads

    def payload(self, payload: ev.Payload) -> ev.Payload:
        """The same fact under pseudonyms; texts that say why are `REDACTED`."""
        payload = without_texts(payload)
        changed: dict[str, Any]
        match payload:
            case ev.GroupAttempted():
                return self._attempt(payload)
            case ev.SchedulerConfigured():
                return self._configured(payload)
            case ev.PodAdded() | ev.PodUpdated() | ev.PodDeleted():
                changed = {"key": self.name(payload.key), **self._place(payload)}
            case ev.PodBound() | ev.PodNominated() | ev.PodEvicted() | ev.BindingFailed():
                changed = {"pod": self.name(payload.pod), **self._place(payload)}
            case _:
                changed = {"key": self._key(ev.kind_of(payload), payload.key)}
        if isinstance(payload, ev.PodEvicted):
            changed["preemptor"] = self.subject(payload.preemptor)
        uid = getattr(payload, "uid", None)
        if uid is not None:
            changed["uid"] = self.name(uid)
        for field in ("object", "status"):
            raw = getattr(payload, field, UNSET)
            if raw is not UNSET:
                changed[field] = self._raw(raw)
        return msgspec.structs.replace(payload, **changed)

    def name(self, text: str) -> str:
        """The pseudonym of a name, or of a key `namespace/name`."""
        return self._names.text(text)

    def subject(self, subject: str) -> str:
        """The subject `Kind/namespace/name` with its names replaced."""
        kind, _, key = subject.partition("/")
        return f"{kind}/{self._key(kind, key)}"

    def _key(self, kind: str, key: str) -> str:
        return self._class_name(key) if kind == "PriorityClass" else self.name(key)

    def _class_name(self, name: str) -> str:
        return name if name in SYSTEM_CLASSES else self.name(name)

    def _scheduler(self, name: str) -> str:
        return name if name == DEFAULT_SCHEDULER else self.name(name)

    def _place(self, payload: Any) -> dict[str, Any]:
        placed = {field: getattr(payload, field) for field in ("group", "node")}
        return {field: None if value is None else self.name(value) for field, value in placed.items()}

    def _configured(self, payload: ev.SchedulerConfigured) -> ev.SchedulerConfigured:
        replace = msgspec.structs.replace
        return replace(
            payload,
            scheduler_names=tuple(map(self._scheduler, payload.scheduler_names)),
            profiles=tuple(
                replace(
                    profile,
                    default_constraints=tuple(
                        replace(each, topology_key=self.key(each.topology_key))
                        for each in profile.default_constraints
                    ),
                )
                for profile in payload.profiles
            ),
        )

    def _attempt(self, attempt: ev.GroupAttempted) -> ev.GroupAttempted:
        return msgspec.structs.replace(
            attempt,
            entity=self.subject(attempt.entity),
            groups=tuple(map(self._group, attempt.groups)),
            shapes=tuple(map(self._shape, attempt.shapes)),
            skipped=tuple(map(self.name, attempt.skipped)),
            victims=tuple(map(self.name, attempt.victims)),
        )

    def _group(self, found: ev.GroupFinding) -> ev.GroupFinding:
        return msgspec.structs.replace(
            found,
            domain=None if found.domain is None else self.name(found.domain),
            fitted=tuple(map(self.name, found.fitted)),
            group=self.subject(found.group),
            parent=None if found.parent is None else self.subject(found.parent),
            placements=tuple(
                msgspec.structs.replace(each, domain=self.name(each.domain)) for each in found.placements
            ),
            topology_key=None if found.topology_key is None else self.key(found.topology_key),
            untried=tuple(map(self.name, found.untried)),
        )

    def _shape(self, found: ev.ShapeFinding) -> ev.ShapeFinding:
        return msgspec.structs.replace(
            found,
            nodes=tuple(
                msgspec.structs.replace(each, examples=tuple(map(self.name, each.examples)))
                for each in found.nodes
            ),
            pods=tuple(map(self.name, found.pods)),
        )

    # Manifests

    def _raw(self, raw: msgspec.Raw) -> msgspec.Raw:
        manifest = msgspec.json.decode(raw)
        redacted = self._fields(manifest)
        if manifest.get("kind") == "PriorityClass":
            redacted["metadata"]["name"] = self._class_name(manifest["metadata"]["name"])
        for field in ("apiVersion", "kind"):
            if field in manifest:
                redacted[field] = manifest[field]
        return msgspec.Raw(canonical(redacted))

    def key(self, key: str) -> str:
        """The pseudonym of the key of a label, a taint or a finalizer, unless it is well known."""
        return key if key in _WELL_KNOWN else self.name(key)

    def _fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {field: self._field(field, value) for field, value in fields.items() if field not in _LEFT_OUT}

    def _field(self, field: str, value: Any) -> Any:
        """What stands for `value` under the name `field`, of whatever form it is."""
        if isinstance(value, dict):
            return self._mapping(field, value)
        if isinstance(value, list):
            if field in _LISTS_OF_KEYS:
                return [self.key(each) for each in value]
            if field in _LISTS_OF_REQUIREMENTS:
                return [self._requirement(each) for each in value]
            if field == "names":
                return [self._image(each) for each in value]
            return [self._field("", each) for each in value]
        return self._text(field, value) if isinstance(value, str) else value

    def _mapping(self, field: str, value: dict[str, Any]) -> dict[str, Any]:
        if field in _MAPS_OF_AMOUNTS:
            return value
        if field in _MAPS_OF_TEXTS:
            return {
                self.key(key): self._value(key, text) for key, text in value.items() if key not in _LEFT_OUT
            }
        if field in _MAPS_BY_NAME:
            return {self.name(key): each for key, each in value.items()}
        return self._fields(value)

    def _text(self, field: str, text: str) -> str:
        if field in _STAY or text in _ANY_ADDRESS:
            return text
        if field in _KEYS:
            return self.key(text)
        match field:
            case "type" if text in _TYPES:
                return text
            case "image":
                return self._image(text)
            case "schedulerName":
                return self._scheduler(text)
            case "priorityClassName":
                return self._class_name(text)
            case _:
                return self.name(text)

    def _requirement(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """A requirement on a label, a taint or a toleration: its values are those of its key."""
        key = fields.get("key", "")
        redacted = self._fields(fields)
        if fields.get("values"):
            redacted["values"] = [self._value(key, value) for value in fields["values"]]
        if isinstance(fields.get("value"), str):
            redacted["value"] = self._value(key, fields["value"])
        return redacted

    def _value(self, key: str, value: Any) -> Any:
        if not isinstance(value, str) or key == RUN_SECONDS:
            return value
        return value if key in self._numeric and _is_number(value) else self.name(value)

    def _image(self, image: str) -> str:
        """The image of a container or a node: `latest`, which is meant where there is no tag, stays."""
        repository, colon, tag = image.rpartition(":")
        if not colon or "/" in tag:
            return self._image_name(image)
        return f"{self._image_name(repository)}:{tag if tag == 'latest' else self.name(tag)}"

    def _image_name(self, name: str) -> str:
        """A name with a digest's algorithm or a registry's port in it."""
        head, colon, tail = name.partition(":")
        return f"{self.name(head)}:{self.name(tail)}" if colon else self.name(head)


def numeric_keys(payload: ev.Payload) -> dict[str, None]:
    """The keys of labels and taints that the object in `payload` compares by number."""
    found: dict[str, None] = {}

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if value.get("operator") in _BY_NUMBER and isinstance(value.get("key"), str):
                found[value["key"]] = None
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    raw = getattr(payload, "object", UNSET)
    if raw is not UNSET and any(b'"operator":"%b"' % name.encode() in bytes(raw) for name in _BY_NUMBER):
        walk(msgspec.json.decode(raw))
    return found


def without_texts(payload: ev.Payload) -> ev.Payload:
    """`payload` with `REDACTED` for its texts that say why."""
    replace = msgspec.structs.replace
    match payload:
        case ev.PodEvicted() | ev.BindingFailed():
            return replace(payload, message=REDACTED)
        case ev.GroupAttempted():
            return replace(
                payload,
                groups=tuple(
                    replace(
                        found,
                        message=_hidden(found.message),
                        text=_hidden(found.text),
                        placements=tuple(
                            replace(each, reason=_hidden(each.reason)) for each in found.placements
                        ),
                    )
                    for found in payload.groups
                ),
                shapes=tuple(
                    replace(
                        found,
                        message=_hidden(found.message),
                        nodes=tuple(replace(each, reason=_hidden(each.reason)) for each in found.nodes),
                    )
                    for found in payload.shapes
                ),
            )
        case _:
            return payload


def _hidden(text: str) -> str:
    return REDACTED if text else text


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal()
