"""Meaning of a table's columns and marks; each statement holds for every figure of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.grouping import ends, grouped, together
from wirespeed.report.facts import figures, markers
from wirespeed.report.facts.contrasts import costs, incomparable, pairs
from wirespeed.report.facts.figure_columns import figure_columns
from wirespeed.report.facts.outcome import best_words
from wirespeed.report.facts.trust import headline
from wirespeed.results.runs import Entry, Run, remembered
from wirespeed.statistics.samples import FEWEST_BATCHES
from wirespeed.units import format_size

FEWER = " (memory holds no more)"
"""End of a definition whose size was measured with fewer messages than were asked for."""
MAX_NAMED = 3
RANGE = "a range"
ALIKE = 1.02
"""Launches that differ by less are alike, and not worth a line."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Columns and marks of a run's tables, which a legend has to explain."""

    spread: bool = False
    """Intervals have a column."""
    extremes: bool = False
    """The fastest sample and the 99th percentile, or the launches' range, have columns."""
    stars: bool = False
    """The fastest paths are starred, rather than named in columns of their own."""
    compact: bool = False
    """Paths have one column each."""
    wide: tuple[str, ...] = ()
    """Signs of a wide interval, of which there is no column: RANGE, or FAR_OFF before the figure."""


@remembered
def legend(run: Run, layout: Layout) -> list[str]:
    """Definition, unit, interval, marks, columns, limits: a line each; none where no figure can be true."""
    if not (entries := list(run.entries.values())):
        return []
    columns = [column.explained for column in figure_columns(run) if column.explained]
    return [
        _head(run, entries),
        *_intervals(run, entries, layout),
        *_marks(run, layout),
        *markers.explained(run),
        *_mpi_costs(run),
        *columns,
        *_limits(run),
    ]


@remembered
def brief(run: Run, layout: Layout, fewer: str = "") -> list[str]:
    """Of the legend what no table is read without: its marks in one line, and its definition in the last.

    `fewer`: how many of the sizes it shows.
    """
    if not (entries := list(run.entries.values())):
        return []
    marks = "; ".join([*_marks(run, layout), *speeds(entries)])
    cannot = (f"{path}: {reason}" for path, reason in incomparable(run))
    doubts = (marks, *markers.explained(run), *_unknown(run), *cannot, *_mpi_costs(run))
    return [
        *filter(None, doubts),
        "; ".join(filter(None, (_head(run, entries), fewer, "--explain says more"))),
    ]


def _head(run: Run, entries: Sequence[Entry]) -> str:
    """'one way: half of a round trip, median of 120 samples; GB = 1e9 bytes'."""
    counts = [entry.samples for entry in entries]
    if several := figures.launches(run.launches):
        of = f"median of {several}"
    elif _fixed(entries):
        of = f"{'mean' if all(entry.is_mean for entry in entries) else 'median'} of a fixed count"
    else:
        of = f"median of {ends(counts, '{:,}'.format)} samples" if any(counts) else "median"
    return f"{_defined(entries)}, {of}; GB = 1e9 bytes"


def _fixed(entries: Sequence[Entry]) -> bool:
    """Did --loops ask for them?"""
    return all(entry.stopped == "fixed" for entry in entries)


def _marks(run: Run, layout: Layout) -> list[str]:
    """What the marks of a table say of its figures, and its columns that compare two paths."""
    entries = run.entries.values()
    lines = [*_apart(run), *_only(run)] if run.launches > 1 else []
    if any(markers.sign(run, entry) == markers.NOT_REACHED for entry in entries):
        words = markers.not_reached(run.stopping)
        lines.append(f"{markers.NOT_REACHED} {words}, widest {figures.widest(markers.widest(entries))}")
    lines += _wide(run, layout)
    lacking = [entry for entry in entries if markers.mark(entry) == markers.NO_INTERVAL]
    few = f"fewer than {FEWEST_BATCHES} launches" if run.launches > 1 else "too few samples"
    for why in markers.without_interval(lacking):
        lines.append(f"{markers.NO_INTERVAL} no interval: {few if why == markers.FEW else why}")
    return [*lines, *_fastest(run, layout), *_ratios(run)]


def _ratios(run: Run) -> Iterator[str]:
    """'GPUDirect: times longer without it, aware-nogdr / aware; ≈ no difference'."""
    for what, alike in grouped((pair.what, pair) for pair in pairs(run)).items():
        known = [worth for pair in alike for size in run.sizes if (worth := pair.of(run, size))]
        unsure = any(not worth.certain and worth.share is not None for worth in known)
        same = f"; {markers.AS_FAST} no difference" if unsure else ""
        words = ", ".join(f"{pair.other} / {pair.path}" for pair in alike)
        yield f"{what}: times longer without it, {words}{same}"


STATED = ("network", "loopback")
"""Verdicts on wires whose drivers often do not report a rate."""


def _defined(entries: Sequence[Entry]) -> str:
    """Each definition once; of those that differ only in a number, that of the smallest size."""
    found: dict[str, str] = {}
    fewer = False
    for entry in sorted(entries, key=lambda entry: entry.bytes):
        text = entry.definition.replace(FEWER, "")
        fewer = fewer or text != entry.definition
        if text:
            found.setdefault(re.sub(r"\d+", "#", text), text)
    texts = list(found.values())
    if fewer and texts:
        texts[-1] += "; fewer messages where memory holds no more"
    return "; ".join(texts) or "one way: half of a round trip"


def _limits(run: Run) -> list[str]:
    """The equation behind each limit shown, and its source."""
    known = [(path, limit) for path in run.paths if (limit := run.ceiling(path))]
    found = together((f"{limit.equation} ({limit.source})", path) for path, limit in known)
    lines = [f"limit of {paths}: {text}" for paths, text in found]
    return [*lines, *_unknown(run, anyway=bool(lines))]


def _unknown(run: Run, *, anyway: bool = False) -> list[str]:
    """Paths without a limit, where stating the rate of a wire would give one; `anyway`: elsewhere, too."""
    seen = {path: evidence.verdict for (path, _), evidence in run.evidence.items()}
    unknown = [path for path in run.paths if path in seen and not run.ceiling(path)]
    stated = any(seen[path] in STATED for path in unknown)
    if not stated and not (anyway and unknown):
        return []
    how = " (state the rate of the wire: --link NAME=RATE)" if stated else ""
    return [f"limit of {', '.join(unknown)}: unknown{how}"]


def _intervals(run: Run, entries: Sequence[Entry], layout: Layout) -> Iterator[str]:
    """What is between the ends of an interval, and what else the table's columns have of the samples."""
    column = "95 % = half width of the " if layout.spread else ""
    interval = f"{column}95 % interval of the median"
    widest = markers.widest(entries)
    if layout.compact and all(entry.amount == entry.bytes for entry in entries):
        yield f"GB/s = bytes / {run.time_label}"
    if run.launches > 1:
        if widest is not None:
            yield (
                f"{interval}, from the launches' medians, widest {figures.widest(widest)}: it includes what "
                "launches differ by; more --launches make it narrower"
            )
        if layout.extremes:
            yield "min, max: the fastest and the slowest launch, by their medians"
        return
    if _fixed(entries):
        yield "no interval: --loops asks for one uninterrupted run of iterations"
        return
    told = [part for entry in entries for part in markers.parts(run, entry)]
    most = max((width for sign, width in told if not sign and width is not None), default=None)
    if run.stopping is None:
        yield f"{interval}, widest {figures.widest(widest)}"
    else:
        reached = most is None or most <= run.stopping.precision
        within = f"±{figures.percent(run.stopping.precision)}" if reached else figures.widest(most)
        where = "unless marked" if any(sign for sign, _ in told) else "everywhere"
        yield f"{interval}, within {within} {where}"
    if layout.extremes:
        yield "min: fastest sample; p99: 99 of 100 samples were faster"


def _wide(run: Run, layout: Layout) -> list[str]:
    """'a range or !: not within ±10 %', as far as the table and the lines of the best figures have these."""
    signs = {sign for entry in run.entries.values() for sign, _ in markers.parts(run, entry)}
    in_table = layout.wide if markers.FAR_OFF in signs else ()
    best = (headline(run), *(best_words(run, path) for path in run.paths))
    in_best = [markers.FAR_OFF] if any(markers.FAR_OFF in words for words in best) else []
    named = " or ".join(dict.fromkeys([*in_table, *in_best]))
    return [f"{named}{':' * (RANGE in named)} {markers.FAR_WORDS}"] if named else []


def _fastest(run: Run, layout: Layout) -> list[str]:
    if run.competing and layout.stars:
        domains = " or ".join(run.competing)
        return [f"{markers.FASTEST} fastest path for {domains} data, or as fast within the intervals"]
    if any(len(run.fastest(size, domain)) > 1 for domain in run.competing for size in run.sizes):
        return [f"{markers.AS_FAST} another path is as fast within the intervals"]
    return []


def _mpi_costs(run: Run) -> list[str]:
    """Which paths' difference is MPI's own time, and of which it is not."""
    named = [(f"{cost.path} - {cost.other}", cost) for cost in costs(run)]
    lines = [f"{name} is not what MPI adds: {cost.why_not}" for name, cost in named if cost.why_not]
    if known := [(name, cost) for name, cost in named if not cost.why_not]:
        text = ", ".join(name for name, _ in known)
        added = (cost.of(run, size) for _, cost in known for size in run.sizes)
        unsure = any(mark and not mark.certain and mark.half is not None for mark in added)
        same = f"; {markers.AS_FAST} no more than the 95 % interval" if unsure else ""
        lines.append(f"MPI adds: {text}, the same UCX without MPI{same}")
    return lines


def _apart(run: Run) -> list[str]:
    apart = max(run.entries.values(), key=_range)
    times = f"{_range(apart):.3g} times as long as the fastest"
    return [f"launches differ most for {_place(apart)}: the slowest takes {times}"] * (_range(apart) >= ALIKE)


def _only(run: Run) -> Iterator[str]:
    """'2 launches only: staged at 8 B'."""
    entries = (entry for entry in run.entries.values() if entry.launches < run.launches)
    for count, places in grouped((entry.launches, _place(entry)) for entry in entries).items():
        more = [f"and {len(places) - MAX_NAMED} more"] * (len(places) > MAX_NAMED)
        yield f"{figures.launches(count) or '1 launch'} only: {', '.join([*places[:MAX_NAMED], *more])}"


def _range(entry: Entry) -> float:
    """The slowest launch's time over that of the fastest."""
    medians = [launch_entry.seconds for launch_entry in entry.each]
    return max(medians) / min(medians)


def _place(entry: Entry) -> str:
    return f"{entry.path} at {format_size(entry.bytes)}"


def speeds(entries: Sequence[Entry]) -> list[str]:
    """'two speeds by turns: host at 4 MiB, 263 us or 413 us'; the same of what changed once or twice.

    What differs most stands for others.
    """
    told = []
    if both := [(entry, entry.times.speeds) for entry in entries if entry.times.speeds]:
        told.append(f"two speeds by turns: {_speeds(both)}")
    if once := [(entry, entry.times.changed) for entry in entries if entry.times.changed]:
        paths = ", ".join(dict.fromkeys(entry.path for entry, _ in once))
        told.append(
            f"measured for less than the period of its noise: {_speeds(once)}; other figures of {paths} may "
            "have seen one speed alone, and --max-time 2 or --launches 5 tells"
        )
    return told


def _speeds(found: Sequence[tuple[Entry, tuple[float, float]]]) -> str:
    """'host at 4 MiB, 263 us or 413 us, and 2 more'."""
    entry, both = max(found, key=lambda item: item[1][1] / item[1][0])
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    times = " or ".join(figures.time_of(entry, seconds) for seconds in both)
    return f"{entry.path} at {format_size(entry.bytes)}, {times}{more}"
