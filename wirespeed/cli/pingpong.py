"""wirespeed pingpong: two ranks, every path."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging, Measuring, Reporting
from wirespeed.errors import ExitCode

ORDER = 20


@dataclass(frozen=True)
class Options(Debugging, Reporting, Measuring):
    """Of wirespeed pingpong."""


def run(options: Options) -> ExitCode:
    """Measure two ranks by every path.

    For each path and size: the one-way time (half of a round trip) and the bandwidth. Inside a launcher
    (mpirun -n 2 wirespeed pingpong) the two processes are the ranks; outside, each path is started as a job
    step of its own.

    \b
    Examples:
      wirespeed pingpong
      wirespeed pingpong --paths host,aware --sizes 8:1G --precision 0.5%
      wirespeed pingpong --between 2,3 --mpi /opt/mpich
      wirespeed pingpong --loops 50 --warmup 5 --format tutorial
      mpirun -n 2 wirespeed pingpong --out pair.jsonl
    """
    from wirespeed.cli.common.measuring import measure_and_print

    plan = options.plan("pingpong", 2, debug=options.debug, test=options.test)
    return measure_and_print(plan, options)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "pingpong", Options, run)
