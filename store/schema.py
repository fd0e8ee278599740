"""Which revision of the tables a store has, and bringing it to the one this program speaks.

Alembic is slow to import and needed only where a store is not up to date, so functions import it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, inspect, select
from sqlalchemy.sql import column, table

from store.errors import NotAStore, SchemaNewer
from store.tables import VERSION_TABLE, metadata

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

REVISION: Final = "0003"
"""The newest migration; a test holds it equal to what Alembic finds."""

_SCRIPTS = Path(__file__).resolve().parent.parent / "migrations"
_versions = table(VERSION_TABLE, column("version_num"))
_UPGRADE_LOCK = 0x67616E676572  # "ganger"


def current_revision(connection: Connection, where: str) -> str | None:
    """The revision of the store, None if there are no tables yet.

    Raises NotAStore if the database holds somebody else's tables: any at all in an SQLite file,
    tables of our names on a server.
    """
    names = set(inspect(connection).get_table_names())
    if VERSION_TABLE in names:
        return connection.execute(select(_versions.c.version_num)).scalar()
    foreign = names if connection.dialect.name == "sqlite" else names & set(metadata.tables)
    if foreign:
        raise NotAStore(
            f"the database {where} is not a store of ganger, it has a table {min(foreign)!r}:"
            " give another one"
        )
    return None


def require_known(revision: str | None, where: str) -> None:
    """Raise SchemaNewer if `revision` is none that this program has a migration for."""
    if revision is not None and revision not in {script.revision for script in _scripts().walk_revisions()}:
        raise SchemaNewer(
            f"the store {where} was made by a newer ganger (schema {revision}, this one knows {REVISION}):"
            " upgrade the program"
        )


def upgrade(connection: Connection, where: str) -> None:
    """Bring the tables to `REVISION`, within the caller's transaction. Raises SchemaNewer.

    Two processes that upgrade at once wait for each other, and the second finds nothing left to do.
    """
    from alembic import command

    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_UPGRADE_LOCK,))
    require_known(current_revision(connection, where), where)
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    return config


def _scripts() -> "ScriptDirectory":
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_config())
