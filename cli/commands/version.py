"""`ganger version`."""

import click

from domain.version import VERSION


@click.command()
def command() -> None:
    """Print the version."""
    print(f"ganger {VERSION}")
