"""What is said and drawn of the runs, by pattern, and of their machines and methods.

A sentence that holds for several runs stands at the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wirespeed.report.facts.best import Span, by_domain
from wirespeed.report.facts.legend import Layout
from wirespeed.report.facts.machine import cpu_line, devices_lines, memory_lines, placement, title
from wirespeed.report.facts.statement import BAD, NOTE, WARNING, ReportSection, Statement
from wirespeed.report.facts.statements import WHOLE, statements
from wirespeed.report.grouping import grouped
from wirespeed.report.page.machines import machines
from wirespeed.report.sources import ReportRun
from wirespeed.report.views import bars
from wirespeed.report.views.base import Bars
from wirespeed.results.coerce import text
from wirespeed.results.runs import Run


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
    bars: list[Bars]

    @property
    def count(self) -> str:
        """'9 notes, 1 warning'."""
        levels = Counter(sentence.level for note in self.notes for sentence in note.sentences)
        parts = [(levels.total(), "note"), (levels[BAD], "alarm"), (levels[WARNING], "warning")]
        return ", ".join(f"{number} {noun}{'s' if number > 1 else ''}" for number, noun in parts if number)


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
    return Section(main.pattern, answer.rstrip("."), notes, bests, bars(sets))


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
