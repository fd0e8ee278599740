"""`ganger completion`."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    For this session: source <(ganger completion bash), or ganger completion fish | source.
    """
    completion = get_completion_class(shell)
    assert completion is not None
    print(completion(context.find_root().command, {}, "ganger", "_GANGER_COMPLETE").source())
