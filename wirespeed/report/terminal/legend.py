"""What a table's columns and marks mean; each statement holds for every figure of the table."""

from __future__ import annotations

import re

from wirespeed.report.facts import figures, health, markers, mpi_cost, two_speeds
from wirespeed.report.facts.baselines import baselines
from wirespeed.report.facts.speedup import Pair, incomparable, pairs
from wirespeed.report.grouping import grouped
from wirespeed.report.terminal import launches_legend
from wirespeed.report.terminal.size_table import TableLayout
from wirespeed.results.runs import Entry, Run

FEWER = " (memory holds no more)"
"""End of a definition whose size was measured with fewer messages than were asked for."""
_COLUMN = "95 % = half width of the 95 % interval of the median"


def legend(run: Run, layout: TableLayout) -> list[str]:
    """Definition, unit, interval, marks: a line each; none where no figure can be true."""
    entries = list(run.entries.values())
    if not entries:
        return []
    sick = [health.LEGEND] if health.marked(run) else []
    what = "; ".join(_definitions(entries)) or "one way: half of a round trip"
    plain = all(entry.amount == entry.bytes for entry in entries)
    rate = f", GB/s = bytes / {run.time_label}" if layout.compact and plain else ""
    if several := figures.launches(run.launches):
        return [
            f"{what}, median of {several}, each with new processes; GB = 1e9 bytes{rate}",
            *launches_legend.explained(run, layout),
            *_compared(run),
            *sick,
            *_fastest(run, layout),
            *_speedups(run),
            *_mpi_costs(run),
            *_limits(run),
        ]
    if all(entry.stopped == "fixed" for entry in entries):
        return [
            f"{what}, mean over a fixed count of iterations; GB = 1e9 bytes{rate}",
            "no interval: the clock was read before and after all iterations, as --loops asks",
            *_compared(run),
            *_fastest(run, layout),
            *_speedups(run),
            *_mpi_costs(run),
            *sick,
        ]
    counts = sorted(entry.samples for entry in entries)
    samples = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    return [
        f"{what}, median of {samples} samples per size; GB = 1e9 bytes{rate}",
        *_intervals(run, entries, layout),
        *_compared(run),
        *sick,
        *_fastest(run, layout),
        *_speedups(run),
        *_mpi_costs(run),
        *_limits(run),
        *(["min: fastest sample; p99: 99 of 100 samples were faster"] if layout.extremes else []),
    ]


def brief(run: Run, layout: TableLayout, fewer: str = "") -> list[str]:
    """The marks of this table and its definition, in as few words as tell them apart.

    `fewer`: how many of the sizes it shows.
    """
    entries = list(run.entries.values())
    if not entries:
        return []
    what = "; ".join(_definitions(entries)) or "one way: half of a round trip"
    fixed = all(entry.stopped == "fixed" for entry in entries)
    several = figures.launches(run.launches)
    middle = f"median of {several}" if several else "mean of a fixed count" if fixed else "median"
    marks = launches_legend.brief(run) if several else [] if fixed else _marks(run, entries, layout)
    ratios = [f"{what}: times longer without it, {words}" for what, words in _ratios(run)]
    return [
        *filter(None, ["; ".join([*marks, *_fastest(run, layout), *ratios])]),
        *([health.LEGEND] if health.marked(run) else []),
        *_unknown(run),
        *(f"{path}: {reason}" for path, reason in incomparable(run)),
        *_mpi_costs(run),
        "; ".join(filter(None, (f"{what}, {middle}", "GB = 1e9 bytes", fewer, "--explain says more"))),
    ]


def _ratios(run: Run) -> list[tuple[str, str]]:
    """('GPUDirect', 'aware-nogdr / aware; ≈ no difference')."""
    found = grouped((pair.what, pair) for pair in pairs(run))
    return [
        (what, ", ".join(f"{pair.without} / {pair.path}" for pair in alike) + _same(run, alike))
        for what, alike in found.items()
    ]


def _same(run: Run, alike: list[Pair]) -> str:
    known = (worth for pair in alike for size in run.sizes if (worth := pair.worth(run, size)))
    unsure = any(not worth.certain and worth.share is not None for worth in known)
    return f"; {markers.AS_FAST} no difference" if unsure else ""


def _marks(run: Run, entries: list[Entry], layout: TableLayout) -> list[str]:
    signs = {markers.sign(run, entry) for entry in entries}
    wanted = figures.percent(run.stopping.precision) if run.stopping else ""
    told = []
    if markers.NOT_REACHED in signs and run.stopping:
        limit = f"--max-time ({run.stopping.max_time:g} s)"
        told.append(f"{markers.NOT_REACHED} not within ±{wanted} in {limit}")
        if _far_off(run, layout):
            told.append(f"a range: not within ±{figures.percent(markers.FAR)}")
        told.append(f"widest {figures.widest(markers.widest(entries))}")
    told += two_speeds.notes(entries)
    if markers.NO_INTERVAL in signs:
        told.append(f"{markers.NO_INTERVAL} too few samples for an interval")
    return ["; ".join(told)] if told else []


STATED = ("network", "loopback")
"""Verdicts on wires whose drivers often do not report a rate."""


def _definitions(entries: list[Entry]) -> list[str]:
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
    return texts


def _limits(run: Run) -> list[str]:
    """The equation behind each limit shown, and its source."""
    known = [(path, limit) for path in run.paths if (limit := run.ceiling(path))]
    found = grouped((f"{limit.equation} ({limit.source})", path) for path, limit in known)
    lines = [f"limit of {', '.join(paths)}: {text}" for text, paths in found.items()]
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


def _compared(run: Run) -> list[str]:
    """What shares of a baseline are shares of, how sure they are, and what preparing a list is."""
    lines = [
        f"of {name}: the time of the same bytes in one message, measured by turns with the lists, over "
        "theirs; ±: half its 95 % interval"
        for name in baselines(run)
    ]
    if any(entry.prepare_s for entry in run.entries.values()):
        lines.append(
            "to prepare: once for all iterations, a list's datatype, table on the GPU, arrays of a batch or "
            "buffers to pack in"
        )
    return lines


def _intervals(run: Run, entries: list[Entry], layout: TableLayout) -> list[str]:
    """How wide the intervals are; what is said of unmarked figures is true of each of them."""
    interval = _COLUMN if layout.spread else "95 % interval of the median"
    wanted = run.stopping.precision if run.stopping else None
    marks = {entry: markers.sign(run, entry) for entry in entries}
    signs = set(marks.values())
    most = markers.widest(entry for entry, sign in marks.items() if not sign)
    lines = []
    if wanted is None:
        lines.append(f"{interval}, widest {figures.widest(markers.widest(entries))}")
    else:
        reached = most is None or most <= wanted
        within = f"±{figures.percent(wanted)}" if reached else figures.widest(most)
        lines.append(f"{interval}, within {within} {'unless marked' if signs - {''} else 'everywhere'}")
        if markers.NOT_REACHED in signs:
            limit = f" ({run.stopping.max_time:g} s)" if run.stopping else ""
            far = f"a range is the interval of a figure that is not within ±{figures.percent(markers.FAR)}; "
            wider = far if _far_off(run, layout) else ""
            lines.append(
                f"{markers.NOT_REACHED} not within ±{figures.percent(wanted)} when --max-time{limit} was "
                f"over; {wider}the widest is {figures.widest(markers.widest(entries))}"
            )
    if markers.NO_INTERVAL in signs:
        lines.append(f"{markers.NO_INTERVAL} too few samples for an interval: more --max-time gives one")
    return [*lines, *two_speeds.notes(entries)]


def _far_off(run: Run, layout: TableLayout) -> bool:
    """Has the table, which has no intervals, a mark for a wide one?"""
    signs = (markers.sign(run, entry, graded=True) for entry in run.entries.values())
    return layout.compact and markers.FAR_OFF in signs


def _fastest(run: Run, layout: TableLayout) -> list[str]:
    if run.competing and layout.stars:
        domains = " or ".join(run.competing)
        return [f"{markers.FASTEST} fastest path for {domains} data, or as fast within the intervals"]
    if any(len(run.fastest(size, domain)) > 1 for domain in run.competing for size in run.sizes):
        return [f"{markers.AS_FAST} another path is as fast within the intervals"]
    return []


def _speedups(run: Run) -> list[str]:
    """What the columns of ratios divide by what, and how sure they are."""
    lines = []
    found = pairs(run)
    for what in dict.fromkeys(pair.what for pair in found):
        alike = [pair for pair in found if pair.what == what]
        ratios = ", ".join(f"{pair.without} / {pair.path}" for pair in alike)
        known = [worth for pair in alike for size in run.sizes if (worth := pair.worth(run, size))]
        shares = [worth.share for worth in known if worth.share is not None]
        text = f"{what}: how many times longer it takes without: {ratios}"
        if shares:
            text += f"; the widest 95 % interval of these ratios is {figures.widest(max(shares))}"
            if any(not worth.certain and worth.share is not None for worth in known):
                text += f"; {markers.AS_FAST} where it includes 1: no difference"
        lines.append(text)
    return lines


def _mpi_costs(run: Run) -> list[str]:
    """Which paths' difference is MPI's own time, and of which it is not."""
    known = mpi_cost.costs(run)
    lines = [f"{cost.path} - {cost.bare} is not what MPI adds: {why}" for cost, why in mpi_cost.unknown(run)]
    if known:
        text = ", ".join(f"{cost.path} - {cost.bare}" for cost in known)
        added = (cost.added(run, size) for cost in known for size in run.sizes)
        unsure = any(mark and not mark.certain and mark.half is not None for mark in added)
        same = f"; {markers.AS_FAST} no more than the 95 % interval" if unsure else ""
        lines.append(f"MPI adds: {text}, the same UCX without MPI{same}")
    return lines
