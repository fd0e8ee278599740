"""A program that appends for ever and says which positions were acknowledged; somebody kills it."""

import sys

from drafts import drafts
from store.engine import open_store
from store.log import EventLog


def main(location: str, stream: str) -> None:
    """Append batches of one, two, … events, each about objects of its own and a shared one."""
    log = EventLog(open_store(location, create=False, durable=False), stream)
    size = 0
    while True:
        size = size % 400 + 1
        appended = log.append(drafts(size, f"{size}-"), at=size)
        print(appended.last, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
