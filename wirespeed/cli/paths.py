"""wirespeed paths: every path, available or what it lacks."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from wirespeed.cli.common import values
from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import DEVICES, Debugging, Where, option
from wirespeed.errors import ExitCode

ORDER = 30
FORMATS = ("table", "json")


@dataclass(frozen=True)
class _Format:
    format: Annotated[str, option("--format", "|".join(FORMATS), "How to print the list.")] = "table"


@dataclass(frozen=True)
class Options(Debugging, _Format, Where):
    """Of wirespeed paths."""


def run(options: Options) -> ExitCode:
    """List the paths, and what each one lacks.

    A path that is available may still fail when it is tried: whether an MPI takes device pointers, for
    example, is found out in a job step of its own by 'wirespeed survey' and 'wirespeed pingpong'.
    """
    from wirespeed.frontend import session as entry
    from wirespeed.host.libraries import lacking
    from wirespeed.job.plan import Plan
    from wirespeed.paths import all_paths
    from wirespeed.report.terminal.paths import PathState, print_paths
    from wirespeed.report.terminal.run_summary import make_console

    values.one_of("--format", options.format, FORMATS)
    plan = Plan(
        device=values.one_of("--device", options.device, DEVICES),
        mpi=values.word("--mpi", options.mpi),
        launcher=values.launcher(options.launcher),
        debug=options.debug,
    )
    machine = entry.discover(plan)
    kind = machine.kind
    rows = [
        PathState(path, machine.availability(path) or lacking(path.library, kind)) for path in all_paths()
    ]
    if options.format == "json":
        listed = [
            {
                "path": row.path.name,
                "summary": row.path.summary,
                "transport": row.path.transport,
                "memory": row.path.memory,
                "default": row.path.default,
                "without": row.path.without or None,
                "available": row.lacks is None,
                "lacks": row.lacks,
            }
            for row in rows
        ]
        sys.stdout.write(json.dumps(listed, indent=1) + "\n")
    else:
        print_paths(make_console(), rows)
    return ExitCode.OK


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "paths", Options, run)
