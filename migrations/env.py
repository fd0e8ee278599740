"""How Alembic reaches the store: the connection it is given, else the URL of `-x url=` or GANGER_STORE."""

import os

from alembic import context
from sqlalchemy import Connection, create_engine

from store.location import parse_location
from store.tables import VERSION_TABLE, metadata


def developer_url() -> str:
    """The store that somebody who runs `alembic` by hand means, as `ganger` itself would take it."""
    return context.get_x_argument(as_dictionary=True).get("url") or os.environ.get(
        "GANGER_STORE", "ganger.db"
    )


def migrate(connection: Connection) -> None:
    """Run the migrations asked for in one transaction: all of them, or none."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def print_sql() -> None:
    """`alembic upgrade --sql`: write the statements instead of running them."""
    context.configure(
        url=parse_location(developer_url()),
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        literal_binds=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if context.is_offline_mode():
    print_sql()
elif given is not None:
    migrate(given)
else:
    with create_engine(parse_location(developer_url())).begin() as own:
        migrate(own)
