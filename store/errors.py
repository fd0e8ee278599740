"""What can go wrong with a store: one kind a class, one line a message, with what to do about it."""

from domain.errors import GangerError


class StoreError(GangerError):
    """The store cannot do what was asked of it."""


class StoreMissing(StoreError):
    """There is nothing where the store should be."""


class NotAStore(StoreError):
    """What is there belongs to somebody else: not a database, or a database that is not ganger's."""


class SchemaOutdated(StoreError):
    """The tables are older than the program, or not there yet, and are upgraded on command only."""


class SchemaNewer(StoreError):
    """The tables were made by a newer ganger."""


class StoreLocked(StoreError):
    """Another process held the store for longer than the timeout; trying again may help."""


class StoreReadOnly(StoreError):
    """The store can be read but not written."""


class StoreFull(StoreError):
    """The disk, or the quota, is used up."""


class StoreDamaged(StoreError):
    """The database says that its own file is broken."""


class StoreUnavailable(StoreError):
    """The server cannot be reached, or the connection to it was lost."""


class StaleEpoch(StoreError):
    """The lease has gone to somebody else; nothing was appended under the old one."""

    def __init__(self, stream: str, *, epoch: int, current: int) -> None:
        super().__init__(f"the lease of stream {stream!r} is in epoch {current}, this one was epoch {epoch}")
        self.stream = stream
        self.epoch = epoch
        self.current = current


class LeaseHeld(StoreError):
    """Another worker is active on the stream."""

    def __init__(self, stream: str, *, holder: str, expires_us: int) -> None:
        super().__init__(f"stream {stream!r} already has an active worker: {holder}")
        self.stream = stream
        self.holder = holder
        self.expires_us = expires_us


class CommitConflict(StoreError):
    """What was appended since the decision's snapshot touches what it relies on; nothing was appended."""

    def __init__(self, stream: str, *, snapshot_position: int, head: int) -> None:
        super().__init__(
            f"stream {stream!r} went from position {snapshot_position} to {head},"
            " with events that the decision relies on"
        )
        self.stream = stream
        self.snapshot_position = snapshot_position
        self.head = head


class IdempotencyMismatch(StoreError):
    """The idempotency key was used before, for other events; nothing was appended."""

    def __init__(self, stream: str, key: str) -> None:
        super().__init__(f"idempotency key {key!r} of stream {stream!r} was used before, for other events")
        self.stream = stream
        self.key = key


class StreamNotEmpty(StoreError):
    """What is imported or kept needs a stream without events."""

    def __init__(self, stream: str, head: int) -> None:
        super().__init__(f"stream {stream!r} already has {head} events: name one that has none")
        self.stream = stream
        self.head = head


class BadArchive(StoreError):
    """A `ganger-log` file that is truncated, altered or of an unknown version.

    `line` counts from 1, the header; `position` is that of the event in it, None in the header.
    """

    def __init__(self, message: str, *, line: int, position: int | None = None) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
        self.position = position
