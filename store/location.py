"""Where a store is: an SQLAlchemy URL, or the plain path of an SQLite file."""

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from store.errors import StoreError

_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}


def parse_location(location: str) -> URL:
    """The URL that `location` means. Raises StoreError for a database that ganger does not speak to."""
    if not location:
        raise StoreError("the store has no name: give a path or a database URL")
    if "://" not in location:
        return URL.create("sqlite+pysqlite", database=location)
    try:
        url = make_url(location)
    except (ArgumentError, ValueError) as error:
        raise StoreError(f"{location!r} is neither a path nor a database URL") from error
    driver = _DRIVERS.get(url.drivername.partition("+")[0])
    if driver is None:
        raise StoreError(
            f"{url.drivername!r} is not supported: give a path, sqlite:///… or postgresql+psycopg://…"
        )
    if driver.startswith("sqlite") and url.database in (None, "", ":memory:"):
        raise StoreError("a store in memory would forget its log: give the path of a file")
    return url.set(drivername=driver)


def sqlite_path(url: URL) -> Path | None:
    """The file of an SQLite URL, None where SQLite itself parses it (`file:…?uri=true`)."""
    database = url.database or ""
    return None if database.startswith("file:") else Path(database)


def shown(url: URL) -> str:
    """`url` as messages name it: a path for SQLite, for a server the URL without its password."""
    if url.get_backend_name() == "sqlite":
        return url.database or ""
    return url.render_as_string(hide_password=True)
