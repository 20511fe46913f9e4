"""Result files as a report's sources: their runs, named so that a reader can tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.results.coerce import text
from wirespeed.results.findings import RecordedFinding
from wirespeed.results.runs import Run, collect, joined
from wirespeed.results.store import read


@dataclass
class Source:
    """What one result file holds."""

    file: str
    runs: list[Run] = field(default_factory=list)
    """A run and those that resumed it are one."""
    findings: list[RecordedFinding] = field(default_factory=list)
    """What the doctor found, where the file has it."""
    warnings: list[str] = field(default_factory=list)
    """A line for each part that was left out."""


@dataclass(frozen=True)
class Measured:
    """A run with the name under which a report shows it."""

    number: int
    file: str
    run: Run
    label: str

    @property
    def pattern(self) -> str:
        """The pattern's name, as the run's plan or its entries have it."""
        return pattern_of(self.run)

    @property
    def letter(self) -> str:
        """A, B, ... Z, AA: where the label does not fit."""
        name, rest = "", self.number
        while rest >= 0:
            name, rest = chr(ord("A") + rest % 26) + name, rest // 26 - 1
        return name


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
    results = read(file)
    findings = results.doctors[-1].findings if results.doctors else []
    source = Source(file, _resumed(collect(results.records)), findings, results.warnings)
    if not source.runs and not findings:
        raise WirespeedError(f"{file} holds no run of wirespeed", ExitCode.CANNOT_WRITE)
    return source


def _resumed(runs: Iterable[Run]) -> list[Run]:
    """A run that went on with another one's plan, and measured only what that one lacked, belongs to it."""
    parts: list[tuple[object, list[Run]]] = []
    for run in runs:
        key = (host_of(run), run.conditions, "" if run.head.plan.pattern else run.name)
        for other, group in parts:
            if other == key and not any(part.entries.keys() & run.entries.keys() for part in group):
                group.append(run)
                break
        else:
            parts.append((key, [run]))
    return [joined(group) for _, group in parts]


def measured(sources: Sequence[Source]) -> list[Measured]:
    """All runs with at least a figure or a failure, most figures first, labelled by what tells them apart."""
    pairs = [(source.file, run) for source in sources for run in source.runs if run.entries or run.failures]
    pairs.sort(key=lambda pair: -len(pair[1].entries))
    labels: dict[int, str] = {}
    for pattern in {pattern_of(run) for _, run in pairs}:
        places = [place for place, (_, run) in enumerate(pairs) if pattern_of(run) == pattern]
        labels |= zip(places, _labels([pairs[place] for place in places]), strict=True)
    return [Measured(number, file, run, labels[number]) for number, (file, run) in enumerate(pairs)]


def _labels(pairs: Sequence[tuple[str, Run]]) -> list[str]:
    """Names from as few facts as differ; a number where nothing does."""
    facts: tuple[Callable[[str, Run], str], ...] = (
        lambda file, run: host_of(run),
        lambda file, run: Path(file).stem,
        lambda file, run: ranks_of(run),
        lambda file, run: ", ".join(run.given_options),
        lambda file, run: f"while running {run.background}" if run.background else "",
        lambda file, run: test_of(run),
    )
    labels = [""] * len(pairs)
    for fact in facts:
        more = [
            ", ".join(filter(None, (label, text(fact(*pair)))))
            for label, pair in zip(labels, pairs, strict=True)
        ]
        if len(set(more)) > len(set(labels)):
            labels = more
    labels = [label or text(Path(file).stem) for label, (file, _) in zip(labels, pairs, strict=True)]
    seen: dict[str, int] = {}
    unique = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        unique.append(label if labels.count(label) == 1 else f"{label} ({seen[label]})")
    return unique


def host_of(run: Run) -> str:
    """The host on which the run was started."""
    return text(run.head.environment.host or "unknown host")


def pattern_of(run: Run) -> str:
    """The pattern, from the plan, else from the entries."""
    name = run.head.plan.pattern
    return text(name or next((entry.pattern for entry in run.entries.values()), "") or "run")


def ranks_of(run: Run) -> str:
    """'8 ranks'."""
    return f"{run.head.plan.ranks} ranks" if run.head.plan.ranks else ""


def test_of(run: Run) -> str:
    """What a study fixed that a transport else chooses by itself: 'protocol LL, blocks 1'."""
    return ", ".join(text(" ".join(pair)) for pair in run.head.plan.test)
