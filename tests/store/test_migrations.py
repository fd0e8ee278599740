"""The migrations make the tables of `store.tables`, can be undone, and bear being run by two processes."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config, main
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect

from drafts import draft
from store.engine import Store, open_store, upgrade_store
from store.location import parse_location
from store.log import EventLog
from store.schema import REVISION
from store.tables import VERSION_TABLE, metadata

ROOT = Path(__file__).resolve().parents[2]


def developer_config() -> Config:
    """What `alembic` itself reads."""
    return Config(ROOT / "alembic.ini")


def test_migrated_tables_are_the_tables(store: Store) -> None:
    with store.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "version_table": VERSION_TABLE}
        )
        assert compare_metadata(context, metadata) == []


def test_the_partial_index_is_partial(store: Store) -> None:
    (index,) = inspect(store.engine).get_indexes("events")
    condition = index["dialect_options"][f"{store.engine.dialect.name}_where"]
    assert "type = 'GroupAttempted'" in str(condition)


def test_there_is_one_newest_revision_and_the_program_knows_it() -> None:
    assert ScriptDirectory.from_config(developer_config()).get_heads() == [REVISION]


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_up_and_down_and_up(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    location = str(tmp_path / "x.db") if backend == "sqlite" else request.getfixturevalue("bare_postgres_url")
    upgrade_store(location)
    config = developer_config()
    engine = create_engine(parse_location(location))
    for revision, expected in (("base", {VERSION_TABLE}), ("head", {VERSION_TABLE, *metadata.tables})):
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            move = command.downgrade if revision == "base" else command.upgrade
            move(config, revision)
        assert set(inspect(engine).get_table_names()) == expected
    engine.dispose()
    store = open_store(location, create=False)
    assert EventLog(store, "default").append([draft()], at=1).last == 1
    store.close()


@pytest.mark.parametrize("how", ["-x", "environment"])
def test_the_command_of_developers(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.db"
    arguments = ["-x", f"url={path}"] if how == "-x" else []
    monkeypatch.setenv("GANGER_STORE", str(path if how == "environment" else tmp_path / "other.db"))
    alembic = ["-c", str(ROOT / "alembic.ini"), *arguments]
    main([*alembic, "upgrade", "head"])
    open_store(str(path), create=False).close()
    main([*alembic, "upgrade", "head", "--sql"])
    assert "CREATE TABLE events" in capsys.readouterr().out


def test_many_open_a_new_file_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "new.db")

    def open_and_append(number: int) -> int:
        code = (
            "import sys; from store.engine import open_store; from store.log import EventLog;"
            "from domain.envelope import Draft;"
            "log = EventLog(open_store(sys.argv[1], create=True), 'default');"
            "log.append([Draft(type='T', version=1, subjects=(), payload=b'{}', actor='t')], at=1)"
        )
        return subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, check=False).returncode

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(open_and_append, range(3))) == [0] * 3
    store = open_store(path, create=False)
    assert EventLog(store, "default").head().position == 3
    store.close()


def test_two_upgrade_a_server_at_once(bare_postgres_url: str) -> None:
    with ThreadPoolExecutor(3) as pool:
        versions = list(pool.map(upgrade_store, [bare_postgres_url] * 3))
    assert {version.wanted for version in versions} == {REVISION}
    open_store(bare_postgres_url, create=False).close()
