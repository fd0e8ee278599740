"""`ganger db`."""

import click

from cli.settings import Settings, pass_settings


@click.group()
def command() -> None:
    """Show or upgrade the schema of the store."""


@command.command()
@pass_settings
def current(settings: Settings) -> int:
    """Print the schema version of the store; exit code 1 if it is not the newest."""
    from store.engine import schema_versions

    found, wanted = schema_versions(settings.store)
    if found == wanted:
        print(f"{found} (up to date)")
        return 0
    advice = "run `ganger db upgrade`" if found is None or found < wanted else "upgrade the program"
    print(f"{found or 'none'} (this ganger wants {wanted}: {advice})")
    return 1


@command.command()
@pass_settings
def upgrade(settings: Settings) -> None:
    """Bring the schema of the store up to date; make it if there is none."""
    from store.engine import upgrade_store

    before, now = upgrade_store(settings.store)
    print(f"{now} (up to date already)" if before == now else f"{before or 'none'} -> {now}")
