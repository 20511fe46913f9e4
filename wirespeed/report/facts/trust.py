"""A run in two lines: its best figures, and whether they can be relied on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.grouping import grouped
from wirespeed.report.facts import copies, figures, health, markers, outcome, spoiled
from wirespeed.report.facts.cells import marked_rate, marked_time
from wirespeed.report.facts.failures import lasting
from wirespeed.report.facts.outcome import greatest_rate, quickest
from wirespeed.report.facts.wire_verdicts import beyond, suspicions
from wirespeed.results.curves import curve_findings
from wirespeed.results.model import FAR
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run, remembered
from wirespeed.results.wrong_data import also_distrusted
from wirespeed.units import counted, format_size

BROKEN = ("crash", "death", "hang", "error")
"""Failures that are shown in red where a path broke; wrong bytes have a reason of their own."""


@dataclass(frozen=True)
class Best:
    """A best figure of a run."""

    data: str
    """Memory that its messages lie in: GPU or CPU."""
    bandwidth: bool
    """The highest bandwidth, else the least time."""
    entry: Entry
    words: str
    """'~395 GB/s at 1 GiB by ipc-write', with the figure's mark."""


@remembered
def bests(run: Run) -> list[Best]:
    """Of each memory the least time and the highest bandwidth; none of a run without sizes to choose from."""
    told = [entry for entry in run.entries.values() if entry.has_time]
    told = [entry for entry in told if entry.bytes] or told
    if all(entry.uncertain for entry in told):
        return []
    if run.traits.kind.program:
        quick = quickest(run, told)
        words = f"{marked_time(run, quick)} a step by {quick.path}"
        return [Best(quick.memory_domain, False, quick, words)]
    if not run.traits.shown.by_size or not all(entry.moves for entry in told):
        return []
    return [best for data in ("GPU", "CPU") for best in _of_memory(run, data, told)]


def _of_memory(run: Run, data: str, told: list[Entry]) -> Iterator[Best]:
    own = [entry for entry in told if entry.memory_domain == data]
    if own:
        quick = quickest(run, own)
        time = f"{run.time_label} {marked_time(run, quick)}"
        yield Best(data, False, quick, f"{time} at {format_size(quick.bytes)} by {quick.path}")
    if rated := [entry for entry in own if entry.amount]:
        wide = greatest_rate(run, rated)
        rate = f"{marked_rate(run, wide)} GB/s at {format_size(wide.bytes)}"
        yield Best(data, True, wide, f"{rate} by {wide.path}")


@remembered
def headline(run: Run) -> str:
    """'GPU data: one way 0.801 us at 4 B by gpu, 395 GB/s at 1 GiB by ipc-write; CPU data: ...', with marks.

    Empty where a run has no sizes to choose from.
    """
    found = grouped((best.data, best.words) for best in bests(run))
    return "; ".join(
        (f"{data} data: " if len(found) > 1 else "") + ", ".join(words) for data, words in found.items()
    )


@dataclass(frozen=True)
class Trust:
    """Whether a run's figures can be relied on."""

    good: bool
    words: str
    """'yes, 31 figures, all data compared, ...', or 'no, because ...' with what to do."""
    reasons: tuple[str, ...] = ()
    """Reasons against it, the gravest first, each with what to do."""


@remembered
def trust(run: Run) -> Trust:
    """Whether all figures can be relied on, and what that rests on, or why not and what to do."""
    if found := tuple(_reasons(run)):
        return Trust(False, "no, because " + "; ".join(found), found)
    widest = markers.widest(entry for entry in run.entries.values() if entry.stopped != "fixed")
    width = f", no interval wider than {figures.widest(widest)}" if widest is not None else ""
    curves = list(dict.fromkeys(path for path, _ in curve_findings(run)))
    but = f"; but a curve is not sound, read its line: {', '.join(curves)}" if curves else ""
    return Trust(True, f"yes, {counted(len(run.entries), 'figure')}, all data compared{width}{but}")


def _reasons(run: Run) -> Iterator[str]:
    """The gravest first."""
    entries = list(run.entries.values())
    wrong = [failure for failure in run.failures if failure.what == "mismatch"]
    if wrong:
        paths = ", ".join(dict.fromkeys(failure.path for failure in wrong))
        others = also_distrusted(run)
        more = f", nor {', '.join(others)}: those go over peer access, too" if others else ""
        yield f"wrong bytes arrived ({paths}): do not use what moved them{more}"
    if count := len(run.impossible):
        lines = "its line" if count == 1 else "their lines"
        yield f"{part([run], count)} {IMPOSSIBLE}: read {lines}, measure again"
    yield from _broken(run)
    if any(largest for _, largest in suspicions(run)):
        yield "the wires deny what a path declares: read its line"
    if beyond(run):
        yield "figures are above the limit of their wires: read their lines"
    if run.foreign:
        yield "another tool measured: 'wirespeed explain' says what is wrong, and what is missing"
        return
    if not wrong and outcome.payload(run) is None:
        yield "not every figure's data were compared"
    yield from spoiling([run])
    if health.standing(run):
        yield "a GPU's memory is not well: read its line"
    if gained := copies.gained(run):
        yield f"{part([run], len(gained))} faster with all ranks than alone: measure again"
    if skewed := spoiled.skewed(run):
        late = f"{part([run], len(skewed))} partly how late ranks start"
        yield f"{late}: compare larger sizes, or measure again when nothing else runs"
    if mixed := spoiled.mixed(run):
        yield f"{', '.join(mixed)}: one column, several launches: compare sizes of one launch"
    if spoiled.sharing(run):
        yield "ranks share GPUs: no figure is that of a whole one; give each rank its own"
    timed = [entry for entry in entries if entry.stopped != "fixed"]
    wide = sum((markers.widest([entry]) or 0.0) > FAR for entry in timed)
    if wide:
        longer = "--within" if run.head.plan.budget else "--max-time"
        more = "--launches" if run.launches > 1 else longer
        yield f"{part([run], wide)} not within ±{figures.percent(FAR)}: more {more} narrows them"
    if fixed := len(entries) - len(timed):
        yield f"{part([run], fixed)} without an interval: --loops gives none, leave it out"
    for why, unknown in markers.without_interval(timed).items():
        more = "--launches 3" if run.launches > 1 else "--max-time"
        reason = f"{more} gives one" if why == markers.FEW else why
        yield f"{part([run], len(unknown))} without an interval: {reason}"
    if run.interrupted:
        yield "the run did not end: go on with --resume"


def _broken(run: Run) -> Iterator[str]:
    """'aware, host: crashed: read their lines', for each way in which paths broke."""
    broken = ((failure.what, failure.path) for failure in lasting(run) if failure.what in BROKEN)
    for what, paths in grouped(broken).items():
        names = list(dict.fromkeys(paths))
        lines = "their lines" if len(paths) > 1 else "its line"
        yield f"{', '.join(names)}: {figures.WHAT[what]}: read {lines}"


def spoiling(runs: Sequence[Run]) -> Iterator[str]:
    """'3 of 31 figures are &: measure again ...', a reason for each mark."""
    for mark in reversed(markers.SPOILING):
        if marked := [entry for run in runs for entry in mark.of(run)]:
            yield f"{part(runs, len(marked))} {mark.sign}: {mark.remedy(marked)}"


def part(runs: Sequence[Run], number: int) -> str:
    """'3 of 31 figures are'."""
    every = sum(len(run.figures) for run in runs)
    return f"{number} of {every} figures {'is' if number == 1 else 'are'}" if every > 1 else "the figure is"
