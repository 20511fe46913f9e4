"""A survey's screen: a row for each part of the machine, from the runs that measured it, and its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from wirespeed.report.facts import awareness, others, outcome, trust
from wirespeed.report.facts.awareness import AWARE
from wirespeed.report.facts.cells import rate_cell, time_cell
from wirespeed.report.facts.copies import slowest_rank
from wirespeed.report.facts.figures import percent
from wirespeed.report.facts.markers import CLOSE, HALF, meanings, sign, sign_alone, widest
from wirespeed.report.facts.outcome import SHORT
from wirespeed.report.facts.slowest_teams import FAR, describe, median_of
from wirespeed.report.facts.statement import BAD, Statement
from wirespeed.report.facts.statements import statements
from wirespeed.results.by_rank import ALONE, TOGETHER
from wirespeed.results.model import FAR as FAR_OFF_SHARE
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
from wirespeed.units import counted, format_rate, format_seconds, format_size

COPIES = {"h2d-pinned": "host to GPU", "d2h-pinned": "GPU to host", "d2d": "GPU memory"}
"""Path of a copy -> name of its row."""
BESIDE_OTHERS = {
    "usual": "usual",
    "below": "below what others measured",
    "above": "above what others measured",
}
NEEDS_TWO = "needs two GPUs: which path between them is the fastest, its time, bandwidth and wire"


@dataclass(frozen=True)
class SurveyRow:
    """One figure, with what it should be."""

    what: str
    figure: str
    mark: str = ""
    at_once: str = ""
    """The same while all GPUs copy."""
    share: float | None = None
    """Of the limit; None: none is known."""
    limit: str = ""
    """In GB/s."""
    verdict: str = ""

    @property
    def of_limit(self) -> str:
        """'96 % of 57.6'."""
        return "" if self.share is None else f"{100 * self.share:.0f} % of {self.limit}"


def rows(runs: Sequence[Run]) -> list[SurveyRow]:
    """In the order of the screen: memory, copies, messages."""
    found = [row for run in runs if run.head.plan.pattern == "copy" for row in _copies(run)]
    pairs = [row for run in runs if run.head.plan.pattern == "pairs" for row in _pairs(run)]
    messages = [run for run in runs if run.head.plan.pattern == "pingpong" and not is_trial(run)]
    between = pairs or [*_messages(messages, "GPU to GPU", "GPU")]
    by_mpi = [*_messages(messages, "MPI, GPU to GPU", "GPU", AWARE)]
    return [*found, *between, *by_mpi, *_messages(messages, "MPI, CPU to CPU", "CPU")]


def is_trial(run: Run) -> bool:
    """Was it to show whether an MPI takes device pointers, on one GPU?"""
    return bool(run.head.plan.ranks_per_gpu)


def _copies(run: Run) -> Iterator[SurveyRow]:
    for path in run.paths:
        own = (entry for (name, _), entry in run.figures.items() if name == path)
        entry = max(own, key=lambda entry: entry.bytes)
        if path == "h2h":
            ranks = run.head.plan.ranks
            what = f"CPU memory, {ranks} CPUs" if ranks > 1 else "CPU memory, one CPU"
            verdict = "copied by all at once" if ranks > 1 else "copied"
            figure = f"{format_rate(ranks * entry.rate)} GB/s"
            yield _judged_row(SurveyRow(what, figure, sign(run, entry), verdict=verdict), run, entry)
        elif path in COPIES:
            yield _by_gpus(run, entry, COPIES[path])


def _by_gpus(run: Run, entry: Entry, what: str) -> SurveyRow:
    """The median GPU alone, the slowest one while all copy; those that are far behind are named."""
    alone = [team for team in entry.teams if team.name.endswith(ALONE)]
    if not alone or entry.impossible:
        row = SurveyRow(what, f"{''.join(rate_cell(run, entry))} GB/s")
        return _judged_row(row, run, entry, entry.rate)
    median, mark = median_of(alone), sign_alone(entry)
    slow = [] if mark else [team for team in alone if team.seconds / median > 1 + FAR]
    names = []
    for team in slow[:3]:
        device = run.step(entry.path).ranks[team.first].device
        index = team.first if device is None or device.index is None else device.index
        names.append(f"GPU {index} {format_rate(entry.amount / team.seconds)}")
    together = slowest_rank(entry, TOGETHER)
    at_once = f"{sign(run, entry)}{format_rate(entry.amount / together.seconds)} each" if together else ""
    rate = entry.amount / median
    verdict = f"but {', '.join(names)}" if names else ""
    row = SurveyRow(what, f"{format_rate(rate)} GB/s", mark, at_once, verdict=verdict)
    return _judged_row(row, run, entry, rate)


class RunEntry(NamedTuple):
    """A figure and its run."""

    run: Run
    entry: Entry


def fastest(runs: Sequence[Run], size: int, domain: str, path: str | None = None) -> RunEntry | None:
    """The figure of the least time, by this path or by any; one that is not sure only where none is."""
    found = []
    for run in runs:
        own = [one for one in run.entries.values() if (one.bytes, one.memory_domain) == (size, domain)]
        named = [one for one in own if path in (None, one.path)]
        sure = {one.path for one in run.fastest(size, domain)[:1]} if path is None else {path}
        found += [(one.path not in sure, one.seconds, RunEntry(run, one)) for one in named]
    return min(found, key=lambda each: each[:2])[2] if found else None


def _messages(runs: Sequence[Run], who: str, domain: str, path: str | None = None) -> Iterator[SurveyRow]:
    """A row for the shortest and for the longest messages, of the fastest path or of this one."""
    entries = (entry for run in runs for entry in run.entries.values() if path in (None, entry.path))
    sizes = sorted({entry.bytes for entry in entries if entry.memory_domain == domain})
    for size in dict.fromkeys((*sizes[:1], *sizes[-1:])):
        if not (chosen := fastest(runs, size, domain, path)):
            continue
        run, entry = chosen
        by = [f"by {entry.path}"] if domain == "GPU" and path is None else []
        seen = any(found.verdict != "unknown" for found in run.evidence_of(entry.path))
        wires = outcome.wires_words(run, entry.path) if seen and size > SHORT else ""
        yield _message(f"{who}, {format_size(size)}", run, entry, entry.seconds, [*by, wires])


def _pairs(run: Run) -> Iterator[SurveyRow]:
    """A row for each size, of the path whose slowest pair is the fastest: the median of all pairs."""
    for size in run.sizes:
        own = [entry for entry in run.entries.values() if entry.bytes == size]
        entry = min(own, key=lambda one: one.seconds)
        words = [f"by {entry.path}", describe(entry)]
        yield _message(f"GPU to GPU, {format_size(size)}", run, entry, median_of(entry.teams), words)


def _message(what: str, run: Run, entry: Entry, seconds: float, words: Sequence[str]) -> SurveyRow:
    """`seconds`: those of the entry itself, which has marks and ranges, or of the median of its teams."""
    own, verdict = seconds == entry.seconds, ", ".join(filter(None, words))
    mark = "" if own else sign(run, entry)
    if entry.bytes <= SHORT:
        figure = "".join(time_cell(run, entry)) if own else format_seconds(seconds)
        return SurveyRow(what, figure, mark, verdict=verdict)
    rate = entry.amount / seconds
    figure = "".join(rate_cell(run, entry)) if own else format_rate(rate)
    return _judged_row(SurveyRow(what, f"{figure} GB/s", mark, verdict=verdict), run, entry, rate)


def _judged_row(row: SurveyRow, run: Run, entry: Entry, rate: float = 0.0) -> SurveyRow:
    """With limit and verdict. `rate`: bytes per second that the limit bounds; 0: none does."""
    if entry.impossible:
        return SurveyRow(row.what, IMPOSSIBLE, verdict=entry.why_impossible)
    limit = run.ceiling(entry.path)
    share = limit.share(rate, entry.bytes) if limit and rate else None
    verdict = "; ".join(filter(None, (_judged(run, entry, share, rate), row.verdict)))
    return replace(row, share=share, limit=format_rate(limit.rate) if limit else "", verdict=verdict)


def _judged(run: Run, entry: Entry, share: float | None, rate: float) -> str:
    """What others measured on such a machine tells more than a limit that nothing reaches."""
    known = (reference for path, reference in others.references(run) if path == entry.path)
    # Others' figures are those of large messages.
    if entry.bytes == run.sizes[-1] and (reference := next(known, None)):
        return BESIDE_OTHERS.get(replace(reference, rate=rate).verdict, "")
    if share is None:
        return "within the caches, which no limit bounds" if run.ceiling(entry.path) else "no limit is known"
    return "good" if share >= CLOSE else "fair" if share >= HALF else "far from its limit"


def gpu_aware(runs: Sequence[Run]) -> awareness.Answer | None:
    """As awareness.answer(), by the run that tried it; None where there is no GPU, or nothing was tried."""
    return next(filter(None, map(awareness.answer, reversed(runs))), None)


def trusted(runs: Sequence[Run]) -> tuple[bool, str]:
    """(yes or no, in words), of all figures on the screen."""
    shown = [run for run in runs if run.entries and not is_trial(run)]
    doubts = [told.words for told in map(trust.trust, shown) if not told.good]
    if not doubts:
        number = counted(sum(len(run.figures) for run in shown), "figure")
        return bool(shown), f"yes, {number}, all data compared" if shown else "nothing was measured"
    reasons = ["read the lines in red"] * bool(broken(runs))
    reasons += trust.spoiling(shown)
    entries = [entry for run in shown for entry in run.entries.values()]
    if wide := sum((widest([entry]) or 0.0) > FAR_OFF_SHARE for entry in entries):
        reasons.append(f"{trust.part(shown, wide)} not within ±{percent(FAR_OFF_SHARE)}: measure again")
    return False, f"no, because {'; '.join(reasons) or doubts[0].removeprefix('no, because ')}"


def broken(runs: Sequence[Run]) -> list[Statement]:
    """What went wrong: whoever reads nothing else must read this."""
    return [told for run in runs for told in statements(run) if told.level == BAD]


def legend(shown: Sequence[SurveyRow]) -> str:
    """Meanings of the marks of these rows."""
    return meanings(*(text[:1] for row in shown for text in (row.mark or row.figure, row.at_once)))
