"""Logs as their lines: what a store keeps and a log file has, without either."""

from collections.abc import Iterator, Sequence

from domain.envelope import GENESIS, chain, decode_line, encode_line
from domain.upcast import draft
from ganger_testing.book import Book
from store.chain import StoredEvent


class Lines:
    """The log of some lines, as a store gives it; whatever they say, its chain holds."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.stored: list[StoredEvent] = []
        previous = GENESIS
        for line in lines:
            read = decode_line(line)
            previous = chain(previous, line)
            self.stored.append(StoredEvent(read.position, read.kind, read.at, line, previous))

    def beginning(self) -> None:
        """Such a log begins at position 1."""

    def events(self) -> Iterator[StoredEvent]:
        """All events, oldest first."""
        return iter(self.stored)

    def attempts(self) -> Iterator[StoredEvent]:
        """The GroupAttempted events, oldest first."""
        return (event for event in self.stored if event.type == "GroupAttempted")


def lines_of(book: Book) -> list[bytes]:
    """The lines of the log in `book`."""
    firsts = set(book.batches)
    lines, batch = [], 1
    for event in book.events:
        batch = event.position if event.position in firsts else batch
        written = draft(event.payload, actor="test")
        lines.append(encode_line(written, position=event.position, batch=batch, at=event.at))
    return lines
