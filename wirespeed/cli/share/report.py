"""Make a report of result files: one page, or Markdown.

The page is one file that needs no network. Each FILE is a result file (wirespeed-....jsonl) or another tool's
output; several go into one report, of different machines, too. Damaged lines are left out, with a warning.
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging
from wirespeed.errors import ExitCode, WirespeedError


@click.command(help=__doc__)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=words.ANY_FILE)
@click.option("--out", "-o", type=words.FILE, default="report.html", help="Report to write: .html or .md.")
@debugging
def command(files: tuple[str, ...], out: str) -> ExitCode:
    """Reads, and writes a file."""
    from wirespeed.cli.common.reading import read_pages
    from wirespeed.report.console.status_line import StatusLine
    from wirespeed.report.page import render
    from wirespeed.results.whole_file import write_whole

    if not out.endswith((".html", ".md")):
        raise WirespeedError(f"--out {out}: the name of a report ends in .html or .md")
    with StatusLine(live=False) as status:
        status.now("the result files are read")
        sources, lost = read_pages(files)
        status.now(f"{words.shown(out)} is made")
        if out.endswith(".md"):
            from wirespeed.report.export.markdown import markdown

            page = markdown(sources, lost)
        else:
            page = render(sources, lost)
        write_whole(out, page)
    print(out)
    return ExitCode.OK
