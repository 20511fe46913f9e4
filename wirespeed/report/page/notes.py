"""What is said and drawn of the runs, by pattern, and of their machines and methods.

A sentence that holds for several runs stands at the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wirespeed.grouping import grouped
from wirespeed.report.facts.legend import Layout
from wirespeed.report.facts.machine import (
    cpu_line,
    dates,
    devices_lines,
    machine_line,
    memory_lines,
    placement,
    title,
)
from wirespeed.report.facts.outcome import Span, by_domain
from wirespeed.report.facts.statement import BAD, NOTE, WARNING, ReportSection, Statement
from wirespeed.report.facts.statements import WHOLE, statements
from wirespeed.report.sources import ReportRun
from wirespeed.report.views import view_of
from wirespeed.results.coerce import text
from wirespeed.results.parts import Cpu, Environment
from wirespeed.results.runs import Run
from wirespeed.units import counted

WIDTH = 120
"""Letters of a terminal that has the same tables."""


class Sentence(NamedTuple):
    """A sentence, and its level: good, note, warning or bad."""

    level: str
    text: str


class Notes(NamedTuple):
    """Sentences about one run."""

    pattern: str
    title: str
    sentences: list[Sentence]


def notes(sets: Sequence[ReportRun]) -> list[Notes]:
    """Sentences about each run, that with most figures first; one said of several names the others."""
    names = {measured.number: machine.name for machine in machines(sets) for measured in machine.sets}
    order = sorted(sets, key=weight, reverse=True)
    said = {measured.number: [s for s in statements(measured.run) if _is_note(s)] for measured in order}
    places = grouped((statement, measured) for measured in order for statement in said[measured.number])
    found = []
    for measured in order:
        first = (s for s in said[measured.number] if places[s][0] is measured)
        sentences = [Sentence(s.level, text(f"{s.words}{_also(places[s], names)}.", 1000)) for s in first]
        title = text(f"{measured.pattern} on {names[measured.number]}")
        label = "" if measured.label in title else f": {measured.label}"
        found.append(Notes(measured.pattern, title + label, sentences))
    return [note for note in found if note.sentences]


def _is_note(statement: Statement) -> bool:
    """The method stands with each run, paths that a machine merely lacks among what gave no figure."""
    quiet = statement.part is ReportSection.FAILURES and statement.level == NOTE
    return not (quiet or statement.of_method)


def method(run: Run, part: ReportSection = ReportSection.METHOD, layout: Layout = WHOLE) -> list[str]:
    """Lines on how its figures came about; of ReportSection.COUNTERS, on their wires."""
    return [text(s.words, 600) for s in statements(run, layout) if s.of_method and s.part is part]


def failed(run: Run) -> list[Statement]:
    """Paths and sizes without a figure."""
    return [statement for statement in statements(run) if statement.part is ReportSection.FAILURES]


def _also(runs: Sequence[ReportRun], names: dict[int, str]) -> str:
    """' (the same: ring, halo; on 2 machines)'."""
    patterns = [*dict.fromkeys(measured.pattern for measured in runs)][1:]
    machines = {names[measured.number] for measured in runs}
    parts = [f"the same: {', '.join(patterns)}"] if patterns else []
    parts += [f"on {len(machines)} machines"] if len(machines) > 1 else []
    return f" ({'; '.join(parts)})" if parts else ""


def weight(measured: ReportRun) -> tuple[int, int]:
    """(figures, ranks): the run with most speaks for its pattern."""
    ranks = max((len(measured.run.step(path).ranks) for path in measured.run.paths), default=0)
    return len(measured.run.entries), ranks


@dataclass(frozen=True)
class Section:
    """All of one pattern."""

    pattern: str
    answer: str
    """In a line, for a reader who does not open the section."""
    notes: list[Notes]
    bests: list[tuple[ReportRun, list[tuple[str, list[Span]]]]]
    """(run, (domain, spans)) where paths compete, most figures first."""
    tables: list[tuple[str, list[list[list[str]]]]]
    """(run, heads and rows of each table) where curves do not tell all."""
    legend: str
    """What their columns are."""

    @property
    def count(self) -> str:
        """'9 notes, 1 warning'."""
        levels = Counter(sentence.level for note in self.notes for sentence in note.sentences)
        parts = [(levels.total(), "note"), (levels[BAD], "alarm"), (levels[WARNING], "warning")]
        return ", ".join(counted(number, noun) for number, noun in parts if number)


def sections(sets: Sequence[ReportRun], patterns: Sequence[str]) -> list[Section]:
    """In the order of `patterns`, then those without figures."""
    said = notes(sets)
    order = dict.fromkeys([*patterns, *(note.pattern for note in said)])
    return [
        _section(
            [measured for measured in sets if measured.pattern == name],
            [note for note in said if note.pattern == name],
        )
        for name in order
    ]


def _section(sets: Sequence[ReportRun], notes: list[Notes]) -> Section:
    main = max(sets, key=weight)
    answer = notes[0].sentences[0].text if notes else ""
    bests = [(measured, domains) for measured in sets if (domains := by_domain(measured.run))]
    found = []
    for measured in sets:
        title = f"{measured.letter}: {measured.label}" if len(sets) > 1 else ""
        shown = view_of(measured.run).tables(WIDTH, measured.run) if measured.run.figures else ()
        found.append((title, [rows for table in shown for rows in table.texts()]))
    tables, view = [(title, rows) for title, rows in found if rows], view_of(main.run)
    legend = view.caption or view.legend
    return Section(main.pattern, answer.rstrip("."), notes, bests, tables, legend)


@dataclass(frozen=True)
class About:
    """One run: facts about its machine, and sentences about its figures."""

    measured: ReportRun
    title: str
    facts: list[tuple[str, str]]
    variables: list[tuple[str, str]]
    method: list[str]


def about(measured: ReportRun, layout: Layout = WHOLE) -> About:
    """Facts about one run. Environment variables are those that can change a figure.

    `layout`: the tables that the method explains.
    """
    variables = sorted(measured.run.head.environment.variables.items())
    told = [(text(name), text(value)) for name, value in variables]
    explained = method(measured.run, layout=layout)
    return About(measured, text(title(measured.run)), _facts(measured), told, explained)


def _facts(measured: ReportRun) -> list[tuple[str, str]]:
    """Host, processors, versions, command: what there is of them."""
    run, environment = measured.run, measured.run.head.environment
    drivers = dict.fromkeys(device.driver for device in environment.devices if device.driver)
    libraries = dict.fromkeys(step.mpi.library for step in run.steps if step.mpi and step.mpi.library)
    found = [
        ("Run", title(run)),
        ("File", measured.file),
        ("Command", " ".join(run.head.command)),
        ("Ranks", "; ".join(placement(run))),
        ("GPU memory", "; ".join(memory_lines(run))),
        ("CPU", cpu_line(environment.cpu, environment.memory_bytes)),
        ("GPU", "; ".join(devices_lines(environment.devices)) or "none"),
        ("Driver", ", ".join(drivers)),
        ("Kernel", environment.kernel),
        ("wirespeed", run.head.wirespeed),
        ("Python", environment.python),
        ("Packages", ", ".join(f"{name} {version}" for name, version in environment.packages.items())),
        ("MPI", ", ".join(libraries)),
    ]
    return [(name, text(value)) for name, value in found if value]


@dataclass(frozen=True)
class MachineRuns:
    """One machine, as far as names tell machines apart."""

    name: str
    """Its host, with a number where several machines call themselves so."""
    line: str
    """GPUs, CPU, memory."""
    sets: tuple[ReportRun, ...]
    """At least one, most figures first."""

    @property
    def dates(self) -> str:
        """When its runs were started: '2026-01-01 12:00', or '2026-01-01 to 2026-01-03'."""
        return dates(measured.run for measured in self.sets)

    @property
    def main(self) -> ReportRun:
        """The run that tells most of how fast messages are: no copies inside a rank, if there is another."""
        between = (
            measured for measured in self.sets if measured.run.entries and measured.run.traits.shown.by_size
        )
        return next(between, self.sets[0])


def machines(sets: Sequence[ReportRun]) -> list[MachineRuns]:
    """In the order of their runs."""
    found = grouped(zip(machine_names([measured.run for measured in sets]), sets, strict=True))
    return [MachineRuns(text(name), _machine_line(runs), tuple(runs)) for name, runs in found.items()]


def _machine_line(runs: Sequence[ReportRun]) -> str:
    """'2 x NVIDIA H200; Intel(R) Xeon(R) Processor, 32 cores, 252 GiB of memory'."""
    # A run may have seen only some of the GPUs.
    environment = max((run.run.head.environment for run in runs), key=lambda seen: len(seen.devices))
    return text(machine_line(environment))


def machine_names(runs: Sequence[Run]) -> list[str]:
    """The name of each run's machine: its host, with a number where several machines call themselves so."""
    found: dict[str, list[_Machine]] = {}
    places = []
    for environment in (run.head.environment for run in runs):
        known = found.setdefault(environment.host or "unknown host", [])
        place = next((at for at, machine in enumerate(known) if machine.takes(environment)), len(known))
        if place == len(known):
            known.append(_Machine())
        known[place].add(environment)
        places.append((environment.host or "unknown host", place))
    return [host if len(found[host]) == 1 else f"{host} ({place + 1})" for host, place in places]


@dataclass
class _Machine:
    """What runs on one machine agree upon; a run may see some of its GPUs, or none."""

    cpus: set[Cpu] = field(default_factory=set)
    gpus: set[str] = field(default_factory=set)

    def takes(self, environment: Environment) -> bool:
        cpu, gpus = environment.cpu, _gpus(environment)
        same_cpu = cpu == Cpu() or self.cpus <= {cpu}
        return same_cpu and (gpus <= self.gpus or self.gpus <= gpus)

    def add(self, environment: Environment) -> None:
        self.cpus |= {environment.cpu} - {Cpu()}
        self.gpus |= _gpus(environment)


def _gpus(environment: Environment) -> set[str]:
    real = (device for device in environment.devices if device.kind not in ("host", "emulated", "openmp"))
    return {device.id or f"{device.index} {device.name}" for device in real}
