"""`ganger delete`."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from cli import options
from cli.console import note
from cli.files import naming_the_place, read_manifests
from cli.objects import Change
from cli.settings import Settings, pass_settings
from domain.admission.kinds import Kind, kind_of
from domain.errors import BadRequest

Target = tuple[Kind, str, str]
"""Kind, namespace and name."""

PROTECTED = {
    "PodGroup": "its Pods have ended",
    "CompositePodGroup": "no group names it as its parent",
}
"""What a group that is being deleted waits for."""


@click.command()
@click.argument("words", metavar="[KIND NAME...]", nargs=-1, type=options.KindName())
@options.files_option
@options.recursive_option
@options.namespace_option
@click.option(
    "--grace-period",
    type=options.WholeNumber(0),
    metavar="SECONDS",
    help="How long Pods have to end; else as they say themselves.",
)
@click.option("--ignore-not-found", is_flag=True, help="An object that is not there is no error.")
@options.dry_run_option
@options.server_option
@pass_settings
def command(
    settings: Settings,
    words: tuple[str, ...],
    files: tuple[str, ...],
    recursive: bool,
    namespace: str,
    grace_period: int | None,
    ignore_not_found: bool,
    dry_run: bool,
    server: str | None,
) -> None:
    """Delete objects by name or by manifests.

    KIND NAME and KIND/NAME name objects; with -f the manifests do. All of them are one batch: if one is
    not there, none is deleted. A server is sent one after the other.
    """
    targets = _targets(words, files, namespace, recursive=recursive)
    if server is not None:
        from cli.remote import RemoteObjects

        changes = RemoteObjects(server, settings.cluster).delete(
            targets, grace=grace_period, ignore_not_found=ignore_not_found, dry_run=dry_run
        )
    else:
        changes = _delete(
            settings, targets, grace=grace_period, ignore_not_found=ignore_not_found, dry_run=dry_run
        )
    suffix = " (dry run)" if dry_run else ""
    for change in changes:
        print(f'{change.kind.singular} "{change.name}" deleted{suffix}')
        if change.change == "terminating" and change.kind.name in PROTECTED:
            note(f'{change.kind.singular} "{change.name}" stays until {PROTECTED[change.kind.name]}')


def _targets(
    words: tuple[str, ...], files: tuple[str, ...], namespace: str, *, recursive: bool
) -> list[Target]:
    if words and files:
        raise click.UsageError("name objects, or say which manifests they are in by -f: not both")
    if not words and not files:
        raise click.UsageError("say what to delete: KIND NAME, KIND/NAME or -f PATH")
    if words:
        targets = options.parse_targets(words)
        if any(not name for _, name in targets):
            raise click.UsageError(f"say which {targets[0][0].plural} to delete, by name")
        return [(kind, namespace, name) for kind, name in targets]
    manifests = read_manifests(files, recursive=recursive)
    with naming_the_place(manifests):
        return [target_in(manifest, namespace) for manifest in manifests]


def target_in(manifest: Mapping[str, Any], namespace: str) -> Target:
    """The object that a manifest is of. Raises BadRequest if it says no name or kind."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise BadRequest("metadata.name: Required value: it names what to delete")
    return kind_of(manifest), metadata.get("namespace") or namespace, metadata["name"]


def _delete(
    settings: Settings, targets: Sequence[Target], *, grace: int | None, ignore_not_found: bool, dry_run: bool
) -> list[Change]:
    from cli.opening import open_for_reading

    with open_for_reading(settings) as cluster:
        keys = [(kind, kind.key_of(namespace, name)) for kind, namespace, name in targets]
        if ignore_not_found:
            keys = [(kind, key) for kind, key in keys if cluster.shown(kind, key) is not None]
        outcomes = cluster.delete(keys, grace=grace, dry_run=dry_run)
    return [Change(each.kind, each.key.rpartition("/")[2], each.change) for each in outcomes]
