"""The first screen's answers: sentences and four tiles for each machine, from its main run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wirespeed.report.facts.awareness import STAGED, awareness, reason, refusal
from wirespeed.report.facts.best_figures import greatest_rate, quickest
from wirespeed.report.facts.cells import marked_rate, marked_time
from wirespeed.report.facts.doctor_findings import FindingTexts, findings
from wirespeed.report.facts.figures import other_mpi
from wirespeed.report.facts.machine import mpi_title
from wirespeed.report.facts.markers import without_sign
from wirespeed.report.facts.outcome import wires_words
from wirespeed.report.facts.shares import exceeds, percent, share
from wirespeed.report.facts.statement import BAD, GOOD, NOTE, WARNING, ReportSection
from wirespeed.report.facts.statements import statements
from wirespeed.report.facts.summary import alarms
from wirespeed.report.facts.trust import headline, trust
from wirespeed.report.page.machines import MachineRuns, machines
from wirespeed.report.page.notes import Sentence
from wirespeed.report.sources import ReportRun, Source, all_findings
from wirespeed.report.views import view_of
from wirespeed.results.coerce import text
from wirespeed.results.runs import IMPOSSIBLE, Entry, Failure, Run
from wirespeed.transports import find_transport
from wirespeed.units import format_size

PARENTHESES = re.compile(r" \([^()]*\)")
"""A counters' verdict ends in shares, which the section on wires has."""
LONGEST = 44
"""Letters of a finding's title that fit a tile."""
AWARE_MPI = "GPU-aware MPI"
"""Name of its tile."""


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
    found = machines(sets)
    numbered = [*enumerate(found)]
    files = {measured.file: number for number, machine in numbered[::-1] for measured in machine.sets}
    told = []
    for number, machine in numbered:
        own = [source for source in sources if files.get(source.file, 0) == number]
        told.append(_of(machine, findings(all_findings(own)), found[1:] if number == 0 else []))
    return told


def _of(machine: MachineRuns, found: Sequence[FindingTexts], others: Sequence[MachineRuns]) -> Answers:
    """`others`: machines that are asked whether MPI is GPU-aware where this one does not tell."""
    run = machine.main.run
    change, worst = _change(run, found)
    soaked = _soaked(run)
    of_mpi, mpi_tile = _mpi(machine, others)
    best = soaked or Sentence(NOTE, _best(run))
    sentences = [*([] if soaked else of_mpi), best, *_trust(run), *change]
    tiles = [*_extremes(run), mpi_tile, worst]
    return Answers(
        machine,
        text(f"{best.text}.", 1000),
        [Sentence(sentence.level, text(f"{sentence.text}.", 1000)) for sentence in sentences],
        [Tile(tile.name, text(tile.value), text(tile.note), tile.level) for tile in tiles],
    )


def _domain(run: Run) -> str:
    """The memory that the answers are about: that of GPUs where there are figures of it."""
    return "GPU" if any(entry.memory_domain == "GPU" for entry in run.entries.values()) else "CPU"


def _entries(run: Run) -> list[Entry]:
    """Figures of messages in that memory, smallest first; without uncertain ones."""
    domain = _domain(run)
    sure = (entry for entry in run.entries.values() if not entry.uncertain)
    known = (entry for entry in sure if entry.amount and entry.memory_domain == domain)
    return sorted(known, key=lambda entry: entry.bytes)


def _of_hosts(run: Run) -> bool:
    """Is it of CPUs alone, so that nothing shows whether MPI is GPU-aware?"""
    return _domain(run) == "CPU" and not run.head.environment.devices


def _asked(machine: MachineRuns) -> Run | None:
    """The run that tells whether the machine's MPI is GPU-aware: the main one, else any that does."""
    runs = (machine.main.run, *(measured.run for measured in machine.sets))
    return next((run for run in runs if not _of_hosts(run) and (awareness(run) or refusal(run))), None)


def _mpi(machine: MachineRuns, others: Sequence[MachineRuns]) -> tuple[list[Sentence], Tile]:
    """Is MPI GPU-aware, and at what cost? Without GPUs: how fast is MPI?"""
    if _of_hosts(machine.main.run):
        return [*_mpi_of_hosts(machine.main.run)], _host_tile(machine.main.run)
    if run := _asked(machine):
        told, tile = _aware(run)
        return [told], tile
    for other in others:
        if run := _asked(other):
            told, tile = _aware(run)
            text = f"On {other.name}: {told.text}; not measured on {machine.name}"
            return [Sentence(told.level, text)], replace(tile, note=f"{tile.note}, on {other.name}")
    why = "No figure of the path aware shows whether MPI is GPU-aware"
    return [Sentence(NOTE, why)], Tile(AWARE_MPI, "not measured", "")


def _host_tile(run: Run) -> Tile:
    mpis = dict.fromkeys(mpi_title(step.mpi) for step in run.steps if step.mpi)
    ranks = max((len(step.ranks) for step in run.steps), default=0)
    return Tile("MPI", ", ".join(mpis) or "none", f"{ranks} ranks, no GPU" if ranks else "no GPU")


def _aware(run: Run) -> tuple[Sentence, Tile]:
    known, refused = awareness(run), refusal(run)
    if known is None:
        assert refused
        told = Sentence(WARNING, f"MPI is not GPU-aware: {reason(refused)}{_staging(run)}")
        return told, Tile(AWARE_MPI, "no", reason(refused), WARNING)
    stages = "takes device pointers, but stages" if known.counted else "takes device pointers"
    word = "is GPU-aware" if known.good is not False else stages
    how = wires_words(run, known.last.path) if known.counted else known.how
    how = f"; {PARENTHESES.sub('', how)}" if how else ""
    level = {True: GOOD, False: WARNING, None: NOTE}[known.good]
    text = f"{known.mpi} {word}: {_cost(run, known.last.path)}{how}{_before(known.mpi, refused)}"
    value = "yes" if known.good is not False else "stages" if known.counted else "not sure"
    return Sentence(level, text), Tile(AWARE_MPI, value, known.mpi, level)


def _cost(run: Run, path: str) -> str:
    """'18.7 us at 8 B, where gpu takes 0.83 us; 393 GB/s at 1 GiB, 87 % of the limit'."""
    entries = [entry for entry in run.of_path(path) if entry.amount]
    first = entries[0]
    sure = (entry for entry in _entries(run) if entry.bytes == first.bytes)
    least = min(sure, key=lambda entry: entry.seconds, default=first)
    other = f", where {least.path} takes {marked_time(run, least)}" if least.path != path else ""
    return f"{_time(run, first)}{other}; {_figure(run, entries[-1])}"


def _before(mpi: str, refused: Failure | None) -> str:
    """'; Open MPI 4.1.6 crashed on a device pointer, so 5.0.11 was used'."""
    if refused is None or not other_mpi(refused):
        return ""
    vendor, _, version = mpi.rpartition(" ")
    words = reason(refused)
    return f"; {words.replace(mpi, version) if vendor and words.startswith(vendor) else words}"


def _staging(run: Run) -> str:
    """What there is instead."""
    entries = [entry for entry in run.of_path(STAGED) if entry.amount]
    return f"; staged copies cost {_time(run, entries[0])}, {_figure(run, entries[-1])}" if entries else ""


def _mpi_of_hosts(run: Run) -> Iterator[Sentence]:
    """The fastest path of MPI, at its smallest size and at its peak."""
    entries = [
        entry for entry in _entries(run) if find_transport(run.step(entry.path).transport).moved_by == "mpi"
    ]
    if entries:
        mpi = run.step(entries[0].path).mpi
        least = min(entries, key=lambda entry: entry.seconds)
        most = max(entries, key=lambda entry: entry.rate)
        peak = f"{marked_rate(run, most)} GB/s at {format_size(most.bytes)}"
        speed = f"{mpi_title(mpi) if mpi else 'MPI'} takes {_time(run, least)} and peaks at {peak}"
        yield Sentence(NOTE, f"{speed}; without GPUs nothing shows whether it is GPU-aware")


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
    if run.entries or not run.soaks:
        return None
    found = list(run.soaks.values())
    messages, wrong = sum(soak.messages for soak in found), sum(soak.wrong.total for soak in found)
    paths = ", ".join(dict.fromkeys(soak.path for soak in found))
    said = (
        f"{wrong:,} of {messages:,} messages are wrong" if wrong else f"{messages:,} messages, none is wrong"
    )
    return Sentence(BAD if wrong else GOOD, f"A soak checked messages of {paths}: {said}")


def _time(run: Run, entry: Entry) -> str:
    return f"{marked_time(run, entry)} at {format_size(entry.bytes)}"


def _figure(run: Run, entry: Entry) -> str:
    """'394 GB/s at 1 GiB, 88 % of the limit'; a limit that does not apply is left out."""
    part = _part(run, entry)
    figure = f"{marked_rate(run, entry)} GB/s at {format_size(entry.bytes)}"
    return f"{figure}, {part} of the limit" if part else figure


def _part(run: Run, entry: Entry) -> str:
    """'88 %'; nothing without a limit that applies, nor above it, which is a fault and said so."""
    limit = run.ceiling(entry.path)
    part = share(entry, limit)
    return "" if part is None or exceeds(entry, limit) else percent(part)


def _trust(run: Run) -> Iterator[Sentence]:
    """Whether the figures can be relied on."""
    if run.entries:
        told = trust(run)
        first, more = told.reasons[:1], len(told.reasons) - 1
        words = (
            "; ".join([f"no, because {first[0]}", *[f"{more} more in the notes"] * (more > 0)])
            if first
            else told.words
        )
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
    """The lowest latency and the highest bandwidth."""
    entries = _entries(run)
    if not entries:
        if soaked := _soaked(run):
            number = sum(soak.messages for soak in run.soaks.values())
            yield Tile("Messages checked", f"{number:,}", "by a soak, which measures no times", soaked.level)
        return
    data = " of GPU data" if _domain(run) == "GPU" else ""
    if tiles := view_of(run).tiles(run, entries):
        yield from (Tile(*tile) for tile in tiles)
        return
    least, most = quickest(run, entries), greatest_rate(run, entries)
    part = _part(run, most)
    limit = f", {part} of the limit" if part else ""
    yield Tile("Lowest latency", marked_time(run, least), f"{least.path}, {format_size(least.bytes)}{data}")
    note = f"{most.path}, {format_size(most.bytes)}{limit}"
    yield Tile("Highest bandwidth", f"{marked_rate(run, most)} GB/s", note)
