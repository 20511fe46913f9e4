"""List every path: available, or what it lacks.

A path that is available may still fail when it is tried: for example, only a job step of 'wirespeed survey'
or 'wirespeed pingpong' finds out whether an MPI takes device pointers.
"""

from __future__ import annotations

import json
from typing import Any

import click

from wirespeed.cli.common.options import plan_of, table_or_json, where
from wirespeed.errors import ExitCode


@click.command(help=__doc__)
@table_or_json
@where
def command(style: str, **given: Any) -> ExitCode:
    """Looks at the machine and prints."""
    from wirespeed.frontend import session
    from wirespeed.paths import all_paths
    from wirespeed.report.terminal.paths import PathState, print_paths
    from wirespeed.report.terminal.run_summary import make_console

    machine = session.discover(plan_of(given))
    rows = [PathState(path, machine.lacks(path)) for path in all_paths()]
    if style == "table":
        print_paths(make_console(), rows)
        return ExitCode.OK
    listed = [
        {
            "path": row.path.name,
            **{name: getattr(row.path, name) for name in ("summary", "transport", "memory", "default")},
            "without": row.path.without or None,
            "available": row.lacks is None,
            "lacks": row.lacks,
        }
        for row in rows
    ]
    click.echo(json.dumps(listed, indent=1))
    return ExitCode.OK
