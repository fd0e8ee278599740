"""P25: what was, and why, asked of a cluster whose log has a million events.

Gangs come, run and go; now and then one comes that no node has room for, is refused and waits. The
snapshots beside the log are those that the program leaves by itself. Figures are times in one process
that has the cluster open. Others may be at work on the machine, so its own time on a cpu is told too.
"""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

from benchmarks.books import BORN, book
from benchmarks.harness import Row
from domain.admission.kinds import NODE, POD, POD_GROUP, Kind
from domain.envelope import Draft
from domain.scheduling.cycle import decide
from domain.state import FORMAT
from domain.times import SECOND, parse_rfc3339
from domain.waiting import waiting_line
from store.engine import Store, open_store
from store.log import EventLog
from store.snapshots import Snapshots
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.explaining import why
from worker.history import history

EVENTS: Final = 1_000_000
REFUSED_EVERY: Final = 50_000
"""Events between two gangs that are refused; they wait to the end."""
PAGE: Final = 100
RUNS: Final = 7
MOST_MS: Final = 100.0

_STREAM: Final = "bench"
_BATCH: Final = 500
_TIME_A_BATCH: Final = 180 * SECOND
_LARGE: Final = 8
"""Pods of a gang that is refused."""

Question = Callable[[], object]


def measure() -> list[Row]:
    """The rows of this module."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "book.db")
        _make(path)
        store = open_store(path, create=False)
        rows = [_row("open the cluster", [lambda: _open(store).state] * RUNS)]
        cluster = _open(store)
        rows += [_row(what, questions) for what, questions in _asked(cluster)]
        store.close()
    return rows


def _asked(cluster: Cluster) -> Iterator[tuple[str, list[Question]]]:
    """What is measured, and the questions that are asked for it, no two about one place in the log."""
    group = _refused(1)
    near, far = _places(cluster)
    yield "why a gang is refused, now", [lambda: why(cluster, POD_GROUP, group)] * RUNS
    yield "why it was, right after a snapshot", [_why_at(cluster, group, next(near)) for _ in range(RUNS)]
    yield "why it was, right before the next", [_why_at(cluster, group, next(far)) for _ in range(RUNS)]
    yield "history of a gang that waits", [lambda: _page(cluster, POD_GROUP, group)] * RUNS
    yield "history of a Pod that is gone", [lambda: _page(cluster, POD, "default/job-010000-0")] * RUNS
    yield "get --at, right after a snapshot", [_get_at(cluster, next(near)) for _ in range(RUNS)]
    yield "get --at, right before the next", [_get_at(cluster, next(far)) for _ in range(RUNS)]
    yield "queue --at, right after a snapshot", [_queue_at(cluster, next(near)) for _ in range(RUNS)]
    yield "queue --at, right before the next", [_queue_at(cluster, next(far)) for _ in range(RUNS)]


def _places(cluster: Cluster) -> tuple[Iterator[int], Iterator[int]]:
    """Positions all over the second half of the log: right after snapshots, and right before the next."""
    kept = sorted(Snapshots(cluster.log.store, _STREAM, format=FORMAT).positions())
    kept = kept[len(kept) // 2 :]
    pairs = list(pairwise(kept))[:: len(kept) // (6 * RUNS + 1)]
    return (left + 10 for left, _ in pairs[::2]), (right - 1 for _, right in pairs[1::2])


def _why_at(cluster: Cluster, key: str, position: int) -> Question:
    return lambda: why(cluster, POD_GROUP, key, position=position)


def _get_at(cluster: Cluster, position: int) -> Question:
    return lambda: cluster.shown(NODE, "node-0250", cluster.state_at(position))


def _queue_at(cluster: Cluster, position: int) -> Question:
    def ask() -> object:
        state = cluster.state_at(position)
        return waiting_line(state, state.at)

    return ask


def _page(cluster: Cluster, kind: Kind, key: str) -> object:
    return list(history(cluster, kind, key, limit=PAGE))


def _row(what: str, questions: Sequence[Question]) -> Row:
    """Each of `questions` asked once; the medians of their times."""
    wall, cpu = [], []
    for question in questions:
        gc.collect()
        begun, began = time.perf_counter(), time.process_time()
        question()
        wall.append(1_000 * (time.perf_counter() - begun))
        cpu.append(1_000 * (time.process_time() - began))
    taken = statistics.median(wall)
    reference = f"{statistics.median(cpu):.0f} ms of cpu, {max(cpu):.0f} at most"
    return Row("P25", what, reference, taken, f"≤ {MOST_MS:.0f} ms", taken <= MOST_MS, " ms")


def _open(store: Store) -> Cluster:
    clock = VirtualClock(parse_rfc3339(BORN))
    cluster = Cluster.open(store, _STREAM, clock=clock)
    clock.advance_to(cluster.state.at)
    return cluster


def _make(path: str) -> None:
    """A store with such a log of a million events or a few more."""
    store = open_store(path, create=True, durable=False)
    clock = VirtualClock(parse_rfc3339(BORN))
    log, cluster = EventLog(store, _STREAM), Cluster.open(store, _STREAM, clock=clock)
    others = 0
    drafts = book(EVENTS, lambda: others)
    refused = 0
    while batch := list(islice(drafts, _BATCH)):
        clock.advance_to(clock.now() + _TIME_A_BATCH)
        log.append(batch, at=clock.now())
        cluster.refresh()
        before = cluster.state.position
        if before > (refused + 1) * REFUSED_EVERY:
            refused += 1
            cluster.apply(_large_gang(refused))
        taken = _try_those_refused(cluster, log, drafts)
        others += cluster.state.position - before - taken
    store.close()


def _try_those_refused(cluster: Cluster, log: EventLog, drafts: Iterator[Draft]) -> int:
    """Let the scheduler try large gangs that are due; how many of `drafts` that took.

    A gang of the book that is found on the way gets its own events.
    """
    taken = 0
    while (decision := decide(cluster.state, cluster.clock.now())) is not None:
        if decision.attempt.entity.startswith(f"PodGroup/{_refused(0)[:-4]}"):
            cluster.commit(decision)
            continue
        draft = next(drafts, None)
        if draft is None:
            return taken
        log.append([draft], at=cluster.clock.now())
        cluster.refresh()
        taken += 1
    return taken


def _refused(number: int) -> str:
    return f"default/large-{number:04}"


def _large_gang(number: int) -> list[dict[str, Any]]:
    """A PodGroup that wants all of its Pods at once, each of which wants more than any node has left."""
    name = _refused(number).partition("/")[2]
    resources = {"requests": {"cpu": "63", "memory": "2Gi"}}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{index}", "namespace": "default"},
            "spec": {
                "schedulingGroup": {"podGroupName": name},
                "containers": [{"name": "main", "image": "app", "resources": resources}],
            },
        }
        for index in range(_LARGE)
    ]
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": _LARGE}}},
    }
    return [group, *pods]
