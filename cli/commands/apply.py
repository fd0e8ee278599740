"""`ganger apply`."""

from collections.abc import Sequence

import click

from cli import options
from cli.console import warn
from cli.files import Manifests, naming_the_place, read_manifests
from cli.objects import Change
from cli.settings import Settings, pass_settings


@click.command()
@options.files_option
@click.argument("more", metavar="[PATH]...", nargs=-1)
@options.recursive_option
@options.given_namespace_option
@options.dry_run_option
@options.server_option
@pass_settings
def command(
    settings: Settings,
    files: tuple[str, ...],
    more: tuple[str, ...],
    recursive: bool,
    namespace: str | None,
    dry_run: bool,
    server: str | None,
) -> None:
    """Create or change objects from manifests.

    Manifests are YAML or JSON, one or several documents in a file, lists of objects, too. All of them
    are one batch: if one is refused, none is taken. A server is sent one after the other.
    """
    if not files:
        raise click.UsageError("say which manifests: -f PATH, or -f - for standard input")
    manifests = read_manifests((*files, *more), recursive=recursive)
    if server is not None:
        from cli.remote import RemoteObjects

        remote = RemoteObjects(server, settings.cluster)
        with naming_the_place(manifests):
            for manifest in manifests:
                _report([remote.apply(manifest, namespace=namespace, dry_run=dry_run)], dry_run=dry_run)
    else:
        _report(_apply(settings, manifests, namespace=namespace, dry_run=dry_run), dry_run=dry_run)


def _apply(settings: Settings, manifests: Manifests, *, namespace: str | None, dry_run: bool) -> list[Change]:
    """Apply `manifests` as one batch. Raises CannotDo, with the place of the one that is refused."""
    from cli.opening import open_for_trying, open_for_writing

    opening = open_for_trying(settings) if dry_run else open_for_writing(settings)
    with opening as cluster, naming_the_place(manifests):
        outcomes = cluster.apply(manifests, namespace=namespace, dry_run=dry_run)
    return [
        Change(outcome.kind, outcome.key.rpartition("/")[2], outcome.change, outcome.warnings)
        for outcome in outcomes
    ]


def _report(changes: Sequence[Change], *, dry_run: bool) -> None:
    suffix = " (dry run)" if dry_run else ""
    for change in changes:
        for warning in change.warnings:
            warn(warning)
        print(f"{change.kind.singular}/{change.name} {change.change}{suffix}")
