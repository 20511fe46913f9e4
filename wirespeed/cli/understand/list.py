"""List result files: date, host, command and verdict of each.

DIR is a folder, a result file, or a quoted wildcard. Default: this folder.
"""

from __future__ import annotations

import json

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, table_or_json
from wirespeed.errors import ExitCode


@click.command(help=__doc__)
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=words.ANY_FILE)
@table_or_json
@debugging
def command(folders: tuple[str, ...], style: str) -> ExitCode:
    """Reads and prints."""
    from wirespeed.cli.common.showing import named_files, read_all
    from wirespeed.report.console.console import make_console
    from wirespeed.report.terminal.listed import as_json, print_list

    sources, _ = read_all(named_files(folders or (".",)))
    if style == "json":
        click.echo(json.dumps(as_json(sources), indent=1))
    else:
        print_list(make_console(), sources)
    return ExitCode.OK
