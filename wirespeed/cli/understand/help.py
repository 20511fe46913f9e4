"""List all commands, or say what one of them does.

\b
Examples:
  wirespeed help all         # every command, in groups
  wirespeed help pingpong    # what 'wirespeed pingpong --help-all' prints
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.errors import ExitCode


@click.command(help=__doc__)
@click.argument("name", metavar="[all|COMMAND]", required=False, type=words.Word("COMMAND", str))
@click.pass_context
def command(context: click.Context, name: str | None) -> ExitCode:
    """Prints; raises UsageError for a command that there is not."""
    from wirespeed.cli.commands import cli
    from wirespeed.cli.common.help_all import show_all

    root = context.find_root()
    if name == "all":
        show_all(root)
    if name in (None, "all"):
        click.echo(cli.get_help(root))
        return ExitCode.OK
    asked = cli.get_command(root, name)
    assert asked
    with click.Context(asked, parent=root, info_name=name) as found:
        show_all(found)
        click.echo(asked.get_help(found))
    return ExitCode.OK
