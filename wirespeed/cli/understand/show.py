"""Print the runs of a result file again.

FILE is a result file (wirespeed-....jsonl), or another tool's output ('wirespeed explain' says more of it).
Every run in it is printed as it was when it was measured; of a file that only 'wirespeed doctor --out' has
written, what the doctor found. Damaged lines are left out, with a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import Reporting, debugging, option, reporting
from wirespeed.cli.common.streams import note
from wirespeed.errors import ExitCode

if TYPE_CHECKING:
    from wirespeed.results.reading import Results


@click.command(help=__doc__)
@click.argument("file", type=words.ANY_FILE)
@option(
    "--share",
    words.FILE,
    "Also write the file anew, with neutral names of hosts, users and folders, to give it away.",
)
@reporting()
@debugging
def command(
    file: str, share: str | None, style: str, against: str | None, explain: bool, all_sizes: bool
) -> ExitCode:
    """Reads and prints."""
    from wirespeed.cli.common.reading import read_results, runs_of
    from wirespeed.report.console.status_line import StatusLine

    shown = Reporting(style, against, explain, all_sizes)
    with StatusLine(live=False) as status:
        status.now(f"{words.shown(file)} is read")
        results = read_results(file)
    if share is not None:
        _share(results, share)
    if results.doctors and not results.runs and shown == Reporting():
        from wirespeed.doctor.result import Result
        from wirespeed.report.console.console import make_console
        from wirespeed.report.doctor.terminal import print_result

        print_result(make_console(), Result.of(results.doctors[-1]))
    else:
        shown.print(runs_of(results), results.findings)
    return ExitCode.OK


def _share(results: Results, name: str) -> None:
    """Writes the records with neutral names, which are shown from now on. Raises WirespeedError."""
    from msgspec import json

    from wirespeed.results.reading import shown
    from wirespeed.results.sharing import shared
    from wirespeed.results.whole_file import write_whole

    results.records = shared(results.records)
    write_whole(name, b"".join(json.encode(record) + b"\n" for record in results.records))
    note(f"{shown(name)}: hosts, users and folders have neutral names; look through it all the same")
