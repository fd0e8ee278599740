"""Many writers on one stream, in threads and in processes: one log, without gaps, each batch whole."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from domain.envelope import decode_line
from domain.errors import PositionConflict
from drafts import draft
from store.log import EventLog
from store.verify import verify

HERE = Path(__file__).resolve().parent
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join((str(HERE.parents[1]), str(HERE.parent)))}
BATCHES = 20


def test_processes(log: EventLog) -> None:
    location = log.store.url.render_as_string(hide_password=False)
    command = [sys.executable, str(HERE / "appending.py"), location, log.stream]
    processes = [
        subprocess.Popen([*command, name, str(BATCHES)], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        for name in ("one", "two")
    ]
    said = [line.split() for process in processes for line in process.communicate()[0].splitlines()]
    assert [process.returncode for process in processes] == [0, 0]

    head = verify(log, deep=True)
    places = sorted((int(first), int(last), name, number) for name, number, first, last in said)
    assert len(places) == 2 * BATCHES
    assert [first for first, *_ in places] == [1, *(last + 1 for _, last, *_ in places[:-1])]
    assert places[-1][1] == head.position
    batches: dict[int, list[str]] = {}
    for event in log.read():
        envelope = decode_line(event.line)
        batches.setdefault(envelope.batch, []).extend(envelope.subjects)
    for first, last, name, number in places:
        own = [f"Pod/default/{name}-{number}-{index}" for index in range(last - first)]
        assert batches[first] == [*own, "Pod/default/shared"]
    assert len(list(log.history("Pod/default/shared"))) == 2 * BATCHES


def test_threads_with_a_log_each(log: EventLog) -> None:
    """Only one of those who saw the same head gets in, the others see that they did not."""

    def work(name: str) -> int:
        own = EventLog(log.store, log.stream)
        done = refused = 0
        while done < 20:
            try:
                own.append([draft(name), draft("shared")], at=1, expected=own.head().position)
                done += 1
            except PositionConflict:
                refused += 1
        return refused

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, "abcd"))
    assert verify(log, deep=True).position == 160
    assert [len(list(log.history(f"Pod/default/{name}"))) for name in "abcd"] == [20] * 4


def test_readers_see_whole_batches_while_writers_write(log: EventLog) -> None:
    def write() -> None:
        for _ in range(40):
            log.append([draft(f"p{n}") for n in range(5)], at=1)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        seen = 0
        while not writing.done():
            events = list(log.read())
            assert len(events) % 5 == 0
            assert len(events) >= seen
            seen = len(events)
        writing.result()
    assert len(list(log.read())) == 200
