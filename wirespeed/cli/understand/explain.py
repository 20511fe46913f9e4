"""Explain what another tool printed, and what is wrong with it.

FILE is what osu_bw, nccl-tests, nvbandwidth, ib_write_bw, ucx_perftest, IMB and others printed, with all
that stands around it; - is the standard input. Several files are read as one text. The exit code is 6 if
something is wrong, 7 if a figure cannot be, 8 if nothing can be told, 2 if nothing was understood; with
--against also what 'wirespeed compare' says.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, flag, option, table_or_json
from wirespeed.errors import ExitCode, WirespeedError, gravest

if TYPE_CHECKING:
    from wirespeed.foreign.shapes import Log
    from wirespeed.report.compare.comparison import Comparison


@click.command(help=__doc__)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=words.ANY_FILE)
@option(
    "--link links",
    words.KNOWN_LINKS,
    "The wire: a known name (HDR, NDR200, 10GbE, NVLink4x18) or a peak rate, one way, as in eth0=25Gbit/s.",
)
@option("--gpu", words.NAME, "The GPU, as in H200 or 'NVIDIA A100-SXM4-80GB'.")
@option("--system", words.NAME, "The published machine that it ran on; 'wirespeed systems' lists them.")
@option("--against", words.ANY_FILE, "Figures of before, or of another tool, to compare these with as well.")
@flag("--all everything", "Print every line, not 40 at most.")
@table_or_json
@debugging
def command(
    files: tuple[str, ...],
    links: tuple[tuple[str, float], ...] | None,
    gpu: str | None,
    system: str | None,
    against: str | None,
    everything: bool,
    style: str,
) -> ExitCode:
    """Reads, judges and prints."""
    from wirespeed.foreign.explain import explain
    from wirespeed.foreign.opening import read_log
    from wirespeed.foreign.question import Question
    from wirespeed.report.compare.terminal import print_comparison
    from wirespeed.report.console.console import make_console
    from wirespeed.report.foreign.as_json import to_json
    from wirespeed.report.foreign.lines import print_explanation

    if against and style == "json":
        raise WirespeedError("--against prints two results: 'wirespeed compare --json' has the other one")
    log = read_log(files)
    explanation = explain(log, Question(dict(links or ()), gpu or "", system or ""))
    # What cannot be read is told before anything is printed.
    compared = _against(against, log, ", ".join(files)) if against else None
    if style == "json":
        click.echo(json.dumps(to_json(explanation), indent=1))
        return explanation.code
    print_explanation(make_console(), explanation, everything=everything)
    if compared is None:
        return explanation.code
    make_console().print()
    print_comparison(make_console(), compared, everything=everything)
    return gravest(explanation.code, compared.code())


def _against(side: str, log: Log, name: str) -> Comparison:
    """Raises WirespeedError where one of both has no figures."""
    from wirespeed.cli.common.reading import read_side, runs_of
    from wirespeed.foreign.opening import figures_of
    from wirespeed.report.compare.comparison import compare

    return compare(read_side(side), runs_of(figures_of(log, name)), (side, name))
