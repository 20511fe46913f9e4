"""wirespeed survey: the first thing to run on a machine."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from wirespeed.cli.common.command import add_command
from wirespeed.cli.common.options import Debugging, Measuring, Reporting, option
from wirespeed.cli.common.streams import distrust_terminals
from wirespeed.errors import ExitCode
from wirespeed.host.memory import free_memory
from wirespeed.job.plan import Plan
from wirespeed.units import format_size

if TYPE_CHECKING:
    from wirespeed.frontend.machine import Machine
    from wirespeed.results.model import Head

ORDER = 10
SIZES = "8,64,512,4K,32K,256K,2M,16M,128M,1G"
"""Ten sizes show the shape of every curve."""
MEMORY_PER_BYTE = 12
"""Two ranks, each with two buffers and two more for staging; half as much again stays free."""


@dataclass(frozen=True)
class Options(Debugging, Reporting, Measuring):
    """Of wirespeed survey: those of wirespeed pingpong, with fewer sizes."""

    sizes: Annotated[
        str, option("--sizes", "SIZES", "Bytes of a message: a list, or powers of two as in 8:1G.")
    ] = SIZES


def run(options: Options) -> ExitCode:
    """See what this machine has, and how fast it is.

    Measures every path that the machine offers at ten sizes from 8 B to 1 GiB, says what is not available
    and why, and what to try next.
    """
    from wirespeed.cli.common.measuring import measure_plan, note, print_result
    from wirespeed.report.terminal.run_summary import make_console
    from wirespeed.report.terminal.survey import print_lacking, print_machine, print_next
    from wirespeed.results.runs import collect, joined

    options.check_report()
    distrust_terminals()
    plan = options.plan("pingpong", 2, debug=options.debug, test=options.test)
    wanted = len(plan.sizes)
    if options.sizes == SIZES:
        plan = replace(plan, sizes=fitting(plan.sizes, free_memory()))
    machine = look(plan)
    console = make_console(sys.stdout if options.format == "table" else sys.stderr)

    def begin(head: Head) -> None:
        print_machine(console, head, machine)
        if len(plan.sizes) < wanted:
            largest = format_size(plan.sizes[-1])
            note(f"Sizes up to {largest} only: larger ones need more memory than is free.")

    measured = measure_plan(plan, begin)
    if measured.here:
        print_result(measured, plan, options)
        run = joined(collect(measured.records))
        print_lacking(console, run, machine)
        print_next(console, run, measured.file, machine)
    return measured.code


def look(plan: Plan) -> Machine | None:
    """The machine; None inside a launcher, where a rank must not touch a GPU before MPI has started."""
    from wirespeed.frontend import session as entry
    from wirespeed.launch import place

    return None if place() else entry.discover(plan)


def fitting(sizes: tuple[int, ...], memory: int | None) -> tuple[int, ...]:
    """The sizes whose buffers fit the memory; always at least the first."""
    if memory is None:
        return sizes
    return tuple(size for size in sizes if size * MEMORY_PER_BYTE <= memory) or sizes[:1]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "survey", Options, run)
