"""`kill -9` at any point of an append: no half batch, nothing acknowledged is lost, a retry is safe."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.crashing import BEFORE, append_batch, batch_of, prepare
from domain.envelope import decode_line
from store.engine import open_store
from store.log import EventLog
from store.verify import verify

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

HERE = Path(__file__).resolve().parent
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join((str(HERE.parents[1]), str(HERE.parent)))}
MOST_STEPS = 200


class Crasher:
    """Runs `crashing.py` on a store."""

    def __init__(self, location: str) -> None:
        self.location = location
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "crashing.py"), location],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )

    def killed(self, stream: str, scenario: str, step: int) -> bool:
        """Whether the task was killed at that step; False if it has no so many steps and came to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{stream} {scenario} {step}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        assert answer in ("killed", "done")
        return answer == "killed"

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()


@pytest.fixture
def crasher(location: str) -> Iterator[Crasher]:
    """A crasher on a store of its own."""
    crasher = Crasher(location)
    yield crasher
    crasher.close()


@pytest.mark.parametrize(
    ("scenario", "fewest_steps"),
    [("first", 10), ("small", 10), ("bulk", 12), ("group", 4), ("unlocked", 4), ("commit", 20)],
)
def test_killed_at_every_step(crasher: Crasher, scenario: str, fewest_steps: int) -> None:
    step = 1
    while crasher.killed(f"s{step}", scenario, step):
        check(crasher.location, f"s{step}", scenario)
        step += 1
        assert step < MOST_STEPS
    assert step >= fewest_steps
    check(crasher.location, f"s{step}", scenario, whole=True)


def check(location: str, stream: str, scenario: str, *, whole: bool = False) -> None:
    """What a reopened store must hold; then do it again, as a client would that had no answer."""
    store = open_store(location, create=False, durable=False)
    log = EventLog(store, stream)
    before = 0 if scenario == "first" else BEFORE
    size = len(batch_of(scenario))
    head = verify(log, deep=True).position
    assert head in ((before + size,) if whole else (before, before + size))
    if scenario in ("group", "unlocked"):  # no key: only the caller can know
        store.close()
        return
    for _ in range(2):
        append_batch(log, scenario)
    assert verify(log, deep=True).position == before + size
    assert {decode_line(event.line).batch for event in log.read(before)} == {before + 1}
    assert [event.position for event in log.of_type("GroupAttempted")] == [before + size]
    store.close()


@pytest.mark.parametrize("acknowledged", [1, 7, 40])
def test_killed_at_some_moment(location: str, acknowledged: int) -> None:
    """Not between statements but anywhere; the process says what was acknowledged until it dies."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "acknowledging.py"), location, "default"],
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    for _ in range(acknowledged):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    last = [line for line in process.communicate()[0].splitlines(keepends=True) if line.endswith("\n")]
    promised = int(last[-1]) if last else acknowledged * (acknowledged + 1) // 2

    store = open_store(location, create=False, durable=False)
    log = EventLog(store, "default")
    assert verify(log, deep=True).position >= promised
    batches: dict[int, int] = {}
    for event in log.read():
        batch = decode_line(event.line).batch
        batches[batch] = batches.get(batch, 0) + 1
    assert list(batches.values()) == list(range(1, len(batches) + 1))  # none is half there
    prepare(log)
    verify(log, deep=True)
    store.close()
