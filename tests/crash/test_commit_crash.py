"""`kill -9` of a worker at any point: no half decision, and whoever takes over finishes the work."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from books import lost_wake_ups
from build import START, Manifest, group, node, pod
from domain.envelope import decode_line
from domain.events import PodBound
from domain.state import State
from domain.upcast import CURRENT
from store.engine import Store, open_store
from store.log import EventLog
from worker.clocks import VirtualClock
from worker.cluster import Cluster
from worker.loop import Worker
from worker.replaying import StoredLog, replay

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

HERE = Path(__file__).resolve().parent
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join((str(HERE.parents[1]), str(HERE.parent)))}
MOST_STEPS = 400

RUNS = {"ganger.dev/run-seconds": "30"}
WORK: list[Manifest] = [
    node("n", cpu="4"),
    group("a", 2),
    *[pod(f"a-{number}", cpu="1", group="a", annotations=RUNS) for number in range(2)],
    group("b", 3),
    *[pod(f"b-{number}", cpu="1", group="b") for number in range(3)],
    group("c", 2),
    *[pod(f"c-{number}", cpu="500m", group="c") for number in range(2)],
]
"""One run decides for all three. Gang `a` runs for half a minute, then `b` has room."""


class Killer:
    """Runs `working.py` on a store."""

    def __init__(self, location: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "working.py"), location],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )

    def killed(self, stream: str, step: int) -> bool:
        """Whether the worker was killed at that step; False if it had done all before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{stream} {step}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        assert answer in ("killed", "done")
        return answer == "killed"

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()


@pytest.fixture
def killer(location: str) -> Iterator[Killer]:
    """A killer on a store of its own."""
    killer = Killer(location)
    yield killer
    killer.close()


def begin(store: Store, stream: str) -> None:
    """What was asked for before the worker started."""
    uids = (f"00000000-0000-4000-8000-{number:012x}" for number in count(1))
    Cluster.open(store, stream, clock=VirtualClock(START), new_uid=lambda: next(uids)).apply(WORK)


def outcome(state: State) -> dict[str, tuple[str | None, str]]:
    return {key: (each.node, each.phase) for key, each in state.pods.items()}


def assert_whole(cluster: Cluster) -> None:
    """What a killed worker has left: whole batches of whole gangs, in a log that holds."""
    bound: dict[int, dict[str, int]] = {}
    for stored in cluster.log.read():
        payload = CURRENT.event(stored.type, stored.line).payload
        if isinstance(payload, PodBound):
            batch = bound.setdefault(decode_line(stored.line).batch, {})
            batch[payload.group or ""] = batch.get(payload.group or "", 0) + 1
    for groups in bound.values():
        assert groups in ({"default/a": 2}, {"default/b": 3}, {"default/c": 2})
    for key, members in cluster.state.members.items():
        assert len(members.bound) in (0, cluster.state.groups[key].min_count)


def finish(store: Store, stream: str) -> dict[str, tuple[str | None, str]]:
    """Open what was left, look at it, and do what is still to do."""
    clock = VirtualClock(START)
    cluster = Cluster.open(store, stream, clock=clock)
    assert_whole(cluster)
    unfinished = [key for key, (on, phase) in outcome(cluster.state).items() if on and phase == "Pending"]
    worker = Worker(cluster)
    if unfinished:
        assert worker.step()  # bindings that nobody has carried out come first
        assert all(cluster.state.pods[key].phase == "Running" for key in unfinished)
    worker.settle(clock)
    assert lost_wake_ups(cluster.state, clock.now()) == []
    assert replay(StoredLog(cluster.log)).same  # which checks the chain, too
    return outcome(cluster.state)


def test_killed_at_every_step(location: str, killer: Killer) -> None:
    store = open_store(location, create=False, durable=False)
    begin(store, "undisturbed")
    expected = finish(store, "undisturbed")
    assert expected == {
        **{f"default/a-{number}": ("n", "Succeeded") for number in range(2)},
        **{f"default/b-{number}": ("n", "Running") for number in range(3)},
        **{f"default/c-{number}": ("n", "Running") for number in range(2)},
    }
    every = 1 if os.environ.get("CI") or store.url.get_backend_name() == "sqlite" else 3
    finished = set()  # with the same hash, the same log was left
    for step in count(1, every):
        begin(store, f"s{step}")
        killed = killer.killed(f"s{step}", step)
        log = EventLog(store, f"s{step}")
        head = log.head()
        assert log.get(head.position + 1) is None
        if head.hash not in finished:
            finished.add(head.hash)
            assert finish(store, f"s{step}") == expected
        if not killed:
            break
        assert step < MOST_STEPS
    assert step > 30
    assert len(finished) == 6 or every > 1  # nothing, and one more for each transaction
    store.close()


def test_killed_again_and_again(location: str, killer: Killer) -> None:
    """Each worker gets a little further than the last and is killed, too; the work is done in the end."""
    store = open_store(location, create=False, durable=False)
    begin(store, "s")
    for kills in count():
        if not killer.killed("s", 8 * (kills + 1)):
            break
        assert kills < MOST_STEPS
    assert kills > 3
    finished = finish(store, "s")
    assert {on for on, _ in finished.values()} == {"n"}
    store.close()
