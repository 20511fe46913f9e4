"""Look at results: as a table, page, plot, Markdown or CSV.

FILES are result files (wirespeed-....jsonl), other tools' outputs ('wirespeed explain' says more of these),
folders, quoted wildcards, or - for the standard input. Every run in them is printed as it was when it was
measured, and what the doctor found, where a file has that. Damaged lines are left out, with a warning.

\b
Examples:
  wirespeed show --last                      # the newest result file here
  wirespeed show results/ -o page.html       # one page of all files in a folder
  wirespeed show a.jsonl b.jsonl -o plot.pdf # their curves in one figure
"""

from __future__ import annotations

import sys

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import Reporting, debugging, flag, option, reporting
from wirespeed.cli.common.showing import (
    ENDINGS,
    STDIN,
    Drawing,
    drawing,
    named_files,
    print_sources,
    read_all,
    write_results,
)
from wirespeed.cli.common.streams import note
from wirespeed.errors import ExitCode, WirespeedError


@click.command(help=__doc__)
@click.argument("files", metavar="FILES...", nargs=-1, type=words.ANY_FILE)
@click.option(
    "-o", "--out", type=words.FILE, help=f"Write a file instead; its name ends in {', '.join(ENDINGS)}."
)
@flag("--last", "The newest result file of this folder.")
@option(
    "--share",
    words.FILE,
    "Also write the file anew, with neutral names of hosts, users and folders, to give it away.",
)
@drawing
@reporting()
@debugging
def command(
    files: tuple[str, ...],
    out: str | None,
    last: bool,
    share: str | None,
    paths: tuple[str, ...] | None,
    kind: str,
    style: str,
    against: str | None,
    explain: bool,
    all_sizes: bool,
) -> ExitCode:
    """Reads, and prints or writes."""
    found = named_files(files, last=last)
    if share is not None:
        found = [_shared(found, share)]
    if out is not None:
        if style != "table":
            raise WirespeedError(f"--format {style}: the name of --out says the form; leave one of them out")
        write_results(found, out, Drawing(paths or (), kind, against))
        return ExitCode.OK
    if paths or kind != "both":
        raise WirespeedError("--paths and --kind are of plots: name one with -o FILE.pdf")
    how = Reporting(style, against, explain, all_sizes)
    sources, _ = read_all(found)
    print_sources(sources, how, sys.stdout)
    return ExitCode.OK


def _shared(files: list[str], name: str) -> str:
    """Writes the records with neutral names, which are shown from now on. Raises WirespeedError."""
    from msgspec import json

    from wirespeed.cli.common.reading import read_results
    from wirespeed.results.reading import shown
    from wirespeed.results.sharing import shared
    from wirespeed.results.whole_file import write_whole

    if len(files) != 1 or files == [STDIN]:
        raise WirespeedError("--share writes one file anew: name one")
    records = shared(read_results(files[0]))
    write_whole(name, b"".join(json.encode(record) + b"\n" for record in records))
    note(f"{shown(name)}: hosts, users and folders have neutral names; look through it all the same")
    return name
