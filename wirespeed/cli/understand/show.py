"""Print the runs of a result file again.

FILE is a result file (wirespeed-....jsonl). Every run in it is printed as it was when it was measured; of a
file that only 'wirespeed doctor --out' has written, what the doctor found.
Damaged lines are left out, with a warning.
"""

from __future__ import annotations

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import Reporting, debugging, reporting
from wirespeed.errors import ExitCode


@click.command(help=__doc__)
@click.argument("file", type=words.ANY_FILE)
@reporting()
@debugging
def command(file: str, style: str, against: str | None, explain: bool, all_sizes: bool) -> ExitCode:
    """Reads and prints."""
    from wirespeed.cli.common.reading import read_results, runs_of
    from wirespeed.report.console.status_line import StatusLine

    shown = Reporting(style, against, explain, all_sizes)
    with StatusLine(live=False) as status:
        status.now(f"{words.shown(file)} is read")
        results = read_results(file)
    if results.doctors and not results.runs and shown == Reporting():
        from wirespeed.doctor.result import Result
        from wirespeed.report.console.console import make_console
        from wirespeed.report.doctor.terminal import print_result

        print_result(make_console(), Result.of(results.doctors[-1]))
    else:
        shown.print(runs_of(results))
    return ExitCode.OK
