"""wirespeed plot: a figure for a paper, of what result files hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from wirespeed.cli.common import values
from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging, option
from wirespeed.errors import ExitCode, WirespeedError

ORDER = 44
FORMATS = (".pdf", ".png", ".svg")
KINDS = ("both", "bandwidth", "time")


@dataclass(frozen=True)
class _Files:
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Result files (wirespeed-....jsonl).")]


@dataclass(frozen=True)
class _Figure:
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", help="What to write: figure.pdf, .svg or .png, by its end."
        ),
    ] = "figure.pdf"
    paths: Annotated[str | None, option("--paths", "NAME,...", "Paths in the figure. Default: all.")] = None
    kind: Annotated[str, option("--kind", "|".join(KINDS), "Bandwidth, time, or both side by side.")] = "both"
    against: Annotated[
        str | None, option("--against", "SYSTEM", "Put a system's published curves beside ours (summit).")
    ] = None


@dataclass(frozen=True)
class Options(Debugging, _Figure, _Files):
    """Of wirespeed plot."""


def run(options: Options) -> ExitCode:
    """Draw time and bandwidth against message size, for a paper or slides.

    Needs matplotlib: pip install 'wirespeed[plot]'. Runs of one pattern go into one figure: that of the run
    with most figures.
    """
    from wirespeed.cli.common.reading import warn
    from wirespeed.report.export.matplotlib_figure import Wanted, plot
    from wirespeed.report.page import read_sources

    if not options.out.endswith(FORMATS):
        raise WirespeedError(f"--out {options.out}: a figure's name ends in {', '.join(FORMATS)}")
    values.one_of("--kind", options.kind, KINDS)
    paths = () if options.paths is None else values.words("--paths", options.paths)
    sources, lost = read_sources(options.files)
    for line in [*lost, *(f"{source.file}: {line}" for source in sources for line in source.warnings)]:
        warn(line)
    plot(sources, options.out, Wanted(paths, options.kind, options.against))
    print(options.out)
    return ExitCode.OK


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "plot", Options, run)
