"""The hash chain, checked event by event over the bytes as they are kept."""

from typing import NamedTuple

import msgspec

from domain.envelope import GENESIS, Envelope, chain, decode_line
from domain.errors import CorruptLog


class StoredEvent(NamedTuple):
    """An event as it is kept. `at` is in microseconds since 1970; `line` has the type and time again."""

    position: int
    type: str
    at: int
    line: bytes
    hash: bytes


class Head(NamedTuple):
    """The newest event of a stream; position 0, `GENESIS` and time 0 where there is none."""

    position: int
    hash: bytes
    at: int


EMPTY_HEAD = Head(0, GENESIS, 0)


class ChainChecker:
    """Follows a log from any position on and says where it first cannot be true.

    A log that is entered in the middle may begin in the middle of a batch.
    """

    def __init__(self, start: Head = EMPTY_HEAD) -> None:
        self._position, self._hash, self._at = start
        self._batch: int | None = None

    @property
    def head(self) -> Head:
        """The newest event that was checked, at first the one to start after."""
        return Head(self._position, self._hash, self._at)

    def check(self, event: StoredEvent) -> Envelope:
        """Check `event` as the next one; return what its line says. Raises CorruptLog, with a position."""
        position, kind, at, line, digest = event
        expected = self._position + 1
        if position != expected:
            raise CorruptLog(f"the event is missing; position {position} follows", position=expected)
        envelope = self.check_line(line, digest)
        if envelope.kind != kind:
            raise CorruptLog(
                f"the line is of type {envelope.kind}, the row of type {kind}", position=position
            )
        if envelope.at != at:
            raise CorruptLog(f"the line was written at {envelope.at}, the row at {at}", position=position)
        return envelope

    def check_line(self, line: bytes, digest: bytes) -> Envelope:
        """The same for an event of which only the line and its hash are kept."""
        position = self._position + 1
        try:
            follows = chain(self._hash, line) == digest
        except TypeError as error:  # SQLite keeps any type in any column
            raise CorruptLog(f"the line is not bytes: {error}", position=position) from error
        if not follows:
            raise CorruptLog(
                "the hash does not follow from the line and the hash before it", position=position
            )
        try:
            envelope = decode_line(line)
        except msgspec.DecodeError as error:
            raise CorruptLog(f"the line is not an event: {error}", position=position) from error
        self._check_place(envelope, position)
        self._position, self._hash, self._at, self._batch = position, digest, envelope.at, envelope.batch
        return envelope

    def _check_place(self, envelope: Envelope, position: int) -> None:
        batch = envelope.batch
        if envelope.position != position:
            raise CorruptLog(f"the line says that it is position {envelope.position}", position=position)
        if envelope.at < self._at:
            raise CorruptLog(f"time goes back from {self._at} to {envelope.at}", position=position)
        follows = batch in (self._batch, position) or (self._batch is None and 1 <= batch <= position)
        if not follows or envelope.index != position - batch:
            raise CorruptLog(
                f"cannot be number {envelope.index} of the batch that began at {batch}", position=position
            )
