"""The `ganger` command: global options, a module for each subcommand, errors as a line and a code."""

import codecs
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper

import click
from click.shell_completion import CompletionItem

from cli.console import visible
from cli.errors import FromServer
from cli.settings import DEFAULT_CLUSTER, DEFAULT_STORE, Settings
from domain.errors import GangerError
from domain.version import VERSION

USE_OR_FAILURE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
"""The code that a shell gives a program which the reader of its output did not wait for."""

_ESCAPED = "ganger.escaped"

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Objects": {
        "apply": "Create or change objects from manifests.",
        "get": "Print objects as a table, JSON or YAML.",
        "describe": "Print everything about an object, with its Events and the last of its history.",
        "delete": "Delete objects by name or by manifests.",
    },
    "Scheduling": {
        "run": "Run the worker that decides and carries out.",
        "serve": "Serve the HTTP API and a web page, and run the worker.",
        "queue": "Print what waits, in the order in which it will be tried.",
        "why": "Say why an object is placed, waiting, rejected or gone.",
        "history": "Print every event and attempt that concerns an object.",
        "config": "Show or set the configuration of the scheduler.",
    },
    "The log": {
        "diff": "Print what changed between two moments.",
        "replay": "Fold a log from nothing and decide again at every attempt.",
        "log": "Print the head of the log, verify, export or import it.",
        "db": "Show or upgrade the schema of the store.",
    },
    "Simulation": {
        "whatif": "Say what a change would have come to, now or at a past moment.",
        "simulate": "Run a trace of jobs in virtual time.",
        "test": "Run scenario files.",
    },
    "About ganger": {
        "version": "Print the version.",
        "completion": "Print the completion script for a shell.",
    },
}
COMMANDS = {name: text for commands in SECTIONS.values() for name, text in commands.items()}


class Commands(click.Group):
    """The subcommands, each imported only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all subcommands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of this name, None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"cli.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with names like the one that does not exist."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands by section, without importing them."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The subcommands and options that begin with `incomplete`, without importing any."""
        found = [
            CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--store",
    metavar="URL",
    envvar="GANGER_STORE",
    default=DEFAULT_STORE,
    show_default=True,
    show_envvar=True,
    help="Path of an SQLite file, or an SQLAlchemy URL.",
)
@click.option(
    "--cluster",
    metavar="NAME",
    envvar="GANGER_CLUSTER",
    default=DEFAULT_CLUSTER,
    show_default=True,
    show_envvar=True,
    help="Which cluster of the store.",
)
@click.version_option(VERSION, message="ganger %(version)s", help="Print the version, as the command does.")
@click.pass_context
def ganger(context: click.Context, store: str, cluster: str) -> None:
    """Schedule gangs of Pods all-or-nothing, and look up why.

    Results go to standard output, notes and progress to standard error. Exit code 0 is yes, 1 is no,
    2 is wrong use or a failure.
    """
    if not cluster:
        raise click.BadParameter("a cluster has a name", context, param_hint="--cluster")
    context.obj = Settings(store=store, cluster=cluster)


def run(arguments: Sequence[str]) -> int:
    """Carry out a command line; its exit code."""
    try:
        with ganger.make_context("ganger", list(arguments)) as context:
            code = ganger.invoke(context)
        sys.stdout.flush()
        return code or 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return PIPE_CLOSED
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USE_OR_FAILURE
    except click.ClickException as error:
        return _fail(f"error: {_told(error)}")
    except FromServer as error:
        return _fail(str(error))
    except GangerError as error:
        return _fail(f"error: {error}")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"error: {where}{error.strerror or error}")
    except Exception as error:  # a bug: Python's code 1 would read as "no"
        if "GANGER_TRACEBACK" in os.environ:
            raise
        kind = type(error).__name__
        return _fail(f"error: a bug in ganger: {kind}: {error} (GANGER_TRACEBACK=1 shows where)")


def main() -> None:
    """Run the command line of this process."""
    _open_what_is_closed()
    if isinstance(sys.stdout, TextIOWrapper):
        codecs.register_error(_ESCAPED, _escaped)
        sys.stdout.reconfigure(errors=_ESCAPED)
    if "_GANGER_COMPLETE" in os.environ:
        ganger.main(prog_name="ganger")
    sys.exit(run(sys.argv[1:]))


def _open_what_is_closed() -> None:
    """Whoever closed a standard stream (`>&-`) has no use for it; files are not to take its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Letters that the locale does not have, as JSON writes them, so that JSON stays valid."""
    assert isinstance(error, UnicodeEncodeError), "only output has this handler"
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _told(error: click.ClickException) -> str:
    """What was wrong with the use, in one line, with where to read how to do it."""
    message = error.format_message()
    message = message[:1].lower() + message[1:].removesuffix(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return message if context is None else f"{message} (see `{context.command_path} --help`)"


def _fail(line: str) -> int:
    print(visible(_one_line(line.splitlines())), file=sys.stderr)
    return USE_OR_FAILURE


def _one_line(lines: Iterable[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


def _forget_output() -> None:
    """Nobody reads standard output any more: what is left in its buffer goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
