"""wirespeed systems: published machines, what their wires can carry, and how much of it was reached."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from wirespeed.cli.common import values
from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging, flag, option
from wirespeed.errors import ExitCode

if TYPE_CHECKING:
    from wirespeed.report.systems.all_systems import Reached
    from wirespeed.systems.model import System

ORDER = 44
FORMATS = ("table", "json")


@dataclass(frozen=True)
class _Own:
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Result files: their fastest figures beside the limits."),
    ] = None
    system: Annotated[
        str | None, option("--system", "NAME", "All that is known of one machine, with the sources.")
    ] = None
    group: Annotated[
        str | None, option("--group", "N", "Limits of N GPUs of a node, instead of half of them.")
    ] = None
    equations: Annotated[bool, flag("--equations", "Show how each limit comes about.")] = False
    format: Annotated[str, option("--format", "|".join(FORMATS), "How to print it.")] = "table"


@dataclass(frozen=True)
class Options(Debugging, _Own):
    """Of wirespeed systems."""


def run(options: Options) -> ExitCode:
    """List published machines, and what their wires can carry.

    For each: what two GPUs, one GPU, half of a node's GPUs and a whole node can send at most, one way, and
    the figures that were published, as a share of it. FILE adds what was measured here.
    """
    from wirespeed.cli.common.reading import read_runs
    from wirespeed.report.systems.all_systems import (
        print_equations,
        print_reached,
        print_systems,
        reached_elsewhere,
        reached_here,
    )
    from wirespeed.report.terminal.run_summary import make_console
    from wirespeed.systems import all_systems, load
    from wirespeed.systems.published import load_published
    from wirespeed.systems.recognition import recognised_here

    values.one_of("--format", options.format, FORMATS)
    group = values.count("--group", options.group, least=1, most=1000) if options.group is not None else None
    systems = all_systems()
    if options.system is not None:
        load(options.system)
        systems = {options.system.lower(): systems[options.system.lower()]}
    here: list[Reached] = []
    for file in options.files or ():
        here += reached_here(read_runs(file), file)
    published = [figure for figure in load_published() if figure.system in systems]
    elsewhere = reached_elsewhere(published, systems)
    recognised = recognised_here()
    if options.format == "json":
        sys.stdout.write(_json(systems, elsewhere, here, recognised, group) + "\n")
        return ExitCode.OK
    console = make_console()
    if options.system is not None:
        from wirespeed.report.systems.one_system import print_system

        key, system = next(iter(systems.items()))
        print_system(console, key, system)
    else:
        print_systems(console, systems, recognised, group)
        if options.equations:
            print_equations(console, systems, group)
    print_reached(console, "As published", elsewhere, equations=options.equations)
    print_reached(console, "Measured here", here, equations=options.equations)
    return ExitCode.OK


def _json(
    systems: Mapping[str, System],
    elsewhere: Sequence[Reached],
    here: Sequence[Reached],
    recognised: str | None,
    group: int | None,
) -> str:
    """Everything, rates in bytes per second."""
    from wirespeed.report.systems.all_systems import limits_of

    listed = {}
    for key, system in systems.items():
        limits = {
            head: None if limit is None else asdict(limit) for head, limit in limits_of(system, group).items()
        }
        listed[key] = {**asdict(system), "limits": limits}
    rows = {
        name: [{**asdict(row), "share": row.share} for row in found]
        for name, found in (("published", elsewhere), ("measured", here))
    }
    return json.dumps({"here": recognised, "systems": listed, **rows}, indent=1)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "systems", Options, run)
