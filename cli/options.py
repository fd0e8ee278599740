"""Options and arguments that several subcommands have."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

from cli.settings import DEFAULT_NAMESPACE
from domain.admission.kinds import KINDS, Kind, kind_named
from domain.label_selectors import LabelSelector, parse_labels

STANDARD = Path("-")
"""Standard input or output, as a file."""

Command = TypeVar("Command", bound=Callable[..., object])
Decorator = Callable[[Command], Command]


class KindName(click.ParamType):
    """A kind by any of its names, alone or as the beginning of `KIND/NAME`."""

    name = "KIND"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The kinds that begin with `incomplete`."""
        return [
            CompletionItem(kind.singular) for kind in KINDS if kind.singular.startswith(incomplete.lower())
        ]


class SelectorText(click.ParamType):
    """A label selector."""

    name = "SELECTOR"

    def convert(
        self, value: str | LabelSelector, param: click.Parameter | None, ctx: click.Context | None
    ) -> LabelSelector:
        """The selector that `value` writes."""
        if not isinstance(value, str):
            return value
        try:
            return parse_labels(value)
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


class SecondsText(click.ParamType):
    """A number of seconds, with or without an `s`."""

    name = "SECONDS"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds that `value` writes."""
        if not isinstance(value, str):
            return value
        number = value.removesuffix("s")
        if not (number.isascii() and number.replace(".", "", 1).isdecimal()):
            self.fail(f"{value!r} is no number of seconds, such as 5s or 0.5", param, ctx)
        return float(number)


class WholeNumber(click.IntRange):
    """A whole number that 64 bits hold, as numbers of the API are."""

    name = "whole number"

    def __init__(self, least: int, most: int = 2**63 - 1) -> None:
        super().__init__(least, most)


namespace_option: Decorator = click.option(
    "-n", "--namespace", metavar="NAME", default=DEFAULT_NAMESPACE, show_default=True, help="Of the object."
)
given_namespace_option: Decorator = click.option(
    "-n", "--namespace", metavar="NAME", help="For objects that name none; others must agree."
)
at_option: Decorator = click.option(
    "--at",
    metavar="MOMENT",
    help="As of a position (120), an RFC 3339 time, or an age (-2h).",
)
server_option: Decorator = click.option(
    "--server", metavar="URL", help="Ask a running `ganger serve` instead of the store."
)
files_option: Decorator = click.option(
    "-f",
    "--filename",
    "files",
    metavar="PATH|-",
    multiple=True,
    help="A manifest, a folder of them, or - for standard input; can be repeated.",
)
recursive_option: Decorator = click.option(
    "-R", "--recursive", is_flag=True, help="Look in the folders of a folder, too."
)
dry_run_option: Decorator = click.option(
    "--dry-run", is_flag=True, help="Only say what would happen; append nothing."
)


def output_option(*formats: str) -> Decorator:
    """`-o` with one of `formats`; None if it is not given."""
    return click.option("-o", "--output", type=click.Choice(formats), help="Another form of the result.")


def parse_target(words: tuple[str, ...]) -> tuple[Kind, str]:
    """The one object that `KIND NAME` or `KIND/NAME` names. Raises NotFound for an unknown kind."""
    targets = parse_named(words)
    if len(targets) != 1:
        raise click.UsageError("name one object, by KIND NAME or KIND/NAME", click.get_current_context())
    (target,) = targets
    return target


def parse_named(words: tuple[str, ...]) -> list[tuple[Kind, str]]:
    """The objects that `KIND NAME…` or `KIND/NAME…` name. Raises NotFound for an unknown kind."""
    targets = parse_targets(words)
    if not all(name for _, name in targets):
        raise click.UsageError("an object is named by KIND NAME or KIND/NAME", click.get_current_context())
    return targets


def parse_targets(words: tuple[str, ...], find: Callable[[str], Kind] = kind_named) -> list[tuple[Kind, str]]:
    """The objects that `KIND[,KIND…] [NAME…]` or `KIND/NAME…` name; an empty name stands for all of the kind.

    `find` knows the kinds, and raises NotFound for an unknown one.
    """
    if any("/" in word for word in words):
        return [_split(word, find) for word in words]
    if not words:
        raise click.UsageError("an object is named by KIND NAME or KIND/NAME", click.get_current_context())
    kinds = [find(name) for name in words[0].split(",")]
    return [(kind, name) for kind in kinds for name in words[1:] or ("",)]


def _split(word: str, find: Callable[[str], Kind]) -> tuple[Kind, str]:
    kind, slash, name = word.partition("/")
    if not slash or not name or "/" in name:
        text = f"{word!r} is not KIND/NAME, and cannot stand among words that are"
        raise click.UsageError(text, click.get_current_context())
    return find(kind), name
