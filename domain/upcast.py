"""Reading the book, whatever version a page was written in.

`CURRENT` decodes lines of today's schema in one typed pass. A line of an older version goes
through every upcaster from its version to today's, each a function from the payload as plain
data to the payload of the next version.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from domain.envelope import Draft, canonical, decode_line
from domain.errors import CorruptLog
from domain.events import PAYLOADS, VERSIONS, Event, Payload, subjects

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


def _as_it_was(payload: dict[str, Any]) -> dict[str, Any]:
    """For a version that can say more than the one before, and says the same with the same fields."""
    return payload


UPCASTERS: dict[tuple[str, int], Upcaster] = {
    ("SchedulerConfigured", 1): _as_it_was,  # 2 has profiles and siblings
}
"""By type and the version that it takes; it gives the next one."""

_encode = msgspec.json.Encoder().encode


class Reader:
    """Turns stored lines into events, for a given set of types, versions and upcasters."""

    def __init__(
        self,
        payloads: Mapping[str, type[Payload]] = PAYLOADS,
        versions: Mapping[str, int] = VERSIONS,
        upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
    ) -> None:
        self._versions = versions
        self._upcasters = upcasters
        self._payloads = payloads
        self._typed = {name: _line_decoder(payload) for name, payload in payloads.items()}

    def event(self, kind: str, line: bytes) -> Event:
        """The event of a line of type `kind`.

        Raises CorruptLog for an unknown type or version, or a payload that is not of its type.
        """
        decode = self._typed.get(kind)
        if decode is None:
            raise CorruptLog(f"unknown event type {kind!r}", position=_position(line))
        try:
            read = decode(line)
        except msgspec.DecodeError as error:
            return self._older(kind, line, error)
        if read.version != self._versions[kind]:
            return self._older(kind, line, None)
        return read

    def _older(self, kind: str, line: bytes, error: Exception | None) -> Event:
        position = _position(line)
        envelope = decode_line(line)
        version = envelope.version
        current = self._versions[kind]
        if version == current:
            raise CorruptLog(f"{kind} cannot be read: {error}", position=position)
        if version > current:
            raise CorruptLog(
                f"{kind} has schema version {version}, this program knows up to {current}: use a newer one",
                position=position,
            )
        payload = msgspec.json.decode(envelope.payload)
        try:
            while version < current:
                step = self._upcasters.get((kind, version))
                if step is None:
                    raise CorruptLog(f"{kind} has the unknown schema version {version}", position=position)
                payload = step(payload)
                version += 1
            typed = msgspec.json.decode(canonical(payload), type=self._payloads[kind])
        except msgspec.ValidationError as failure:
            raise CorruptLog(f"{kind} cannot be read: {failure}", position=position) from failure
        except (LookupError, TypeError, ValueError) as failure:
            raise CorruptLog(
                f"{kind} of schema version {envelope.version} cannot be read: {failure!r}", position=position
            ) from failure
        return Event(position, envelope.at, typed)


class _Line(Event, frozen=True, gc=False):
    """An event as it is read: one pass gives the event and the version it was written in."""

    version: int


def _line_decoder(payload: type[Payload]) -> Callable[[bytes], _Line]:
    line = msgspec.defstruct(f"{payload.__name__}Line", [("payload", payload)], bases=(_Line,), frozen=True)
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(line)
    return decoder.decode


def _position(line: bytes) -> int:
    try:
        return decode_line(line).position
    except msgspec.DecodeError as error:
        raise CorruptLog(f"not an event: {error}") from error


CURRENT = Reader()


def draft(payload: Payload, *, actor: str, cause: int | None = None) -> Draft:
    """`payload` ready to be appended, at today's schema version."""
    kind = type(payload).__name__
    return Draft(
        type=kind,
        version=VERSIONS[kind],
        subjects=subjects(payload),
        payload=_encode(payload),
        actor=actor,
        cause=cause,
    )
