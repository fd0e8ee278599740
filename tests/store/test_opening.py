"""Opening a store: what is there, whose it is, how old; and one clear line for all that can be wrong."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from sqlalchemy import text

from domain.errors import GangerError
from drafts import draft, drafts
from store import errors
from store.engine import Store, open_store, schema_versions, upgrade_store
from store.location import parse_location, shown
from store.log import EventLog
from store.schema import REVISION
from store.sqlite import PAGE_SIZE
from store.tables import metadata
from store.verify import verify


def test_a_missing_file_is_made_only_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with pytest.raises(errors.StoreMissing, match=r"there is no store at .*new\.db: .*ganger apply"):
        open_store(str(path), create=False)
    assert not path.exists()
    open_store(str(path), create=True).close()
    open_store(str(path), create=False).close()


@pytest.mark.parametrize("form", ["{path}", "sqlite:///{path}", "sqlite+pysqlite:///{path}"])
def test_ways_to_name_a_file(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a b%20ü.db"
    named = str(path) if form == "{path}" else quote(str(path))
    store = open_store(form.format(path=named), create=True)
    store.close()
    assert path.exists()
    assert store.where == str(path)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("mysql://host/db", "'mysql' is not supported"),
        ("sqlite://", "would forget its log"),
        ("sqlite:///:memory:", "would forget its log"),
        ("://", "neither a path nor a database URL"),
        ("no/such/folder/x.db", r"there is no folder no/such/folder"),
    ],
)
def test_no_place_for_a_store(location: str, message: str) -> None:
    with pytest.raises(errors.StoreError, match=message):
        open_store(location, create=True)


def test_a_password_is_not_shown() -> None:
    assert shown(parse_location("postgresql://me:secret@host/db")) == "postgresql+psycopg://me:***@host/db"


def test_what_an_sqlite_store_is_set_to(sqlite_path: Path) -> None:
    store = open_store(str(sqlite_path), create=False)
    with store.reading() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "page_size")
        }
    store.close()
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL
        "foreign_keys": 1,
        "busy_timeout": 5000,
        "page_size": PAGE_SIZE,
    }


def text_file(path: Path) -> None:
    path.write_text("kind: Pod\n" * 200)


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
    connection.close()


def newer_store(path: Path) -> None:
    open_store(str(path), create=True).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE ganger_schema SET version_num = '9999'")
    connection.close()


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        pytest.param(text_file, errors.NotAStore, "is not an SQLite database", id="not a database"),
        pytest.param(other_database, errors.NotAStore, "a table 'alembic_version'", id="another program's"),
        pytest.param(newer_store, errors.SchemaNewer, "made by a newer ganger", id="newer"),
        pytest.param(Path.mkdir, errors.StoreUnavailable, "cannot be opened", id="folder"),
    ],
)
def test_what_is_no_store_is_left_alone(
    tmp_path: Path, make: Callable[[Path], None], error: type[Exception], message: str, create: bool
) -> None:
    path = tmp_path / "x.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=message) as caught:
        open_store(str(path), create=create)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(errors.StoreMissing, match="it is empty"):
        open_store(str(path), create=False)
    open_store(str(path), create=True).close()


def test_a_store_without_tables_is_upgraded(sqlite_path: Path) -> None:
    with sqlite3.connect(sqlite_path) as connection:
        for table in metadata.tables:
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DELETE FROM ganger_schema")
    connection.close()
    store = open_store(str(sqlite_path), create=True)
    EventLog(store, "default").append([draft()], at=1)
    store.close()


def test_a_server_is_upgraded_on_command_only(bare_postgres_url: str) -> None:
    with pytest.raises(errors.SchemaOutdated, match="run `ganger db upgrade`"):
        open_store(bare_postgres_url, create=True)
    assert schema_versions(bare_postgres_url) == (None, REVISION)
    assert upgrade_store(bare_postgres_url) == (None, REVISION)
    assert upgrade_store(bare_postgres_url) == (REVISION, REVISION)
    assert schema_versions(bare_postgres_url) == (REVISION, REVISION)
    open_store(bare_postgres_url, create=False).close()


def test_versions_of_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "x.db")
    with pytest.raises(errors.StoreMissing):
        schema_versions(path)
    assert upgrade_store(path) == (None, REVISION)
    assert schema_versions(path) == (REVISION, REVISION)


def test_other_tables_on_a_server_are_left_alone(bare_postgres_url: str) -> None:
    with psycopg.connect(bare_postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE TABLE customers (id int)")
        upgrade_store(bare_postgres_url)
        connection.execute("DROP TABLE ganger_schema")
    with pytest.raises(errors.NotAStore, match="a table 'beginnings'"):
        upgrade_store(bare_postgres_url)


def test_a_newer_server_is_refused(postgres_url: str) -> None:
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("UPDATE ganger_schema SET version_num = '9999'")
    for attempt in (lambda: open_store(postgres_url, create=True), lambda: upgrade_store(postgres_url)):
        with pytest.raises(errors.SchemaNewer, match="schema 9999"):
            attempt()


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(errors.StoreUnavailable, match="cannot be reached") as caught:
        open_store("postgresql://me:secret@127.0.0.1:1/db?connect_timeout=2", create=True)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_that_is_not_there(postgres_url: str) -> None:
    with pytest.raises(errors.StoreUnavailable, match="does not exist"):
        open_store(postgres_url.replace("/ganger_", "/nothing_"), create=True)


def test_a_locked_file_says_so(sqlite_path: Path) -> None:
    store = open_store(f"sqlite:///{sqlite_path}?timeout=0.01", create=False)
    log = EventLog(store, "default")
    other = sqlite3.connect(sqlite_path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(errors.StoreLocked, match="locked by another process"):
        log.append([draft()], at=1)
    assert log.head().position == 0  # readers do not wait
    other.execute("ROLLBACK")
    assert log.append([draft()], at=1).last == 1
    other.close()
    store.close()


def test_a_full_disk_says_so_and_appends_nothing(sqlite_store: Store) -> None:
    log = EventLog(sqlite_store, "default")
    log.append([draft()], at=1)
    with sqlite_store.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    limit_pages(sqlite_store, pages)
    with pytest.raises(errors.StoreFull, match="free some space"):
        log.append(drafts(1000), at=2, idempotency_key="k")
    limit_pages(sqlite_store, 1 << 30)
    assert log.head().position == 1
    assert log.append(drafts(1000), at=2, idempotency_key="k").first == 2
    verify(log, deep=True)


def test_a_read_only_file_can_be_read(sqlite_path: Path) -> None:
    writer = open_store(str(sqlite_path), create=False)
    EventLog(writer, "default").append([draft()], at=1)
    store = open_store(f"sqlite:///file:{sqlite_path}?mode=ro&uri=true", create=True)
    log = EventLog(store, "default")
    assert verify(log).position == 1
    with pytest.raises(errors.StoreReadOnly, match="is read-only"):
        log.append([draft()], at=1)
    store.close()
    writer.close()


def test_a_file_where_nothing_can_be_written_can_be_read(sqlite_path: Path) -> None:
    writer = open_store(str(sqlite_path), create=False)
    EventLog(writer, "default").append([draft()], at=1)
    writer.close()
    store = open_store(f"sqlite:///file:{sqlite_path}?immutable=1&uri=true", create=False)
    try:
        assert verify(EventLog(store, "default")).position == 1
        assert [each.name for each in sqlite_path.parent.iterdir()] == [sqlite_path.name]
    finally:
        store.close()


def test_a_file_that_cannot_be_opened_says_what_can_be_done(tmp_path: Path) -> None:
    with pytest.raises(errors.StoreUnavailable, match=r"immutable=1&uri=true"):
        open_store(str(tmp_path), create=False)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_in_a_read_only_folder(sqlite_path: Path) -> None:
    def open_and_append() -> None:
        store = open_store(str(sqlite_path), create=True)
        EventLog(store, "default").append([draft()], at=1)

    sqlite_path.parent.chmod(0o555)
    try:
        with pytest.raises(GangerError):
            open_and_append()
    finally:
        sqlite_path.parent.chmod(0o755)


def test_a_read_only_server_says_so(postgres_url: str) -> None:
    store = open_store(f"{postgres_url}&options=-c%20default_transaction_read_only%3Don", create=False)
    log = EventLog(store, "default")
    assert log.head().position == 0
    with pytest.raises(errors.StoreReadOnly):
        log.append([draft()], at=1)
    store.close()


def test_a_lost_connection_says_so_and_the_next_one_works(postgres_store: Store) -> None:
    log = EventLog(postgres_store, "default")
    log.append([draft()], at=1)
    assert log.append([draft()], at=1).last == 2
    with psycopg.connect(postgres_store.url.render_as_string(False).replace("+psycopg", "")) as other:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        other.execute(f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE {others}")
    with pytest.raises(errors.StoreUnavailable):
        log.append([draft()], at=2)
    assert log.append([draft()], at=2).last == 3
    verify(log)


def limit_pages(store: Store, pages: int) -> None:
    """Let no connection of the pool make the file larger than so many pages."""
    store.engine.dispose()
    with store.engine.connect() as connection:
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))
