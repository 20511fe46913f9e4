"""Figures that are compared side by side: groups of ranks, copies, and programs' steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.report.facts.copies import ALONE, TOGETHER, slowest
from wirespeed.report.facts.figures import UNCERTAIN
from wirespeed.report.facts.markers import sign
from wirespeed.report.facts.programs import CANNOT_TELL, Parts
from wirespeed.report.facts.programs import parts as program_parts
from wirespeed.report.facts.shares import percent, share
from wirespeed.report.page.sources import ReportRun
from wirespeed.results.coerce import text
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
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


def bars(sets: Sequence[ReportRun]) -> list[Bars]:
    """Bars of groups and of copies, each path at its largest size."""
    groups = [measured for measured in sets if measured.pattern == "groups"]
    copies = [measured for measured in sets if measured.run.view == "copies"]
    programs = [measured for measured in sets if measured.run.view == "program" and measured.run.figures]
    out = [bar for group in groups for bar in _groups(group, len(groups) > 1)]
    found = [Bars("Bandwidth out of the slowest group, largest message", out, LIMIT)]
    for copy in copies:
        named = f": {copy.label}" if len(copies) > 1 else ""
        # Copies on the GPU are tens of times as fast: on one scale with them nobody would see the others.
        for title, on_device in (("Copies", False), ("Copies on the GPU", True)):
            paths = [path for path in copy.run.paths if _on_device(copy.run, path) is on_device]
            found.append(Bars(f"{title}, slowest rank{named}", [*_copies(copy.run, paths)]))
    found += [_steps(program, programs) for program in programs]
    efficiencies = [bar for program in programs for bar in _efficiencies(program, programs)]
    found.append(Bars("Efficiency against one rank", efficiencies, "The dashed line is one rank's."))
    return [bars for bars in found if bars.bars]


def _largest(run: Run, paths: Sequence[str]) -> Iterator[tuple[str, Entry]]:
    """(path and size, entry): each path's largest size."""
    for entry in (_last(run, path) for path in paths):
        if entry.amount:
            yield text(f"{entry.path}, {format_size(entry.bytes)}"), entry


def _last(run: Run, path: str) -> Entry:
    """At the path's largest size, true or not."""
    return max((run.figures[key] for key in run.figures if key[0] == path), key=lambda entry: entry.bytes)


def _impossible(label: str, entry: Entry) -> Bar:
    return Bar(label, text(entry.path), 0.0, IMPOSSIBLE)


def _groups(measured: ReportRun, several: bool) -> Iterator[Bar]:
    for label, entry in _largest(measured.run, measured.run.paths):
        label = f"{measured.label}: {label}" if several else label
        if entry.impossible:
            yield _impossible(label, entry)
            continue
        limit = measured.run.ceiling(entry.path)
        part = share(entry, limit)
        note = f"{sign(measured.run, entry)}{format_rate(entry.rate)} GB/s{_doubt(entry)}"
        note += f", {percent(part)} of {format_rate(limit.rate)}" if limit and part is not None else ""
        yield Bar(label, text(entry.path), entry.rate, note, limit.rate if limit else None)


def _asked(measured: ReportRun, programs: Sequence[ReportRun]) -> str:
    """'2 ranks, overlap no': what a program was asked for, where not all were asked for the same."""
    ranks = measured.run.head.plan.ranks
    common = set.intersection(*(set(each.run.pattern_words) for each in programs))
    own = (word for word in measured.run.pattern_words if word not in common)
    return ", ".join((f"{ranks} rank{'s' if ranks > 1 else ''}", *own))


def _steps(measured: ReportRun, programs: Sequence[ReportRun]) -> Bars:
    """Each path's step in seconds, and the computation alone below it."""
    out = []
    for path in measured.run.paths:
        entry = _last(measured.run, path)
        if entry.impossible:
            out.append(_impossible(text(path), entry))
            continue
        parts, word = program_parts(measured.run, entry), text(entry.path)
        copied = parts.of_copy * entry.seconds if parts.of_copy else None
        note = f"{parts.mark}{format_seconds(entry.seconds)}{_doubt(entry)}{_communication(parts)}"
        out.append(Bar(word, word, entry.seconds, note, copied))
        if parts.compute and measured.run.head.plan.ranks > 1:
            note = f"{format_seconds(parts.compute)} computation alone"
            out.append(Bar("", word, parts.compute, note, copied, paler=True))
    title = f"Time of a step, {_asked(measured, programs)}"
    # The labels of several files name them.
    if len(programs) > 1 and not measured.label.startswith(f"{measured.run.head.plan.ranks} rank"):
        title += f": {measured.label}"
    return Bars(
        title,
        _by_step(out),
        "The dashed line is the time of a copy of the same array.",
    )


def _communication(parts: Parts) -> str:
    """', of which 12.1 us ±0.60 us is communication'."""
    if parts.visible is None or parts.visible_words is None:
        return ""
    words = " ".join(filter(None, parts.visible_words))
    if words == CANNOT_TELL:
        return ", and how much of it is communication cannot be told"
    if parts.visible.certain and parts.visible.seconds > 0:
        return f", of which {words} is communication"
    return ", its communication is hidden"


def _doubt(entry: Entry) -> str:
    return f" ({UNCERTAIN})" if entry.uncertain else ""


def _by_step(found: list[Bar]) -> list[Bar]:
    """The shortest step first, impossible ones last; what lies below a bar stays there."""
    pairs: list[list[Bar]] = []
    for bar in found:
        if bar.label:
            pairs.append([bar])
        else:
            pairs[-1].append(bar)
    return [bar for pair in sorted(pairs, key=lambda pair: pair[0].value or math.inf) for bar in pair]


def _efficiencies(measured: ReportRun, programs: Sequence[ReportRun]) -> Iterator[Bar]:
    for path in measured.run.paths if measured.run.head.plan.ranks > 1 else ():
        for entry in measured.run.of_path(path)[-1:]:
            parts, word = program_parts(measured.run, entry), text(entry.path)
            if (part := parts.efficiency) is not None:
                note = f"{parts.efficiency_mark}{percent(part)}"
                yield Bar(f"{word}, {_asked(measured, programs)}", word, part, note, 1.0)


def _on_device(run: Run, path: str) -> bool:
    step = run.step(path)
    return step.memory == "device" and step.into in ("", "device")


def _copies(run: Run, paths: Sequence[str]) -> Iterator[Bar]:
    for label, entry in _largest(run, paths):
        path, alone, together = text(entry.path), slowest(entry, ALONE), slowest(entry, TOGETHER)
        mark, doubt = sign(run, entry), _doubt(entry)
        if entry.impossible:
            yield _impossible(label, entry)
        elif alone is None or together is None:
            yield Bar(label, path, entry.rate, f"{mark}{format_rate(entry.rate)} GB/s{doubt}")
        else:
            rates = entry.amount / alone, entry.amount / together
            yield Bar(label, path, rates[0], f"{mark}{format_rate(rates[0])} GB/s alone{doubt}")
            yield Bar("", path, rates[1], f"{mark}{format_rate(rates[1])} GB/s with all{doubt}", paler=True)
