"""Draw time and bandwidth against message size, for a paper.

Needs matplotlib: pip install matplotlib. Each FILE is a result file (wirespeed-....jsonl) or another tool's
output. One figure shows the runs of one pattern: that of the run with most entries. A program that was
measured with several numbers of ranks has curves over these, a line a path, beside the ideal, and its
efficiency.
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, option
from wirespeed.errors import ExitCode, WirespeedError

NAMES = words.several(words.Word("NAME", str))


@click.command(help=__doc__)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=words.ANY_FILE)
@click.option(
    "--out", "-o", type=words.FILE, default="figure.pdf", help="Figure to write: .pdf, .svg or .png."
)
@option("--paths", NAMES, "Paths in the figure. Default: all.")
@option("--kind", words.choice("both", "bandwidth", "time"), "Bandwidth, time, or both side by side.", "both")
@click.option("--against", metavar="SYSTEM", help="Also draw the published curves of a system (summit).")
@debugging
def command(
    files: tuple[str, ...], out: str, paths: tuple[str, ...] | None, kind: str, against: str | None
) -> ExitCode:
    """Reads, and draws a file."""
    from wirespeed.cli.common.reading import read_pages
    from wirespeed.report.export.matplotlib_figure import FORMATS, plot

    if not out.endswith(FORMATS):
        raise WirespeedError(f"--out {out}: the name of a figure ends in {', '.join(FORMATS)}")
    sources, _ = read_pages(files)
    plot(sources, out, paths or (), kind, against)
    print(out)
    return ExitCode.OK
