"""P8 and P9: what a State of 5,000 nodes and 150,000 Pods weighs, and how soon it is back."""

import gc
import tempfile
import tracemalloc
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path
from typing import Final

from benchmarks.books import BORN, EVENTS_A_GANG, GANG, running
from benchmarks.harness import Row, median_ratio
from domain.reducer import fold
from domain.state import FORMAT, State, decode_state, encode_state
from domain.times import SECOND, parse_rfc3339
from domain.upcast import CURRENT
from store.append import Batch
from store.engine import open_store
from store.log import EventLog
from store.snapshots import Snapshots

NODES: Final = 5_000
PODS: Final = 150_000
_AT_ONCE: Final = 500


def measure() -> list[Row]:
    """The rows of this module."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "book.db"), create=True, durable=False)
        log, snapshots = EventLog(store, "bench"), Snapshots(store, "bench", format=FORMAT)
        _fill(log)

        def folded() -> State:
            return fold(State(), (CURRENT.event(event.type, event.line) for event in log.read()))

        state, weight = _weighed(folded)
        head = log.head()
        snapshots.save(head.position, head.hash, encode_state(state))

        def loaded() -> State:
            found = snapshots.load().snapshot
            assert found is not None
            return decode_state(found.body)

        assert encode_state(loaded()) == encode_state(state)
        sooner = median_ratio(loaded, folded)
        store.close()
    what = f"State of {NODES:,} nodes and {PODS:,} live Pods"
    each = weight / PODS
    return [
        Row("P8", f"{what}: memory a Pod", "", each, "≤ 600 B", each <= 600, " B"),
        Row("P9", f"{what}: load of its snapshot", "fold of its events", sooner, "≥ 20×", sooner >= 20),
    ]


def _fill(log: EventLog) -> None:
    """The nodes at once, then the events about each gang at a moment of their own."""
    clock = count(parse_rfc3339(BORN), SECOND)
    drafts = running(NODES, PODS // GANG)
    log.append(list(islice(drafts, NODES)), at=next(clock))
    gangs = iter(lambda: list(islice(drafts, EVENTS_A_GANG)), [])
    while batches := [Batch(drafts=gang, at=next(clock)) for gang in islice(gangs, _AT_ONCE)]:
        log.append_all(batches)


def _weighed(folded: Callable[[], State]) -> tuple[State, int]:
    """A State, and how many bytes it takes."""
    gc.collect()
    tracemalloc.start()
    state = folded()
    gc.collect()
    weight, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return state, weight
