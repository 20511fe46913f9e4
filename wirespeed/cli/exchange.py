"""wirespeed exchange: two ranks send to each other at once, every path."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging, Measuring, Reporting
from wirespeed.errors import ExitCode

ORDER = 25


@dataclass(frozen=True)
class Options(Debugging, Reporting, Measuring):
    """Of wirespeed exchange."""


def run(options: Options) -> ExitCode:
    """Measure both directions at once, by every path.

    For each path and size: the time until both ranks' messages have arrived, and the bandwidth of each
    direction (the sum of both is twice that).

    \b
    Examples:
      wirespeed exchange
      wirespeed exchange --paths gpu,ipc-write --sizes 1M:1G
    """
    from wirespeed.cli.common.measuring import measure_and_print

    plan = options.plan("exchange", 2, debug=options.debug, test=options.test)
    return measure_and_print(plan, options)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "exchange", Options, run)
