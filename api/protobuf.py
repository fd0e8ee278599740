"""Kubernetes' protobuf, as far as kubectl sends it: some of its commands take no other format.

Objects and options are read, and answered in JSON, which every client takes as well. Nothing is dropped:
what is not known is refused. Source: generated.proto of k8s.io/api and k8s.io/apimachinery, Kubernetes 1.37.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from domain.errors import BadRequest
from domain.times import EARLIEST, LATEST, SECOND, rfc3339

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

_MAGIC: Final = b"k8s\x00"

Value: TypeAlias = int | bytes
"""What stands on the wire: a number, or the bytes of a text or message."""
Reader: TypeAlias = Callable[[Value], Any]


class Field(NamedTuple):
    """A field of a message. `zero`: its zero value says something, so that JSON would not leave it out."""

    name: str
    read: Reader
    many: bool = False
    zero: bool = False


Message: TypeAlias = Mapping[int, Field]


class UnknownKind(Exception):
    """The body holds an object of a kind that is not read from protobuf."""


def read_protobuf(body: bytes) -> dict[str, Any]:
    """The object in `body`, as its JSON would say it. Raises BadRequest, and UnknownKind."""
    if not body.startswith(_MAGIC):
        raise BadRequest("body: it is no Kubernetes protobuf: it does not begin with k8s\\0")
    envelope = _read(body[len(_MAGIC) :], _ENVELOPE)
    said: dict[str, Any] = envelope.get("typeMeta", {})
    message = _KINDS.get((said.get("apiVersion", ""), said.get("kind", "")))
    if message is None:
        raise UnknownKind
    return {**said, **_read(envelope.get("raw", b""), message)}


def _read(data: bytes, message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        field = message.get(number)
        if field is None:
            raise BadRequest(f"body: field {number} of a protobuf message is not known")
        read = field.read(value)
        if isinstance(read, _Entry):
            found.setdefault(field.name, {})[read.key] = read.value
        elif field.many:
            found.setdefault(field.name, []).append(read)
        elif read or field.zero:
            found[field.name] = read
    return found


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Number and value of each field, in the order of the wire."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise BadRequest("body: a protobuf message ends too soon")
            yield tag >> 3, data[at : at + length]
            at += length
        else:
            raise BadRequest(f"body: wire type {tag & 7} of a protobuf message is not known")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if at + place >= len(data):
            raise BadRequest("body: a protobuf message ends too soon")
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise BadRequest("body: a number of a protobuf message is too long")


class _Entry(NamedTuple):
    """An entry of a map."""

    key: str
    value: Any


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise BadRequest("body: a field of a protobuf message has the wrong type")
    return value


def _text(value: Value) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise BadRequest("body: a text of a protobuf message is not UTF-8") from error


def _number(value: Value) -> int:
    if not isinstance(value, int):
        raise BadRequest("body: a field of a protobuf message has the wrong type")
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


def _flag(value: Value) -> bool:
    return _number(value) != 0


def _struct(message: Message) -> Reader:
    return lambda value: _read(_bytes(value), message)


def _map_entry(value: Value) -> _Entry:
    entry = _read(_bytes(value), {1: Field("key", _text), 2: Field("value", _text)})
    return _Entry(entry.get("key", ""), entry.get("value", ""))


def _time(value: Value) -> str | None:
    """A time; None for the zero time, which a client sends where there is none."""
    read = _read(_bytes(value), {1: Field("seconds", _number), 2: Field("nanos", _number)})
    if not read:
        return None
    at = read.get("seconds", 0) * SECOND
    if not EARLIEST <= at <= LATEST:
        raise BadRequest("body: a time of a protobuf message is out of range")
    return rfc3339(at)


def _int_or_string(value: Value) -> int | str:
    read = _read(
        _bytes(value), {1: Field("type", _number), 2: Field("number", _number), 3: Field("text", _text)}
    )
    found: int | str = read.get("text", "") if read.get("type") else read.get("number", 0)
    return found


_ENVELOPE: Final[Message] = {
    1: Field("typeMeta", _struct({1: Field("apiVersion", _text), 2: Field("kind", _text)})),
    2: Field("raw", _bytes),
    3: Field("contentEncoding", _text),
    4: Field("contentType", _text),
}
_OWNER: Final[Message] = {
    1: Field("kind", _text),
    3: Field("name", _text),
    4: Field("uid", _text),
    5: Field("apiVersion", _text),
    6: Field("controller", _flag, zero=True),
    7: Field("blockOwnerDeletion", _flag, zero=True),
}
_METADATA: Final[Message] = {
    1: Field("name", _text),
    2: Field("generateName", _text),
    3: Field("namespace", _text),
    4: Field("selfLink", _text),
    5: Field("uid", _text),
    6: Field("resourceVersion", _text),
    7: Field("generation", _number),
    8: Field("creationTimestamp", _time),
    9: Field("deletionTimestamp", _time),
    10: Field("deletionGracePeriodSeconds", _number, zero=True),
    11: Field("labels", _map_entry),
    12: Field("annotations", _map_entry),
    13: Field("ownerReferences", _struct(_OWNER), many=True),
    14: Field("finalizers", _text, many=True),
}
_REQUIREMENT: Final[Message] = {
    1: Field("key", _text),
    2: Field("operator", _text),
    3: Field("values", _text, many=True),
}
_SELECTOR: Final[Message] = {
    1: Field("matchLabels", _map_entry),
    2: Field("matchExpressions", _struct(_REQUIREMENT), many=True),
}
_CONDITION: Final[Message] = {
    1: Field("type", _text),
    2: Field("status", _text),
    3: Field("observedGeneration", _number),
    4: Field("lastTransitionTime", _time),
    5: Field("reason", _text),
    6: Field("message", _text),
}
_BUDGET_STATUS: Final[Message] = {
    1: Field("observedGeneration", _number),
    3: Field("disruptionsAllowed", _number),
    4: Field("currentHealthy", _number),
    5: Field("desiredHealthy", _number),
    6: Field("expectedPods", _number),
    7: Field("conditions", _struct(_CONDITION), many=True),
}
_BUDGET_SPEC: Final[Message] = {
    1: Field("minAvailable", _int_or_string, zero=True),
    2: Field("selector", _struct(_SELECTOR), zero=True),
    3: Field("maxUnavailable", _int_or_string, zero=True),
    4: Field("unhealthyPodEvictionPolicy", _text),
}
_PRECONDITIONS: Final[Message] = {1: Field("uid", _text), 2: Field("resourceVersion", _text)}
_OPTIONS: Final[Message] = {
    1: Field("gracePeriodSeconds", _number, zero=True),
    2: Field("preconditions", _struct(_PRECONDITIONS)),
    3: Field("orphanDependents", _flag, zero=True),
    4: Field("propagationPolicy", _text),
    5: Field("dryRun", _text, many=True),
    6: Field("ignoreStoreReadErrorWithClusterBreakingPotential", _flag, zero=True),
}
_HEAD: Final = Field("metadata", _struct(_METADATA))

_KINDS: Final[Mapping[tuple[str, str], Message]] = {
    ("v1", "Namespace"): {
        1: _HEAD,
        2: Field("spec", _struct({1: Field("finalizers", _text, many=True)})),
        3: Field("status", _struct({1: Field("phase", _text)})),
    },
    ("scheduling.k8s.io/v1", "PriorityClass"): {
        1: _HEAD,
        2: Field("value", _number, zero=True),
        3: Field("globalDefault", _flag),
        4: Field("description", _text),
        5: Field("preemptionPolicy", _text, zero=True),
    },
    ("policy/v1", "PodDisruptionBudget"): {
        1: _HEAD,
        2: Field("spec", _struct(_BUDGET_SPEC)),
        3: Field("status", _struct(_BUDGET_STATUS)),
    },
    **{
        (version, "DeleteOptions"): _OPTIONS
        for version in ("v1", "meta.k8s.io/v1", "scheduling.k8s.io/v1", "policy/v1")
    },
}
