"""Text around a survey's table: the machine before it; missing paths and suggestions after it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from wirespeed.job.plan import Plan
from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say
from wirespeed.report.facts.machine import cpu_line, devices_lines, mpi_lines
from wirespeed.report.facts.markers import unsettled
from wirespeed.report.grouping import together
from wirespeed.results.model import Head
from wirespeed.results.runs import Run
from wirespeed.units import size_word

if TYPE_CHECKING:
    from wirespeed.frontend.machine import Machine


LONGEST = 80
"""Most letters of options; a longer command leaves options out, and measures more than needed."""


@dataclass(frozen=True)
class Suggestion:
    """A command, and what it is good for."""

    command: str
    why: str


def print_machine(console: Console, head: Head, machine: Machine | None) -> None:
    """CPU, GPUs, MPI: a line each. `head` is the run's own record."""
    environment = head.environment
    lines = [("CPU", cpu_line(environment.cpu, environment.memory_bytes))]
    devices = devices_lines(environment.devices)
    if not devices:
        reasons = machine.why_no_gpu if machine else {}
        devices = ["none" + "".join(f"; {kind}: {why}" for kind, why in reasons.items())]
    lines += [("GPU", line) for line in devices]
    found = mpi_lines(machine.mpis) if machine else []
    lines += [("MPI" if number == 0 else "", line) for number, line in enumerate(found)]
    for label, line in lines:
        say(console, Text.assemble((f"{label:<5}", "bold"), line), indent=5)
    console.print()


def print_lacking(console: Console, run: Run, machine: Machine | None) -> None:
    """Default paths that this run left out, and why; those with the same reason share a line."""
    from wirespeed.paths import all_paths

    if machine is None:
        return
    shown = {failure.path for failure in run.failures} | set(run.paths)
    lacking = [(machine.availability(path), path.name) for path in all_paths() if path.default]
    reasons = together((why, name) for why, name in lacking if why and name not in shown)
    if reasons:
        console.print()
    for names, why in reasons:
        say(console, f"{names}: not available: {why}", "dim")


def print_next(console: Console, run: Run, file: str, machine: Machine | None) -> None:
    """The result file's name, and commands worth trying."""
    console.print()
    say(console, Text.assemble(("Results: ", "bold"), file))
    console.print(Text("Next:", style="bold"))
    devices = machine.devices if machine else []
    gpus = sum(device.get("kind") != "host" for device in devices)
    steps = next_steps(run, file, gpus, machine.mpis if machine else [])
    columns: list[Column[Suggestion]] = [
        Column("", lambda step: f"  {step.command}", style="cyan", left=True),
        Column("", lambda step: step.why, style="dim", gap=3, left=True),
    ]
    listed = table(columns, steps, ruled=False)
    if listed.width <= console.width:
        console.print(listed)
        return
    for step in steps:
        say(console, f"  {step.command}", "cyan", indent=4)
        say(console, f"      {step.why}", "dim", indent=6)


def next_steps(
    run: Run, file: str, gpus: int, mpis: Sequence[Any], environment: Mapping[str, str] = os.environ
) -> list[Suggestion]:
    """The most useful first, at most five."""
    same, there = _same(run), _same(run, "mpi", "launcher")
    nodes = environment.get("SLURM_JOB_NUM_NODES") or environment.get("SLURM_NNODES") or ""
    others = [mpi for mpi in mpis if mpi.title != mpis[0].title]
    found = [
        *_longer(run),
        (
            True,
            f"wirespeed pingpong --against summit{same}",
            "every power of two, compared with published curves",
        ),
        (
            nodes.isdecimal() and int(nodes) > 1,
            f"srun -N 2 -n 2 wirespeed pingpong{_same(run, 'device', 'mpi')}",
            "the same between two nodes of this allocation",
        ),
        (gpus > 2, f"wirespeed pingpong --between 0,{gpus - 1}{same}", "another pair: are all links alike?"),
        *(
            (
                True,
                f"wirespeed pingpong --mpi {shlex.quote(str(mpi.prefix))}{_same(run, 'device')}",
                f"the same with {mpi.title}",
            )
            for mpi in others[:1]
        ),
        (not gpus, f"wirespeed pingpong --device emulated{there}", "the GPU paths on emulated GPUs"),
        (True, f"wirespeed show {shlex.quote(file)}", "this table again; --format csv for a spreadsheet"),
        (True, f"wirespeed pingpong --paths all{same}", "every path; 'wirespeed paths' describes each one"),
    ]
    return [Suggestion(command, why) for useful, command, why in found if useful][:5]


KEPT = ("device", "mpi", "launcher", "hosts")
"""Options that say where a survey was done."""


def _same(run: Run, *names: str) -> str:
    """Those of these options that were given (without names: of KEPT), quoted for a shell."""
    plan, usual = run.head.plan, Plan()
    given = {name: getattr(plan, name) for name in names or KEPT}
    words = {
        name: ",".join(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value and value != getattr(usual, name)
    }
    return "".join(f" --{name} {shlex.quote(word)}" for name, word in words.items())


def _longer(run: Run) -> Iterator[tuple[bool, str, str]]:
    found = list(filter(unsettled, run.entries.values()))
    if not found:
        return
    paths = ",".join(dict.fromkeys(entry.path for entry in found))
    sizes = ",".join(size_word(size) for size in sorted({entry.bytes for entry in found}))
    limit = 5 * (run.stopping.max_time if run.stopping else 0.4)
    options = [f"--paths {paths}", f"--sizes {sizes}", f"--max-time {limit:g}"]
    while len(" ".join(options)) > LONGEST:
        options.remove(max(options, key=len))
    yield True, f"wirespeed pingpong {' '.join(options)}{_same(run)}", "more time for the figures marked ~"
