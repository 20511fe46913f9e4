"""Make a report of result files: one page, or Markdown.

'wirespeed show FILES -o page.html' does the same. The page is one file that needs no network; several files
go into one report, of different machines, too. Damaged lines are left out, with a warning.
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging
from wirespeed.cli.common.showing import PAGES, named_files, write_results
from wirespeed.errors import ExitCode


@click.command(help=__doc__)
@click.argument("files", metavar="FILES...", nargs=-1, required=True, type=words.ANY_FILE)
@click.option("--out", "-o", type=words.FILE, default="report.html", help="Report to write: .html or .md.")
@debugging
def command(files: tuple[str, ...], out: str) -> ExitCode:
    """Reads, and writes a file."""
    write_results(named_files(files), out, allowed=PAGES)
    return ExitCode.OK
