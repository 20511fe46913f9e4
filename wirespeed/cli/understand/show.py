"""Print the runs of a result file again.

FILE is a result file (wirespeed-....jsonl). Every run in it is printed as it was when it was measured.
Damaged lines are left out, with a warning.
"""

from __future__ import annotations

import click

from wirespeed.cli.common.options import Reporting, debugging, reporting
from wirespeed.errors import ExitCode


@click.command(help=__doc__)
@click.argument("file")
@reporting()
@debugging
def command(file: str, style: str, against: str | None) -> ExitCode:
    """Reads and prints."""
    from wirespeed.cli.common.reading import read_runs

    Reporting(style, against).print(read_runs(file))
    return ExitCode.OK
