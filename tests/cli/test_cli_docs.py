"""docs/cli.md and the help name the commands and options that there are."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.main import COMMANDS, ganger
from cli_world import Ganger

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
GENERAL, *SECTIONS = re.split(r"^### `ganger ([a-z ]+)`$", TEXT, flags=re.MULTILINE)
DOCUMENTED = dict(zip(SECTIONS[::2], SECTIONS[1::2], strict=True))


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(ganger)
    for name in COMMANDS:
        command = ganger.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {sub}", each) for sub, each in command.commands.items())
        else:
            yield name, command


def long_options(command: click.Command) -> set[str]:
    return {
        name
        for each in command.params
        if isinstance(each, click.Option)
        for name in each.opts
        if "--" in name
    }


def test_every_command_is_documented_and_no_other() -> None:
    assert list(DOCUMENTED) == [name for name, _ in commands()]


@pytest.mark.parametrize(("name", "command"), [pytest.param(*each, id=each[0]) for each in commands()])
def test_every_option_is_documented_and_no_other(name: str, command: click.Command) -> None:
    listed = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", DOCUMENTED[name]))

    assert listed - ({"--at"} if name == "simulate" else set()) == long_options(command)


def test_the_global_options_are_documented() -> None:
    table = re.findall(r"^\| `(--[a-z]+)` \| `([A-Z_]+)`", GENERAL, flags=re.MULTILINE)

    options = {each.opts[0]: each.envvar for each in ganger.params if isinstance(each, click.Option)}
    assert dict(table) == {name: variable for name, variable in options.items() if variable is not None}
    assert all(name in GENERAL for name in options)


@pytest.mark.parametrize(("name", "command"), [pytest.param(*each, id=each[0]) for each in commands()])
def test_help_says_what_a_command_does(name: str, command: click.Command, ganger: Ganger) -> None:
    told = ganger.out(*name.split(), "--help")

    assert command.help is not None
    assert told.startswith(f"Usage: ganger {name} ")
    assert ganger.out(*name.split(), "-h") == told
    if name in COMMANDS:
        assert command.help.splitlines()[0] == COMMANDS[name]
    assert all(each.help for each in command.params if isinstance(each, click.Option))


def test_the_help_lists_what_works_and_nothing_else(ganger: Ganger) -> None:
    told = ganger.out("--help")

    assert re.findall(r"^  ([a-z]+)  ", told, flags=re.MULTILINE) == list(COMMANDS)
