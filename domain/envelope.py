"""An event as it is kept: canonical bytes, and the hash that chains it to the one before.

A *line* is the canonical JSON of envelope and payload together: keys sorted, UTF-8, no spaces,
whole numbers only. `hash = sha256(hash before it ‖ line)`; before the first stands 32 zero bytes.
The stream's name is not in the line, so a log has one head hash under whatever name it is kept.
"""

import hashlib
from typing import Any

import msgspec

GENESIS = bytes(32)


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An event before it has a place: all that its author knows.

    `payload` is canonical JSON; `subjects` are the objects it concerns, such as
    `Pod/default/trainer-0` or `Node/n1`, sorted and without repetition; `cause` is the position of
    what led to it, None for what came from outside.
    """

    type: str
    version: int
    subjects: tuple[str, ...]
    payload: bytes
    actor: str
    cause: int | None = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True, rename={"kind": "type"}):
    """A line, read: `at` in microseconds since 1970; `index` counts from 0 within `batch`.

    `batch` is the position of the batch's first event. Fields stand in the order of the line.
    """

    actor: str
    at: int
    batch: int
    cause: int | None = None
    index: int
    payload: msgspec.Raw
    position: int
    subjects: tuple[str, ...]
    kind: str
    version: int


_decode_envelope = msgspec.json.Decoder(Envelope).decode
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def canonical(value: Any) -> bytes:
    """The canonical JSON of plain data: keys sorted, no spaces, UTF-8."""
    return _encode_sorted(value)


def encode_line(draft: Draft, *, position: int, batch: int, at: int) -> bytes:
    """The line of `draft` at `position` in the batch that began at position `batch`."""
    return _encode(
        Envelope(
            actor=draft.actor,
            at=at,
            batch=batch,
            cause=draft.cause,
            index=position - batch,
            payload=msgspec.Raw(draft.payload),
            position=position,
            subjects=draft.subjects,
            kind=draft.type,
            version=draft.version,
        )
    )


def decode_line(line: bytes) -> Envelope:
    """The envelope of a line. Raises msgspec.DecodeError or ValidationError if it is none."""
    return _decode_envelope(line)


def chain(previous: bytes, line: bytes) -> bytes:
    """The hash of the event whose line is `line`, 32 bytes."""
    return hashlib.sha256(previous + line).digest()
