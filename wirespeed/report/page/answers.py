"""The first screen's answers: sentences and four tiles for each machine, from its main run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.report.facts import awareness, soaks
from wirespeed.report.facts.cells import marked_rate, marked_time
from wirespeed.report.facts.doctor_findings import FindingTexts, findings
from wirespeed.report.facts.machine import mpi_title
from wirespeed.report.facts.markers import without_sign
from wirespeed.report.facts.outcome import greatest_rate, quickest
from wirespeed.report.facts.shares import exceeds, percent, share
from wirespeed.report.facts.statement import BAD, GOOD, NOTE, WARNING, ReportSection
from wirespeed.report.facts.statements import statements
from wirespeed.report.facts.summary import alarms
from wirespeed.report.facts.trust import headline, trust
from wirespeed.report.page.notes import MachineRuns, Sentence, machines
from wirespeed.report.sources import ReportRun, Source, all_findings
from wirespeed.report.views import view_of
from wirespeed.results.coerce import text
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
from wirespeed.units import format_size

LONGEST = 44
"""Letters of a finding's title that fit a tile."""


@dataclass(frozen=True)
class Tile:
    """One figure or word of the first screen."""

    name: str
    value: str
    note: str
    level: str = ""
    """good, warning or bad; empty: a figure."""


@dataclass(frozen=True)
class Answers:
    """Answers that a reader wants of a machine first."""

    machine: MachineRuns
    brief: str
    """The best figures, for a list of machines."""
    sentences: list[Sentence]
    tiles: list[Tile]


def answers(sets: Sequence[ReportRun], sources: Sequence[Source]) -> list[Answers]:
    """Answers for each machine. What the doctor found without a run belongs to the first one."""
    numbered = [*enumerate(machines(sets))]
    files = {measured.file: number for number, machine in numbered[::-1] for measured in machine.sets}
    return [
        _of(machine, findings(all_findings([s for s in sources if files.get(s.file, 0) == number])))
        for number, machine in numbered
    ]


def _of(machine: MachineRuns, found: Sequence[FindingTexts]) -> Answers:
    run = machine.main.run
    change, worst = _change(run, found)
    of_mpi, mpi_tile = _mpi(machine)
    best = _soaked(run) or Sentence(NOTE, _best(run))
    # What is said already is not said again.
    change = [said for said in change if not any(known.text in said.text for known in of_mpi)]
    sentences = [*of_mpi, best, *_trust(run), *change]
    return Answers(
        machine,
        text(f"{best.text}.", 1000),
        [Sentence(sentence.level, text(f"{sentence.text}.", 1000)) for sentence in sentences],
        [
            Tile(tile.name, text(tile.value), text(tile.note), tile.level)
            for tile in (*_extremes(run), mpi_tile, worst)
        ],
    )


def _domain(run: Run) -> str:
    """The memory that the answers are about: that of GPUs where there are figures of it."""
    return "GPU" if any(entry.memory_domain == "GPU" for entry in run.entries.values()) else "CPU"


def _mpi(machine: MachineRuns) -> tuple[list[Sentence], Tile]:
    """Is MPI GPU-aware, by the main run or any other that tells? Without GPUs nothing shows it."""
    name, run = "GPU-aware MPI", machine.main.run
    if _domain(run) == "CPU" and not run.head.environment.devices:
        mpis = dict.fromkeys(mpi_title(step.mpi) for step in run.steps if step.mpi)
        ranks = max((len(step.ranks) for step in run.steps), default=0)
        note = f"{ranks} ranks, no GPU" if ranks else "no GPU"
        return [], Tile("MPI", ", ".join(mpis) or "none", note)
    told = map(awareness.answer, (run, *(measured.run for measured in machine.sets)))
    aware = next(filter(None, told), None)
    if aware is None:
        why = "No figure of the path aware shows whether MPI is GPU-aware"
        return [Sentence(NOTE, why)] * (not run.soaks), Tile(name, "not measured", "")
    sentence = Sentence(aware.level, f"{name}: {aware.words}")
    return [sentence], Tile(name, aware.brief, aware.mpi, aware.level)


def _best(run: Run) -> str:
    """The best figures; what is said first of a run that has none to choose from."""
    if best := headline(run):
        return f"Best: {best}"
    said = (s.words for s in statements(run) if s.part in (ReportSection.PATHS, ReportSection.SOAK))
    sized = any(entry.bytes for entry in run.entries.values())
    nothing = "No figure is certain enough to be called the best" if sized else "No message was measured"
    return next(said, nothing)


def _soaked(run: Run) -> Sentence | None:
    """What a soak of messages found; None of a run that has times, or no soak."""
    told = None if run.entries else soaks.verdict(run)
    return told and Sentence(GOOD if told[1] else BAD, told[0])


def _trust(run: Run) -> Iterator[Sentence]:
    """Whether the figures can be relied on."""
    if run.entries:
        told = trust(run)
        more = f"; {len(told.reasons) - 1} more in the notes" if len(told.reasons) > 1 else ""
        words = told.words if told.good else f"no, because {told.reasons[0]}{more}"
        yield Sentence(GOOD if told.good else WARNING, f"Trust: {words}")


def _change(run: Run, found: Sequence[FindingTexts]) -> tuple[list[Sentence], Tile]:
    """What to change first, and the worst finding: the doctor's, else what this run says of itself."""
    name = "Worst finding"
    if found:
        worst = found[0]
        level = BAD if worst.severe else WARNING
        gain = f"; tried, the remedy made it {worst.gain}" if worst.gain else ""
        tile = Tile(name, _short(worst.title), worst.gain or worst.cost, level)
        return [Sentence(level, f"Change first: {worst.title}{gain}")], tile
    if wrong := alarms(run):
        level, words = wrong[0].level, without_sign(wrong[0].words)
        tile = Tile(name, _short(words), "see the notes", level)
        return [Sentence(level, f"Look first at this: {words}")], tile
    if run.entries and not trust(run).good:
        return [], Tile("Trust", "no", "the line on trust says why", WARNING)
    return [], Tile(name, "none", "in these figures", GOOD)


def _short(title: str) -> str:
    """Its first words: up to a colon, or as many as fit; of an impossible figure no number."""
    if f": {IMPOSSIBLE}: " in title:
        return f"{title.split(f': {IMPOSSIBLE}: ')[0]}: {IMPOSSIBLE}"
    head = title.split(": ")[0]
    if len(title) <= LONGEST or LONGEST / 3 < len(head) <= LONGEST:
        return title if len(title) <= LONGEST else head
    return f"{title[:LONGEST].rsplit(' ', 1)[0]} …"


def _extremes(run: Run) -> Iterator[Tile]:
    """The lowest latency and the highest bandwidth, of figures that are certain."""
    sure = (entry for entry in run.entries.values() if entry.amount and not entry.uncertain)
    domain = _domain(run)
    entries = sorted((e for e in sure if e.memory_domain == domain), key=lambda entry: entry.bytes)
    if not entries:
        if soaked := _soaked(run):
            number = sum(soak.messages for soak in run.soaks.values())
            yield Tile("Messages checked", f"{number:,}", "by a soak, which measures no times", soaked.level)
        return
    data = " of GPU data" if domain == "GPU" else ""
    if tiles := view_of(run).tiles(run, entries):
        yield from (Tile(*tile) for tile in tiles)
        return
    least, most = quickest(run, entries), greatest_rate(run, entries)
    yield Tile("Lowest latency", marked_time(run, least), f"{least.path}, {format_size(least.bytes)}{data}")
    note = f"{most.path}, {format_size(most.bytes)}{_of_limit(run, most)}"
    yield Tile("Highest bandwidth", f"{marked_rate(run, most)} GB/s", note)


def _of_limit(run: Run, entry: Entry) -> str:
    """', 88 % of the limit'; nothing without one that applies, nor above it, which is a fault."""
    limit = run.ceiling(entry.path)
    part = share(entry, limit)
    return "" if part is None or exceeds(entry, limit) else f", {percent(part)} of the limit"
