"""Print what a shell needs to complete commands and options.

\b
Examples:
  wirespeed completion bash >> ~/.bashrc
  wirespeed completion fish > ~/.config/fish/completions/wirespeed.fish
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.errors import ExitCode


@click.command(help=__doc__)
@click.argument("shell", type=words.choice("bash", "zsh", "fish"))
def command(shell: str) -> ExitCode:
    """Click's own text for the shell."""
    from click.shell_completion import get_completion_class

    from wirespeed.cli.commands import cli
    from wirespeed.cli.main import COMPLETE

    found = get_completion_class(shell)
    assert found
    click.echo(found(cli, {}, "wirespeed", COMPLETE).source())
    return ExitCode.OK
