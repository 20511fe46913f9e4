"""List published machines, and what their links can carry.

For each machine: what two GPUs, one GPU, half of a node's GPUs and a whole node can send at most in one
direction, and the published figures as a share of that. Each FILE is a result file, whose fastest figures
are shown beside the limits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from wirespeed.cli.common import words
from wirespeed.cli.common.options import debugging, flag, option, table_or_json
from wirespeed.errors import ExitCode, WirespeedError

if TYPE_CHECKING:
    from wirespeed.report.systems.published_machines import Reached
    from wirespeed.systems.model import System


@click.command(help=__doc__)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=words.ANY_FILE)
@click.option("--system", metavar="NAME", help="Show all that is known of one machine, with the sources.")
@option("--group", words.count(1, 1000), "Show the limits of N GPUs of a node, instead of half of them.")
@flag("--equations", "Show the equation of each limit.")
@table_or_json
@debugging
def command(
    files: tuple[str, ...], system: str | None, group: int | None, equations: bool, style: str
) -> ExitCode:
    """Reads and prints."""
    from wirespeed.cli.common.reading import read_runs
    from wirespeed.report.console.console import make_console, say
    from wirespeed.report.systems.published_machines import (
        print_equations,
        print_reached,
        print_system,
        print_systems,
        reached_elsewhere,
        reached_here,
    )
    from wirespeed.systems import all_systems, load
    from wirespeed.systems.recognition import recognised_here

    systems = all_systems() if system is None else {system.lower(): load(system)}
    most = max(one.node.gpus for one in systems.values())
    if group is not None and group > most:
        where = "the largest node here" if system is None else "a node of it"
        raise WirespeedError(f"--group {group}: {where} has {most} GPUs")
    here = [row for file in files for row in reached_here(read_runs(file), file)]
    elsewhere = reached_elsewhere(systems)
    recognised = recognised_here()
    if style == "json":
        rows = {"published": elsewhere, "measured": here}
        click.echo(json.dumps({"here": recognised, **_as_json(systems, group, rows)}, indent=1))
        return ExitCode.OK
    console = make_console()
    if system is not None:
        print_system(console, *next(iter(systems.items())))
    else:
        print_systems(console, systems, recognised, group)
        if equations:
            print_equations(console, systems, group)
    shown = [row for row in elsewhere if system is not None or not row.within or row.pattern != "groups"]
    print_reached(console, "As published", shown, equations=equations)
    if len(shown) < len(elsewhere):
        say(console, "Groups of ranks inside a node: wirespeed systems --system NAME", "dim")
    print_reached(console, "Measured here", here, equations=equations)
    return ExitCode.OK


def _as_json(
    systems: Mapping[str, System], group: int | None, rows: Mapping[str, Sequence[Reached]]
) -> dict[str, Any]:
    """Everything, rates in bytes per second."""
    from msgspec import to_builtins

    from wirespeed.report.systems.published_machines import limits_of

    listed = {}
    for key, system in systems.items():
        limits = {head: limit and asdict(limit) for head, limit in limits_of(system, group).items()}
        listed[key] = {**to_builtins(system), "limits": limits}
    shares = {name: [{**asdict(row), "share": row.share} for row in found] for name, found in rows.items()}
    return {"systems": listed, **shares}
