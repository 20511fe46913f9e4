"""Show what this machine has and how fast it is: run it first.

Measures every path that the machine offers at nine message sizes from 8 B to 256 MiB, says what is not
available and why, and suggests commands to try next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from wirespeed.cli.common.options import Reporting, launches, measuring, plan_of, profiling, reporting, where
from wirespeed.cli.common.streams import distrust_terminals, note, one_of_ranks
from wirespeed.errors import ExitCode
from wirespeed.host.memory import free_memory
from wirespeed.job.plan import Plan
from wirespeed.units import format_size

if TYPE_CHECKING:
    from wirespeed.frontend.machine import Machine
    from wirespeed.results.model import Head

SIZES = "8,64,512,4K,32K,256K,2M,16M,256M"
"""Nine sizes show the shape of every curve; 1 GiB is seldom more than 5 % faster than 256 MiB."""
MEMORY_PER_BYTE = 12
"""Two ranks, each with two buffers and two more for staging; half as much again stays free."""


@click.command(help=__doc__)
@measuring(SIZES)
@launches
@reporting(collective=False)
@profiling
@where
def command(style: str, against: str | None, explain: bool, all_sizes: bool, **given: Any) -> ExitCode:
    """Measures and prints."""
    source = click.get_current_context().get_parameter_source("sizes")
    plan = plan_of(given, sizes_named=source is not ParameterSource.DEFAULT)
    from wirespeed.cli.common.waking import wake_gpus

    wake_gpus(plan.device)
    from wirespeed.cli.common.measuring import bound_of, measure_plan, tell_missed
    from wirespeed.cli.common.traced import Traced
    from wirespeed.report.terminal.survey import print_lacking, print_machine, print_next
    from wirespeed.results.runs import joined

    how = Reporting(style, against, explain, all_sizes)
    distrust_terminals()
    wanted = len(plan.sizes)
    if not plan.sizes_named:
        plan = replace(plan, sizes=fitting(plan.sizes, free_memory()))
    machine = look(plan)
    console = how.console()

    def begin(head: Head) -> None:
        print_machine(console, head, machine)
        if len(plan.sizes) < wanted:
            note(
                f"Sizes up to {format_size(plan.sizes[-1])} only: larger ones need more memory than is free."
            )

    traced = Traced.of(plan)
    bound = bound_of(plan)
    measured = measure_plan(plan, begin, traced, bound=bound)
    if measured.records:
        measured.print(how)
        run = joined(measured.runs)
        print_lacking(console, run, machine)
        print_next(console, run, measured.file, machine)
        traced.finish(console)
    tell_missed(bound)
    return measured.code


def look(plan: Plan) -> Machine | None:
    """The machine; None inside a launcher, where a rank must not touch a GPU before MPI has started."""
    from wirespeed.frontend import session

    return None if one_of_ranks() else session.discover(plan)


def fitting(sizes: tuple[int, ...], memory: int | None) -> tuple[int, ...]:
    """The sizes whose buffers fit the memory; always at least the first."""
    if memory is None:
        return sizes
    return tuple(size for size in sizes if size * MEMORY_PER_BYTE <= memory) or sizes[:1]
