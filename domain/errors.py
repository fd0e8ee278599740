"""What can go wrong, by kind; texts are for people, attributes for programs.

Two families. A `Refused` is the API server's answer to a request it does not take; `reason` is
the reason of a Kubernetes `Status`, which decides the HTTP code at the edge. The others are a
caller's mistake about the log, or a log that cannot be true.
"""

from collections.abc import Sequence
from dataclasses import dataclass


class GangerError(Exception):
    """Anything ganger itself raises. The text is one line that a person can act on."""


@dataclass(frozen=True)
class Cause:
    """One fault of a manifest: `field` is its path, `message` the text behind the path.

    `reason` is Kubernetes' cause type, such as `FieldValueInvalid`. Source: metav1.StatusCause.
    """

    reason: str
    message: str
    field: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class Refused(GangerError):
    """A request that was not taken; nothing of its batch is in the log.

    `kind` is what `details.kind` says: the kind for Invalid, else the resource (`podgroups`).
    """

    reason = "Unknown"

    def __init__(
        self,
        message: str,
        *,
        name: str = "",
        group: str = "",
        kind: str = "",
        causes: Sequence[Cause] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.name = name
        self.group = group
        self.kind = kind
        self.causes = tuple(causes)


class BadRequest(Refused):
    """The body cannot be decoded as the object it claims to be."""

    reason = "BadRequest"


class Forbidden(Refused):
    """Admission says no, for instance to a priority that no class gives."""

    reason = "Forbidden"


class NotFound(Refused):
    """There is no object of this kind and name."""

    reason = "NotFound"


class AlreadyExists(Refused):
    """An object of this kind and name is there already."""

    reason = "AlreadyExists"


class Conflict(Refused):
    """The object has changed since the caller read it."""

    reason = "Conflict"


class Invalid(Refused):
    """The object breaks a rule; `causes` has every fault."""

    reason = "Invalid"


class Expired(Refused):
    """The position asked for is not in the log: compacted, or in the future."""

    reason = "Expired"


class PositionConflict(GangerError):
    """The log has moved on since the caller looked; nothing was appended."""

    def __init__(self, stream: str, *, expected: int, head: int) -> None:
        super().__init__(f"stream {stream!r} is at position {head}, not at {expected}")
        self.stream = stream
        self.expected = expected
        self.head = head


class CorruptLog(GangerError):
    """The log says what cannot be: a broken chain, a gap, an event that could not happen there."""

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message if position is None else f"position {position}: {message}")
        self.position = position
