"""Assertions that the same log gives the same bytes: folded again, in other pieces, elsewhere.

A log is whatever `worker.replaying` can replay: the Lines of a Book, the log of a stream in a store,
or an exported file. An AssertionError says what came out differently, and of what.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from domain.events import Event, GroupAttempted
from domain.reducer import fold
from domain.scheduling.cycle import Decision, decide
from domain.state import State, decode_state, encode_state
from domain.upcast import CURRENT, draft
from store.chain import StoredEvent
from worker.replaying import Divergence, Source, replay

PIECES = (1, 7, 60)
"""How many events are folded at a time."""

HASH_SEEDS = ("0", "1", "4711", "random")
"""PYTHONHASHSEED of the processes; the last one differs each time."""


def events_of(source: Source) -> list[Event]:
    """The events of a log, oldest first."""
    return [_event(each) for each in source.events()]


def _event(stored: StoredEvent) -> Event:
    return CURRENT.event(stored.type, stored.line)


def assert_folds_alike(source: Source, pieces: Sequence[int] = PIECES) -> None:
    """The log folds to the same bytes twice, in pieces of any size, and from snapshots between them."""
    events = events_of(source)
    whole = encode_state(fold(State(), events))
    assert encode_state(fold(State(), events)) == whole, "folded twice, it gave other bytes"
    for size in pieces:
        assert encode_state(_in_pieces(events, size)) == whole, (
            f"folded {size} at a time, it gave other bytes"
        )
        restored = encode_state(_in_pieces(events, size, snapshots=True))
        assert restored == whole, f"folded from snapshots {size} events apart, it gave other bytes"


def _in_pieces(events: Sequence[Event], size: int, *, snapshots: bool = False) -> State:
    state = State()
    for start in range(0, len(events), size):
        fold(state, events[start : start + size])
        if snapshots:
            state = decode_state(encode_state(state))
    return state


def assert_decides_alike(source: Source) -> None:
    """At each attempt of the log, what is decided is the same from a snapshot as from the State that
    went on, deciding changes nothing, and the batch in the log is that batch once more."""
    state = State()
    for stored in source.events():
        event = _event(stored)
        if isinstance(event.payload, GroupAttempted):
            _decide_twice(state, event.at)
        fold(state, (event,))
    _decide_twice(state, state.at)
    assert_replays(source)


def _decide_twice(state: State, now: int) -> None:
    before = encode_state(state)
    restored = decode_state(before)
    first, second = decide(state, now), decide(restored, now)
    assert encode_state(state) == before, f"deciding at position {state.position} changed the State"
    assert bytes_of(first) == bytes_of(second), f"a snapshot of position {state.position} decides otherwise"


def assert_replays(source: Source) -> None:
    """The chain of the log holds, and each of its attempts is decided once more as it is written."""
    result = replay(source)
    assert result.divergence is None, _told(result.divergence)


def _told(divergence: Divergence) -> str:
    return (
        f"the attempt at position {divergence.attempt} is decided otherwise, first at position "
        f"{divergence.position}:\n  log: {divergence.recorded!r}\n  now: {divergence.decided!r}"
    )


def bytes_of(decision: Decision | None) -> bytes:
    """A decision with its batch and all that it relies on; two are the same if these bytes are."""
    if decision is None:
        return b""
    relied_on = (decision.pods, decision.groups, decision.nodes, decision.victims, decision.anchors)
    return msgspec.json.encode(
        (
            decision.snapshot,
            decision.at,
            [draft(payload, actor="").payload.decode() for payload in decision.payloads],
            [sorted(each) for each in relied_on],
            decision.cause,
            decision.rules,
        )
    )


class Task(NamedTuple):
    """What a process is told: fold these lines, `size` at a time."""

    lines: list[bytes]
    size: int


class Processes:
    """Processes of other hash seeds, each of which folds and decides what it is given. Use as a context;
    starting them takes about a second, so that a test module does best to share them."""

    def __init__(self, seeds: Iterable[str] = HASH_SEEDS) -> None:
        self._seeds = tuple(seeds)
        self._running: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        path = os.pathsep.join(filter(None, sys.path))  # what is imported here is imported there
        for seed in self._seeds:
            self._running.append(
                subprocess.Popen(
                    [sys.executable, "-m", "ganger_testing.deciding"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path},
                )
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running:
            process.communicate()
        self._running.clear()

    def answers(self, source: Source) -> list[str]:
        """What each process makes of the log, each reading it in pieces of another size."""
        lines = [stored.line for stored in source.events()]
        for number, process in enumerate(self._running):
            task = Task(lines, (1000, *PIECES)[number % (len(PIECES) + 1)])
            assert process.stdin is not None
            process.stdin.write(msgspec.msgpack.encode(task).hex() + "\n")
            process.stdin.flush()
        return [self._answer(process) for process in self._running]

    def assert_agree(self, source: Source) -> None:
        """All processes come to the same State and the same decisions."""
        answers = self.answers(source)
        told = dict(zip(self._seeds, answers, strict=True))
        assert len(set(answers)) == 1, f"other hash seeds, other bytes: {told}"
        assert answers[0].split()[1] == "same", "the attempts of the log are decided otherwise"

    def _answer(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        answer = process.stdout.readline()
        assert answer, f"process {process.pid} has ended: {process.poll()}"
        return answer.strip()


def assert_deterministic(source: Source, processes: Processes | None = None) -> None:
    """Everything above; in other processes if there are some."""
    assert_folds_alike(source)
    assert_decides_alike(source)
    if processes is not None:
        processes.assert_agree(source)
