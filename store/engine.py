"""Opening a store: where it is, whether it is ours, and transactions on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError

from store import schema
from store.announce import Announcements
from store.backend import Backend, Rows
from store.errors import SchemaOutdated, StoreMissing
from store.location import parse_location, shown, sqlite_path
from store.sqlite import SQLite, prepare_file


class Store:
    """An open store. Safe to share between threads; `close` it when done.

    `where` is how messages name it, `announcements` tells this process's threads of new events.
    """

    def __init__(self, url: URL, *, durable: bool = True) -> None:
        self.url = url
        self.where = shown(url)
        self.backend = _backend(url, durable=durable)
        self.announcements = Announcements()

    @property
    def engine(self) -> Engine:
        """The engine under it, for what needs a connection of its own."""
        return self.backend.engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads one state of the store. Raises StoreError."""
        with self.explaining(), self.backend.reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: committed at the end, rolled back on any error. Raises StoreError."""
        with self.explaining(), self.backend.writer.begin() as connection:
            yield connection

    def write_unlocked(self, rows: Rows) -> bool:
        """As `Backend.write_unlocked`. Raises StoreError."""
        with self.explaining():
            return self.backend.write_unlocked(rows)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn the database's errors into StoreError."""
        try:
            yield
        except DBAPIError as error:
            raise self.backend.explain(error, self.where) from error

    def close(self) -> None:
        """Close every connection."""
        self.backend.close()


class SchemaVersions(NamedTuple):
    """The revision a store has, None without tables, and the one this program wants."""

    current: str | None
    wanted: str


def open_store(location: str, *, create: bool, durable: bool = True) -> Store:
    """The store at `location`, ready for use.

    `location` is a URL or the path of an SQLite file, made if it is missing and `create` says so.
    An SQLite file of an older ganger is upgraded, a server's tables are not. `durable=False` is for
    what can be made again, such as a simulation: a power cut may lose what was committed last.
    Raises StoreError: there is nothing there, it is not ganger's, newer, older, or cannot be opened.
    """
    url = parse_location(location)
    if url.get_backend_name() == "sqlite":
        _check_path(sqlite_path(url), create=create)
    store = Store(url, durable=durable)
    try:
        _check_schema(store, create=create)
    except BaseException:
        store.close()
        raise
    return store


def upgrade_store(location: str) -> SchemaVersions:
    """Bring the tables at `location` up to date and say what they were before. Raises StoreError."""
    url = parse_location(location)
    if url.get_backend_name() == "sqlite":
        _check_path(sqlite_path(url), create=True)
    store = Store(url)
    try:
        found = _revision(store)
        if found != schema.REVISION:
            _upgrade(store, fresh=found is None)
    finally:
        store.close()
    return SchemaVersions(found, schema.REVISION)


def schema_versions(location: str) -> SchemaVersions:
    """Which revision the store at `location` has; changes nothing. Raises StoreError."""
    url = parse_location(location)
    if url.get_backend_name() == "sqlite":
        _check_path(sqlite_path(url), create=False)
    store = Store(url)
    try:
        return SchemaVersions(_revision(store), schema.REVISION)
    finally:
        store.close()


def _backend(url: URL, *, durable: bool) -> Backend:
    if url.get_backend_name() == "sqlite":
        return SQLite(url, durable=durable)
    from store.postgres import PostgreSQL  # its driver is slow to load, and not needed for a file

    return PostgreSQL(url, durable=durable)


def _check_path(path: Path | None, *, create: bool) -> None:
    if path is None or path.exists():
        return
    if not create:
        raise StoreMissing(f"there is no store at {path}: check the path, or make one with `ganger apply`")
    if not path.parent.exists():
        raise StoreMissing(f"there is no folder {path.parent} for the store: make it first")


def _check_schema(store: Store, *, create: bool) -> None:
    found = _revision(store)
    if found == schema.REVISION:
        return
    if store.url.get_backend_name() != "sqlite":
        schema.require_known(found, store.where)
        raise SchemaOutdated(f"the tables of {store.where} are not up to date: run `ganger db upgrade`")
    if found is None and not create:
        raise StoreMissing(
            f"there is no store in {store.where} yet, it is empty: make one with `ganger apply`"
        )
    _upgrade(store, fresh=found is None)


def _revision(store: Store) -> str | None:
    with store.reading() as connection:
        return schema.current_revision(connection, store.where)


def _upgrade(store: Store, *, fresh: bool) -> None:
    if fresh and store.url.get_backend_name() == "sqlite":
        with store.explaining():
            prepare_file(store.engine)
    with store.writing() as connection:
        schema.upgrade(connection, store.where)
