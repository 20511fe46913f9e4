"""List every path: available, or what it lacks.

A path that is available may still fail when it is tried: for example, only a job step of 'wirespeed survey'
or 'wirespeed pingpong' finds out whether an MPI takes device pointers.

--build gasnet builds what the path gasnet opens, from the GASNet-EX installed in the folder of --with.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from wirespeed.cli.common.options import plan_of, table_or_json, where
from wirespeed.errors import ExitCode, WirespeedError


@click.command(help=__doc__)
@click.option("--build", "library", type=click.Choice(["gasnet"]), help="Build what a path opens.")
@click.option("--with", "prefix", metavar="PREFIX", help="The installation to build it from.")
@table_or_json
@where
def command(style: str, library: str | None, prefix: str | None, **given: Any) -> ExitCode:
    """Looks at the machine and prints."""
    if bool(library) != bool(prefix):
        raise WirespeedError("--build gasnet --with PREFIX: PREFIX is where GASNet is installed; give both")
    if prefix:
        return _build(Path(prefix))
    from wirespeed.frontend import session
    from wirespeed.frontend.order import too_few_gpus
    from wirespeed.paths import TransferPath, all_paths
    from wirespeed.report.console.console import make_console
    from wirespeed.report.terminal.paths import PathState, print_paths

    plan = plan_of(given)
    machine = session.discover(plan)
    too_few = too_few_gpus(replace(plan, ranks=2), machine)

    def lacks(path: TransferPath) -> str | None:
        alone = path.intra_rank or path.work_alone or not path.wants_gpu
        return machine.lacks(path) or (None if alone else too_few)

    rows = [PathState(path, lacks(path)) for path in all_paths()]
    if style == "table":
        print_paths(make_console(), rows)
        return ExitCode.OK
    listed = [
        {
            "path": row.path.name,
            **{name: getattr(row.path, name) for name in ("summary", "transport", "memory", "default")},
            "without": row.path.switch.without or None,
            "variants": list(row.path.traits.variants),
            "available": row.lacks is None,
            "lacks": row.lacks,
        }
        for row in rows
    ]
    click.echo(json.dumps(listed, indent=1))
    return ExitCode.OK


def _build(prefix: Path) -> ExitCode:
    """Builds every conduit in `prefix`, and says of each where it is or why there is none."""
    from wirespeed.host.gasnet.build import build

    code = ExitCode.UNAVAILABLE
    for conduit, made in build(prefix):
        click.echo(f"{conduit}: {made}", err=not isinstance(made, Path))
        if isinstance(made, Path):
            code = ExitCode.OK
    if code is ExitCode.OK:
        click.echo("Measure with: wirespeed pingpong --paths gasnet")
    return code
