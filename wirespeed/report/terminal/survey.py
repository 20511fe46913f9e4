"""What a survey says around its table: the machine before it, what is lacking and what to try after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from wirespeed.report.facts.machine import cpu_line, devices_lines, mpi_lines
from wirespeed.report.terminal.next_steps import next_steps
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.model import Head
from wirespeed.results.runs import Run

if TYPE_CHECKING:
    from wirespeed.frontend.machine import Machine


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
    """Default paths that this run left out, and why; those with the same reason together."""
    from wirespeed.paths import all_paths

    if machine is None:
        return
    told = {failure.path for failure in run.failures} | set(run.paths)
    lacking = [(path.name, machine.availability(path)) for path in all_paths() if path.default]
    reasons: dict[str, list[str]] = {}
    for name, why in lacking:
        if why and name not in told:
            reasons.setdefault(why, []).append(name)
    if reasons:
        console.print()
    for why, names in reasons.items():
        say(console, Text(f"{', '.join(names)}: not available: {why}", style="dim"))


def print_next(console: Console, run: Run, file: str, machine: Machine | None) -> None:
    """The result file's name, and commands worth trying."""
    console.print()
    say(console, Text.assemble(("Results: ", "bold"), file))
    console.print(Text("Next:", style="bold"))
    devices = machine.devices if machine else []
    gpus = sum(device.get("kind") != "host" for device in devices)
    steps = next_steps(run, file, gpus, machine.mpis if machine else [])
    width = max(len(step.command) for step in steps)
    beside = all(width + len(step.why) + 5 <= console.width for step in steps)
    for step in steps:
        if beside:
            console.print(Text.assemble("  ", (f"{step.command:<{width}}", "cyan"), "   ", (step.why, "dim")))
        else:
            say(console, Text.assemble("  ", (step.command, "cyan")), indent=4)
            say(console, Text.assemble("      ", (step.why, "dim")), indent=6)
