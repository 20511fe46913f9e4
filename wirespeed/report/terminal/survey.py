"""A survey on a terminal: the machine, a row for each of its parts, the answers, and what to run next."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from wirespeed.doctor.shell import visible
from wirespeed.job.plan import Plan
from wirespeed.report.console.columns import Column, filled, table
from wirespeed.report.console.console import say
from wirespeed.report.facts import failures
from wirespeed.report.facts.machine import cpu_line, devices_lines, mpi_lines
from wirespeed.report.facts.markers import share_style
from wirespeed.report.facts.survey import (
    NEEDS_TWO,
    SurveyRow,
    broken,
    gpu_aware,
    legend,
    rows,
    trusted,
)
from wirespeed.results.decoding import fitted
from wirespeed.results.findings import RecordedFinding
from wirespeed.results.model import Head
from wirespeed.results.parts import Device
from wirespeed.results.runs import IMPOSSIBLE, Run

if TYPE_CHECKING:
    from wirespeed.frontend.machine import Machine


@dataclass(frozen=True)
class Suggestion:
    """A command, and what it is good for."""

    command: str
    why: str


def print_machine(console: Console, head: Head, machine: Machine) -> None:
    """CPU, GPUs, MPI: a line each. `head` is the run's own record."""
    environment = head.environment
    devices = devices_lines(fitted(list[Device], machine.devices))
    if not devices:
        devices = ["none" + "".join(f"; {kind}: {why}" for kind, why in machine.why_no_gpu.items())]
    lines = [("CPU", cpu_line(environment.cpu, environment.memory_bytes))]
    lines += [("GPU", line) for line in devices]
    lines += [("" if number else "MPI", line) for number, line in enumerate(mpi_lines(machine.mpis))]
    for label, line in lines:
        say(console, Text.assemble((f"{label:<5}", "bold"), line), indent=5)
    console.print()


def print_survey(console: Console, runs: Sequence[Run], findings: Sequence[RecordedFinding]) -> None:
    """A row for each part, then what a reader has to know of all of them."""
    shown = rows(runs)
    _print_rows(console, shown)
    devices = {device.id for run in runs for device in run.head.environment.devices}
    if len(devices) == 1:
        say(console, Text.assemble(("between GPUs: ", "bold"), NEEDS_TWO))
    if told := gpu_aware(runs):
        style = "green" if told.good else "yellow"
        say(console, Text.assemble(("GPU-aware MPI: ", "bold"), (told.words, style)))
    good, words = trusted(runs)
    say(console, Text.assemble(("trust: ", "bold"), (words, "green" if good else "yellow")))
    if left_out := failures.left_out(*runs):
        say(console, left_out, "yellow")
    if words := legend(shown):
        say(console, words, "dim")
    for statement in broken(runs):
        say(console, statement.words, "bold red")
    if findings:
        first, more = findings[0], f" (1 of {len(findings)})" * (len(findings) > 1)
        say(console, Text.assemble((f"finding{more}: ", "bold"), (visible(first.title), "yellow")))


def _print_rows(console: Console, shown: Sequence[SurveyRow]) -> None:
    """A table whose last column goes on below where a terminal is narrow."""
    columns: list[Column[SurveyRow]] = [
        Column("", lambda row: Text(row.what, "bold"), left=True),
        Column("figure", _figure, gap=2),
        Column("all at once", lambda row: row.at_once, gap=2),
        Column("of limit", _of_limit, gap=2, left=True),
    ]
    if not shown:
        return
    built = table(filled(columns, shown), shown, ruled=False)
    head, *lines = built.lines()
    say(console, head.append(" " * (built.width + 2 - len(head))).append("verdict", "bold"))
    for row, line in zip(shown, lines, strict=True):
        if row.verdict:
            line.append(" " * (built.width + 2 - len(line))).append(row.verdict, "dim")
        say(console, line, indent=4)
    console.print()


def _figure(row: SurveyRow) -> Text:
    style = "bold red" if row.figure == IMPOSSIBLE else ""
    return Text.assemble((row.mark, "yellow"), (row.figure, style))


def _of_limit(row: SurveyRow) -> Text:
    return Text(row.of_limit, share_style(row.share) if row.share is not None else "")


def print_next(console: Console, file: str, steps: Sequence[Suggestion]) -> None:
    """The result file's name, and commands worth trying."""
    console.print()
    say(console, Text.assemble(("Results: ", "bold"), file))
    console.print(Text("Next:", style="bold"))
    columns: list[Column[Suggestion]] = [
        Column("", lambda step: f"  {step.command}", style="cyan", left=True),
        Column("", lambda step: step.why, style="dim", gap=3, left=True),
    ]
    listed = table(columns, steps, ruled=False)
    if listed.width <= console.width:
        console.print(listed)
        return
    for step in steps:
        # In one piece: it is to be copied.
        console.print(Text(f"  {step.command}", "cyan"), soft_wrap=True)
        say(console, f"      {step.why}", "dim", indent=6)


KEPT = ("device", "mpi", "launcher")
"""Options that say where a survey was done."""


def next_steps(
    plan: Plan,
    file: str,
    machine: Machine,
    wirespeed: str = "wirespeed",
    mpiexec: str = "mpirun",
    environment: Mapping[str, str] = os.environ,
    *,
    interrupted: bool = False,
) -> list[Suggestion]:
    """The most useful first, at most five. `wirespeed`, `mpiexec`: as a shell finds them."""
    same, gpus = _same(plan), len(machine.devices)
    nodes = environment.get("SLURM_JOB_NUM_NODES") or environment.get("SLURM_NNODES") or ""
    others = [mpi for mpi in machine.mpis if mpi.title != machine.mpis[0].title]
    found = [
        (
            interrupted,
            f"{wirespeed} survey --out {shlex.quote(file)} --resume{same}",
            "what this survey has not measured yet",
        ),
        (gpus > 0, f"{wirespeed} copy{same}", "every kind of copy, from 4 KiB to 1 GiB"),
        (gpus > 2, f"{wirespeed} pairs{same}", "a matrix of all pairs of GPUs, at two sizes"),
        (gpus != 1, f"{wirespeed} pingpong{same}", "every path at every power of two"),
        (
            nodes.isdecimal() and int(nodes) > 1,
            f"srun -N 2 -n 2 {wirespeed} pingpong{_same(plan, 'device', 'mpi')}",
            "the same between two nodes of this allocation",
        ),
        (True, f"{wirespeed} doctor{same}", "what is wrong here, and what to set"),
        (
            not gpus,
            f"{wirespeed} pingpong --device emulated{_same(plan, 'mpi', 'launcher')}",
            "the GPU paths on emulated GPUs",
        ),
        *(
            (
                True,
                f"{wirespeed} survey --mpi {shlex.quote(str(mpi.prefix))}{_same(plan, 'device')}",
                f"this survey with {mpi.title}",
            )
            for mpi in others[:1]
        ),
        (
            not gpus,
            f"{mpiexec} -n 2 {wirespeed} pingpong{_same(plan, 'device')}",
            "inside a launcher of your own",
        ),
        (
            True,
            f"{wirespeed} show {shlex.quote(file)}",
            "all figures; --format csv for a spreadsheet",
        ),
    ]
    return [Suggestion(command, why) for useful, command, why in found if useful][:5]


def _same(plan: Plan, *names: str) -> str:
    """Those of these options that were given (without names: of KEPT), quoted for a shell."""
    usual = Plan()
    given = {name: getattr(plan, name) for name in names or KEPT}
    words = {name: value for name, value in given.items() if value and value != getattr(usual, name)}
    return "".join(f" --{name} {shlex.quote(word)}" for name, word in words.items())
