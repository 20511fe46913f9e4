"""Explain what another tool printed, and what is wrong with it.

FILE is what osu_bw, nccl-tests, nvbandwidth, ib_write_bw, ucx_perftest, IMB and others printed, with all
that stands around it; - is the standard input. Several files are read as one text. The exit code is 6 if
something is wrong, 7 if a figure cannot be, 8 if nothing can be told, 2 if nothing was understood.
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, flag, option
from wirespeed.errors import ExitCode


@click.command(help=__doc__)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=words.ANY_FILE)
@option(
    "--link",
    words.KNOWN_LINKS,
    "The wire: a known name (HDR, NDR200, 10GbE, NVLink4x18) or a peak rate, one way, as in eth0=25Gbit/s.",
    key="links",
)
@option("--gpu", words.NAME, "The GPU, as in H100 or 'NVIDIA A100-SXM4-80GB'.")
@option("--system", words.NAME, "The published machine that it ran on; 'wirespeed systems' lists them.")
@flag("--all", "Print every line, not 40 at most.", "everything")
@debugging
def command(
    files: tuple[str, ...],
    links: tuple[tuple[str, float], ...] | None,
    gpu: str | None,
    system: str | None,
    everything: bool,
) -> ExitCode:
    """Reads, judges and prints."""
    from wirespeed.cli.common.foreign import read_logs
    from wirespeed.foreign.explain import explain
    from wirespeed.foreign.question import Question
    from wirespeed.report.console.console import make_console
    from wirespeed.report.foreign.terminal import print_explanation

    explanation = explain(read_logs(files), Question(dict(links or ()), gpu or "", system or ""))
    print_explanation(make_console(), explanation, everything=everything)
    return explanation.code
