"""What can go wrong on the command line itself."""

from domain.errors import GangerError


class CannotDo(GangerError):
    """What was asked for cannot be done; the text says why and what to do."""


class FromServer(GangerError):
    """A server's refusal, in the words of kubectl; `reason` is that of its Status."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"Error from server ({reason}): {message}")
        self.reason = reason
