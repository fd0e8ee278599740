"""A watcher wakes when its stream grows, whoever makes it grow, and when it is closed."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from drafts import draft
from store.engine import Store, open_store
from store.log import EventLog
from store.notify import Watcher

ROOT = Path(__file__).resolve().parents[2]
NewLog = Callable[[], EventLog]
LONG_S = 60.0  # longer than any of these tests should take: reaching it is the failure


@pytest.fixture
def watcher(log: EventLog) -> Iterator[Watcher]:
    """Watches the stream of `log`."""
    with Watcher(log.store, log.stream) as watcher:
        yield watcher


@pytest.fixture
def elsewhere(log: EventLog) -> Iterator[EventLog]:
    """The same log through another store object, which shares nothing with the first."""
    store = open_store(log.store.url.render_as_string(hide_password=False), create=False, durable=False)
    yield EventLog(store, log.stream)
    store.close()


def test_what_is_there_already_needs_no_waiting(watcher: Watcher, log: EventLog) -> None:
    assert watcher.wait(0, 0) == 0
    log.append([draft(), draft()], at=1)
    assert watcher.wait(0, LONG_S) == 2
    assert watcher.wait(1, LONG_S) == 2
    assert watcher.wait(2, 0.01) == 2


@pytest.mark.parametrize("writer", ["log", "elsewhere"])
def test_it_wakes_when_the_stream_grows(
    watcher: Watcher, writer: str, request: pytest.FixtureRequest
) -> None:
    log: EventLog = request.getfixturevalue(writer)
    with ThreadPoolExecutor(1) as pool:
        for position in range(1, 6):
            waiting = pool.submit(watcher.wait, position - 1, LONG_S)
            log.append([draft()], at=1)
            assert waiting.result() == position


def test_another_process_wakes_it(watcher: Watcher, log: EventLog) -> None:
    code = (
        "import sys; from store.engine import open_store; from store.log import EventLog;"
        "from domain.envelope import Draft;"
        "log = EventLog(open_store(sys.argv[1], create=False), sys.argv[2]);"
        "log.append([Draft(type='T', version=1, subjects=(), payload=b'{}', actor='t')], at=1)"
    )
    location = log.store.url.render_as_string(hide_password=False)
    with subprocess.Popen([sys.executable, "-c", code, location, log.stream], cwd=ROOT) as process:
        assert watcher.wait(0, LONG_S) == 1
    assert process.returncode == 0


def test_another_stream_does_not_end_the_waiting(watcher: Watcher, log: EventLog, new_log: NewLog) -> None:
    other = new_log()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(watcher.wait, 0, LONG_S)
        for _ in range(3):
            other.append([draft()], at=1)
        assert not waiting.done()
        log.append([draft()], at=1)
        assert waiting.result() == 1


def test_closing_wakes_the_waiter(watcher: Watcher) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(watcher.wait, 0, LONG_S)
        watcher.close()
        assert waiting.result() == 0
    watcher.close()
    assert watcher.wait(0, LONG_S) == 0


def test_waiting_costs_little(watcher: Watcher) -> None:
    """No busy loop: most of the time is spent asleep."""
    before = time.thread_time()
    assert watcher.wait(0, 0.3) == 0
    assert time.thread_time() - before < 0.15


def test_a_lost_connection_is_made_again(postgres_store: Store) -> None:
    log = EventLog(postgres_store, "default")
    with Watcher(postgres_store, "default") as watcher, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(watcher.wait, 0, LONG_S)
        url = postgres_store.url.render_as_string(hide_password=False).replace("+psycopg", "")
        with psycopg.connect(url, autocommit=True) as connection:
            listening = "datname = current_database() AND starts_with(query, 'LISTEN')"
            query = f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE {listening}"
            assert connection.execute(query).fetchall() == [(True,)]
        log.append([draft()], at=1)
        assert waiting.result() == 1
