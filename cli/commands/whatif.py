"""`ganger whatif`."""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from cli import options
from cli.commands.delete import Target, target_in
from cli.console import note, print_json, print_text
from cli.files import Manifests, naming_the_place, read_configuration, read_manifests
from cli.settings import Settings, pass_settings
from worker.batch import Outcome
from worker.cluster import Cluster
from worker.moments import span_of
from worker.whatif import DEADLINE_S, WhatIf, whatif


def _read_span(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is not None:
        try:
            span_of(text)
        except ValueError as error:
            raise click.BadParameter(f"{text!r} {error}", context, parameter) from error
    return text


@click.command()
@options.at_option
@options.files_option
@options.recursive_option
@click.option(
    "--delete", "doomed", metavar="KIND/NAME", multiple=True, help="Delete an object; can be repeated."
)
@click.option(
    "--delete-file", "doomed_files", metavar="PATH", multiple=True, help="Delete what manifests name."
)
@click.option("--config", "config", metavar="PATH", help="Configure the scheduler by a file.")
@options.namespace_option
@click.option(
    "--for", "span", metavar="SPAN", callback=_read_span, help="So long (15m), not until all is at rest."
)
@click.option(
    "--deadline",
    type=options.SecondsText(),
    default=DEADLINE_S,
    show_default=True,
    help="Cut it off after so long.",
)
@click.option("--save", metavar="NAME", help="Keep the changed fork as a cluster of this name.")
@options.output_option("json")
@options.server_option
@pass_settings
def command(
    settings: Settings,
    at: str | None,
    files: tuple[str, ...],
    recursive: bool,
    doomed: tuple[str, ...],
    doomed_files: tuple[str, ...],
    config: str | None,
    namespace: str,
    span: str | None,
    deadline: float,
    save: str | None,
    output: str | None,
    server: str | None,
) -> int:
    """Say what a change would have come to, now or at a past moment.

    The cluster is forked in memory as of --at, changed, and run in virtual time until all is at rest,
    beside a fork without the change. What the log holds after --at is asked for again in both. Exit code
    0: no group or Pod fares otherwise; 1: some do. The log stays as it is.
    """
    from cli.text.whatif import render_whatif

    changes = _Changes(
        namespace=namespace,
        config=None if config is None else read_configuration(config),
        delete=_targets(doomed, doomed_files, namespace, recursive=recursive),
        apply=read_manifests(files, recursive=recursive) if files else None,
    )
    found = _found(settings, changes, at=at, span=span, deadline=deadline, save=save, server=server)
    if output == "json":
        print_json(found)
    else:
        print_text(render_whatif(found))
    if save is not None:
        asked = "queue, why, history, replay" if server is None else f"queue, why, history --server {server}"
        note(f"Kept as cluster {save}: ganger --cluster {save} {asked}")
    return 0 if found.same else 1


@dataclass(frozen=True)
class _Changes:
    """What is to be otherwise."""

    namespace: str
    config: Manifests | None
    delete: Sequence[Target]
    apply: Manifests | None

    def make(self, cluster: Cluster) -> list[Outcome]:
        """Change `cluster`. Raises CannotDo with the place of what is refused, NotFound."""
        outcomes: list[Outcome] = []
        if self.config is not None:
            with naming_the_place(self.config):
                outcomes.append(cluster.configure(self.config[0]))
        if self.delete:
            targets = [(kind, kind.key_of(namespace, name)) for kind, namespace, name in self.delete]
            outcomes += cluster.delete(targets)
        if self.apply is not None:
            with naming_the_place(self.apply):
                outcomes += cluster.apply(self.apply)
        return outcomes


def _found(
    settings: Settings,
    changes: _Changes,
    *,
    at: str | None,
    span: str | None,
    deadline: float,
    save: str | None,
    server: str | None,
) -> WhatIf:
    if server is not None:
        from cli.client import Client

        question = {
            "at": at,
            "apply": list(changes.apply or ()),
            "delete": [
                {"kind": kind.name, "namespace": namespace, "name": name}
                for kind, namespace, name in changes.delete
            ],
            "configuration": None if changes.config is None else changes.config[0],
            "for": span,
            "deadlineSeconds": deadline,
            "save": save,
        }
        return Client(server, settings.cluster).whatif(question)
    from cli.moments import moment_of
    from cli.opening import open_for_reading

    with open_for_reading(settings) as cluster:
        return whatif(
            cluster,
            changes.make,
            at=moment_of(cluster, at),
            span_us=None if span is None else span_of(span),
            deadline_s=deadline,
            save=save,
        )


def _targets(
    words: tuple[str, ...], files: tuple[str, ...], namespace: str, *, recursive: bool
) -> list[Target]:
    """What is to be deleted, by name and by manifests."""
    targets = [(kind, namespace, name) for kind, name in options.parse_named(words)] if words else []
    if files:
        manifests = read_manifests(files, recursive=recursive)
        with naming_the_place(manifests):
            targets += [target_in(manifest, namespace) for manifest in manifests]
    return targets
