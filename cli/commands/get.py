"""`ganger get`."""

import sys
from collections.abc import Sequence

import click

from cli import options
from cli.columns import columns_for, table
from cli.console import note, print_table
from cli.objects import Objects, Shown, labels_of
from cli.settings import Settings, pass_settings
from cli.sources import open_objects
from domain.admission.kinds import Kind, readable_kind_named
from domain.label_selectors import LabelSelector, selects


@click.command()
@click.argument("words", metavar="KIND [NAME]...", nargs=-1, required=True, type=options.KindName())
@options.namespace_option
@click.option("-A", "--all-namespaces", is_flag=True, help="Of every namespace.")
@click.option(
    "-l",
    "--selector",
    type=options.SelectorText(),
    default=(),
    help="Only objects with these labels: a=b, a!=b, a in (b,c), a notin (b,c), a, !a, joined by commas.",
)
@options.output_option("json", "yaml", "wide", "name")
@options.at_option
@options.server_option
@pass_settings
def command(
    settings: Settings,
    words: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    selector: LabelSelector,
    output: str | None,
    at: str | None,
    server: str | None,
) -> None:
    """Print objects as a table, JSON or YAML.

    KIND is the name of a kind in singular or plural, or its short name, in any case: pods, po,
    PodGroup, pg, node, no, events. Several kinds are joined by commas; KIND/NAME works, too.
    """
    targets = options.parse_targets(words, readable_kind_named)
    if any(name for _, name in targets) and (all_namespaces or selector):
        raise click.UsageError("name objects, or select them by -A and -l: not both")
    with open_objects(settings, server=server, at=at) as objects:
        found = [
            (kind, _select(objects, kind, None if all_namespaces else namespace, name, selector))
            for kind, name in targets
        ]
        if output in ("json", "yaml"):
            _print_manifests([shown for _, each in found for shown in each], output, one=_names_one(targets))
        elif output == "name":
            for kind, each in found:
                for shown in each:
                    print(f"{kind.singular}/{shown['metadata']['name']}")
        else:
            _print_tables(objects, found, wide=output == "wide", namespaces=all_namespaces)
        if not any(each for _, each in found) and output not in ("json", "yaml"):
            _tell_nothing_found(targets, None if all_namespaces else namespace)


def _select(
    objects: Objects, kind: Kind, namespace: str | None, name: str, selector: LabelSelector
) -> list[Shown]:
    if name:
        assert namespace is not None
        return [objects.one(kind, namespace, name)]
    return [shown for shown in objects.all(kind, namespace) if selects(selector, labels_of(shown))]


def _names_one(targets: Sequence[tuple[Kind, str]]) -> bool:
    return len(targets) == 1 and bool(targets[0][1])


def _print_manifests(found: Sequence[Shown], output: str, *, one: bool) -> None:
    from cli.dumping import dump

    body = found[0] if one else {"apiVersion": "v1", "kind": "List", "items": list(found)}
    sys.stdout.write(dump(body, output))


def _print_tables(
    objects: Objects, found: Sequence[tuple[Kind, list[Shown]]], *, wide: bool, namespaces: bool
) -> None:
    tables: dict[Kind, list[Shown]] = {}
    for kind, each in found:
        tables.setdefault(kind, []).extend(each)
    filled = [(kind, each) for kind, each in tables.items() if each]
    for number, (kind, each) in enumerate(filled):
        if number:
            print()
        columns = columns_for(kind.name, each, wide=wide, namespaces=namespaces and kind.namespaced)
        rows = table(columns, each, objects.facts)
        headers = [column.header for column in columns]
        if len(filled) > 1 and "NAME" in headers:
            place = headers.index("NAME")
            for row in rows:
                row[place] = f"{kind.singular}/{row[place]}"
        print_table(headers, rows)


def _tell_nothing_found(targets: Sequence[tuple[Kind, str]], namespace: str | None) -> None:
    everywhere = namespace is None or not any(kind.namespaced for kind, _ in targets)
    note("No resources found" if everywhere else f"No resources found in {namespace} namespace.")
