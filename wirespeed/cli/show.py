"""wirespeed show: a result file, printed again."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging, Reporting
from wirespeed.errors import ExitCode

ORDER = 40


@dataclass(frozen=True)
class _File:
    file: Annotated[str, typer.Argument(metavar="FILE", help="A result file (wirespeed-....jsonl).")]


@dataclass(frozen=True)
class Options(Debugging, Reporting, _File):
    """Of wirespeed show."""


def run(options: Options) -> ExitCode:
    """Print a result file again.

    Every run in it is printed as it was when it was measured. Damaged lines are left out, with a warning.
    """
    from wirespeed.cli.common.reading import read_runs
    from wirespeed.report.export.formats import FORMATS

    options.check_report()
    runs = read_runs(options.file)
    FORMATS[options.format](runs, sys.stdout, options.against)
    return ExitCode.OK


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "show", Options, run)
