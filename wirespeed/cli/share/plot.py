"""Draw time and bandwidth against message size, for a paper.

Needs matplotlib: pip install matplotlib. 'wirespeed show FILES -o figure.pdf' does the same. One figure shows
the runs of one pattern: that of the run with most entries. A program that was measured with several numbers
of ranks has curves over these, a line a path, beside the ideal, and its efficiency.
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging
from wirespeed.cli.common.showing import PLOTS, Drawing, drawing, named_files, write_results
from wirespeed.errors import ExitCode


@click.command(help=__doc__)
@click.argument("files", metavar="FILES...", nargs=-1, required=True, type=words.ANY_FILE)
@click.option(
    "--out", "-o", type=words.FILE, default="figure.pdf", help="Figure to write: .pdf, .svg or .png."
)
@drawing
@click.option("--against", metavar="SYSTEM", help="Also draw the published curves of a system (summit).")
@debugging
def command(
    files: tuple[str, ...], out: str, paths: tuple[str, ...] | None, kind: str, against: str | None
) -> ExitCode:
    """Reads, and draws a file."""
    write_results(named_files(files), out, Drawing(paths or (), kind, against), PLOTS)
    return ExitCode.OK
