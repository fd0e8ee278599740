"""A program that appends to a log that others append to as well, and says where each batch went."""

import sys

from domain.errors import PositionConflict
from drafts import draft
from store.engine import open_store
from store.log import EventLog


def main(location: str, stream: str, name: str, count: str) -> None:
    """`count` batches, every second one on the condition that nobody came between."""
    store = open_store(location, create=False, durable=False)
    log = EventLog(store, stream)
    for number in range(int(count)):
        size = 300 if number % 10 == 9 else 1 + number % 3
        batch = [draft(f"{name}-{number}-{index}") for index in range(size - 1)] + [draft("shared")]
        while True:
            expected = log.head().position if number % 2 else None
            try:
                appended = log.append(batch, at=number, expected=expected)
            except PositionConflict:
                continue
            break
        print(name, number, appended.first, appended.last, flush=True)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
