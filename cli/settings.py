"""What the global options say, for every subcommand."""

from dataclasses import dataclass

import click

DEFAULT_STORE = "ganger.db"
DEFAULT_CLUSTER = "default"
DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True)
class Settings:
    """Where the log is: a store (SQLAlchemy URL or path of an SQLite file) and a cluster in it."""

    store: str
    cluster: str


pass_settings = click.make_pass_decorator(Settings)
