"""`ganger serve`."""

import click

from cli import options
from cli.settings import Settings, pass_settings


@click.command()
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    type=options.WholeNumber(0, 65535),
    metavar="PORT",
    default=8470,
    show_default=True,
    help="0: any.",
)
@click.option("--no-worker", is_flag=True, help="Only answer; another process decides.")
@pass_settings
def command(settings: Settings, host: str, port: int, no_worker: bool) -> int:
    """Serve the HTTP API and a web page, and run the worker.

    Kubernetes' own paths for its own kinds, so that kubectl works unchanged; /ganger/v1 for what only
    ganger knows; /docs describes all; /ui shows it to a browser. The hash chain of the log is checked first.
    """
    from api.server import serve

    return serve(settings.store, settings.cluster, host, port, worker=not no_worker)
