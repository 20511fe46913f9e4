"""Result files as a report's sources: their runs, named so that a reader can tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.foreign.opening import open_figures
from wirespeed.grouping import grouped
from wirespeed.results.coerce import text
from wirespeed.results.findings import RecordedFinding
from wirespeed.results.model import Doctor
from wirespeed.results.reading import stem
from wirespeed.results.runs import Run, collect, resumed
from wirespeed.units import counted


@dataclass
class Source:
    """Content of one result file."""

    file: str
    runs: list[Run]
    """A run and those that resumed it are one."""
    findings: list[RecordedFinding]
    """The doctor's findings, where the file has them."""
    warnings: list[str]
    """A line for each part that was left out."""
    doctor: Doctor | None = None
    """All that the doctor has on record, where the file has that."""


@dataclass(frozen=True)
class ReportRun:
    """A run with the name under which a report shows it."""

    number: int
    file: str
    run: Run
    label: str
    pattern: str
    """Its name, as the run's plan or its entries have it."""

    @property
    def letter(self) -> str:
        """A, B, ... Z, AA: where the label does not fit."""
        name, rest = "", self.number
        while rest >= 0:
            name, rest = chr(ord("A") + rest % 26) + name, rest // 26 - 1
        return name


def all_findings(sources: Sequence[Source]) -> list[RecordedFinding]:
    """The doctor's findings of all files."""
    return [finding for source in sources for finding in source.findings]


def nothing_found(sources: Sequence[Source]) -> bool:
    """Is all that the files hold that the doctor found nothing?"""
    found = (finding for finding in all_findings(sources) if not finding.refuted)
    return not any(source.runs for source in sources) and not any(found)


def read_sources(files: Sequence[str]) -> tuple[list[Source], list[str]]:
    """The files that can be read, and a line for each that cannot.

    Raises WirespeedError when none holds a run.
    """
    sources, lost = [], []
    for file in dict.fromkeys(files):
        try:
            sources.append(_read(file))
        except WirespeedError as error:
            lost.append(str(error))
    if not sources:
        raise WirespeedError("; ".join(lost), ExitCode.CANNOT_WRITE)
    return sources, lost


def _read(file: str) -> Source:
    results = open_figures(file)
    source = Source(file, resumed(collect(results.records)), results.findings, results.warnings)
    source.doctor = results.doctors[-1] if results.doctors else None
    if not source.runs and not results.doctors:
        raise WirespeedError(f"{file} holds no run of wirespeed", ExitCode.CANNOT_WRITE)
    return source


def measured(sources: Sequence[Source]) -> list[ReportRun]:
    """All runs with at least a figure or a failure, most figures first, labelled by what tells them apart."""
    pairs = [(source.file, run) for source in sources for run in source.runs]
    pairs = [pair for pair in pairs if pair[1].entries or pair[1].failures or pair[1].soaks]
    pairs.sort(key=lambda pair: -len(pair[1].entries))
    found = [
        ReportRun(place, *pairs[place], label, pattern)
        for pattern, places in grouped((_pattern(run), place) for place, (_, run) in enumerate(pairs)).items()
        for place, label in zip(places, _labels([_facts(*pairs[place]) for place in places]), strict=True)
    ]
    return sorted(found, key=lambda measured: measured.number)


def _facts(file: str, run: Run) -> list[str]:
    """What can tell a run from others of its pattern."""
    plan = run.head.plan
    return [
        host_of(run),
        text(stem(file)),
        counted(plan.ranks, "rank") if plan.ranks else "",
        text(", ".join(run.given_options)),
        text(run.slowed),
        # What a study fixed that a transport else chooses by itself: 'protocol LL, blocks 1'.
        ", ".join(text(" ".join(pair)) for pair in plan.test),
    ]


def _labels(facts: Sequence[Sequence[str]]) -> list[str]:
    """Names from as few facts as differ; a number where nothing does."""
    labels = [""] * len(facts)
    for column in zip(*facts, strict=True):
        more = [", ".join(filter(None, pair)) for pair in zip(labels, column, strict=True)]
        if len(set(more)) > len(set(labels)):
            labels = more
    labels = [label or stem for label, (_, stem, *_) in zip(labels, facts, strict=True)]
    return [
        label if labels.count(label) == 1 else f"{label} ({labels[: place + 1].count(label)})"
        for place, label in enumerate(labels)
    ]


def host_of(run: Run) -> str:
    """The host on which the run was started."""
    return text(run.head.environment.host or "unknown host")


def _pattern(run: Run) -> str:
    names = (run.head.plan.pattern, *(entry.pattern for entry in run.entries.values()), "run")
    return text(next(filter(None, names)))
