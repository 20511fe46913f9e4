"""Figures that are compared side by side: groups of ranks, copies, and programs' steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.report.facts.programs import parts as program_parts
from wirespeed.report.facts.shares import percent, share
from wirespeed.report.page.sources import Measured
from wirespeed.report.terminal.copy_table import ALONE, TOGETHER, slowest
from wirespeed.results.coerce import text
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_seconds, format_size

LIMIT = "The dashed line is the limit; its equation is below."


@dataclass(frozen=True)
class Bar:
    """One figure, in the unit of its group."""

    label: str
    path: str
    value: float
    note: str
    limit: float | None = None
    paler: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars that share one scale."""

    title: str
    bars: list[Bar]
    explained: str = ""
    """What the dashed line is."""

    @property
    def most(self) -> float:
        """The scale's end."""
        return max([bar.value for bar in self.bars] + [bar.limit or 0 for bar in self.bars]) or 1.0


def bars(sets: Sequence[Measured]) -> list[Bars]:
    """Of groups and of copies, each path at its largest size."""
    groups = [one for one in sets if one.pattern == "groups"]
    copies = [one for one in sets if one.run.view == "copies"]
    programs = [one for one in sets if one.run.view == "program" and one.run.entries]
    out = [bar for one in groups for bar in _groups(one, len(groups) > 1)]
    found = [Bars("Bandwidth out of the slowest group, largest message", out, LIMIT)]
    for one in copies:
        named = f": {one.label}" if len(copies) > 1 else ""
        # Copies on the GPU are tens of times as fast: on one scale with them nobody would see the others.
        for title, on_device in (("Copies", False), ("Copies on the GPU", True)):
            paths = [path for path in one.run.paths if _on_device(one.run, path) is on_device]
            found.append(Bars(f"{title}, slowest rank{named}", [*_copies(one.run, paths)]))
    found += [_steps(one, programs) for one in programs]
    efficiencies = [bar for one in programs for bar in _efficiencies(one, programs)]
    found.append(Bars("Efficiency against one rank", efficiencies, "The dashed line is one rank's."))
    return [one for one in found if one.bars]


def _largest(run: Run, paths: Sequence[str]) -> Iterator[tuple[str, Entry]]:
    """(path and size, entry): each path's largest size."""
    for entry in (run.of_path(path)[-1] for path in paths):
        if entry.amount:
            yield text(f"{entry.path}, {format_size(entry.bytes)}"), entry


def _groups(one: Measured, several: bool) -> Iterator[Bar]:
    for label, entry in _largest(one.run, one.run.paths):
        limit = one.run.ceiling(entry.path)
        part = share(entry, limit)
        note = f"{format_rate(entry.rate)} GB/s"
        note += f", {percent(part)} of {format_rate(limit.rate)}" if limit and part is not None else ""
        label = f"{one.label}: {label}" if several else label
        yield Bar(label, text(entry.path), entry.rate, note, limit.rate if limit else None)


def _asked(one: Measured, programs: Sequence[Measured]) -> str:
    """'2 ranks, overlap no': what a program was asked for, where not all were asked for the same."""
    ranks = one.run.head.plan.ranks
    common = set.intersection(*(set(each.run.pattern_words) for each in programs))
    own = (word for word in one.run.pattern_words if word not in common)
    return ", ".join((f"{ranks} rank{'s' if ranks > 1 else ''}", *own))


def _steps(one: Measured, programs: Sequence[Measured]) -> Bars:
    """Each path's step in seconds, and the computation alone below it."""
    out = []
    for path in one.run.paths:
        entry = one.run.of_path(path)[-1]
        parts, word = program_parts(one.run, entry), text(entry.path)
        copied = parts.of_copy * entry.seconds if parts.of_copy else None
        seen = "its communication is hidden"
        if parts.visible:
            seen = f"of which {format_seconds(parts.visible)} is communication"
        visible = "" if parts.visible is None else f", {seen}"
        out.append(Bar(word, word, entry.seconds, format_seconds(entry.seconds) + visible, copied))
        if parts.compute and one.run.head.plan.ranks > 1:
            note = f"{format_seconds(parts.compute)} computation alone"
            out.append(Bar("", word, parts.compute, note, copied, paler=True))
    title = f"Time of a step, {_asked(one, programs)}"
    # The labels of several files name them.
    if len(programs) > 1 and not one.label.startswith(f"{one.run.head.plan.ranks} rank"):
        title += f": {one.label}"
    return Bars(
        title,
        _by_step(out),
        "The dashed line is the time of a copy of the same array.",
    )


def _by_step(found: list[Bar]) -> list[Bar]:
    """The shortest step first; what lies below a bar stays there."""
    pairs: list[list[Bar]] = []
    for bar in found:
        if bar.label:
            pairs.append([bar])
        else:
            pairs[-1].append(bar)
    return [bar for pair in sorted(pairs, key=lambda pair: pair[0].value) for bar in pair]


def _efficiencies(one: Measured, programs: Sequence[Measured]) -> Iterator[Bar]:
    for path in one.run.paths if one.run.head.plan.ranks > 1 else ():
        entry = one.run.of_path(path)[-1]
        if (part := program_parts(one.run, entry).efficiency) is not None:
            word = text(entry.path)
            yield Bar(f"{word}, {_asked(one, programs)}", word, part, percent(part), 1.0)


def _on_device(run: Run, path: str) -> bool:
    step = run.step(path)
    return step.memory == "device" and step.into in ("", "device")


def _copies(run: Run, paths: Sequence[str]) -> Iterator[Bar]:
    for label, entry in _largest(run, paths):
        path, alone, together = text(entry.path), slowest(entry, ALONE), slowest(entry, TOGETHER)
        if alone is None or together is None:
            yield Bar(label, path, entry.rate, f"{format_rate(entry.rate)} GB/s")
        else:
            rates = entry.amount / alone, entry.amount / together
            yield Bar(label, path, rates[0], f"{format_rate(rates[0])} GB/s alone")
            yield Bar("", path, rates[1], f"{format_rate(rates[1])} GB/s with all", paler=True)
