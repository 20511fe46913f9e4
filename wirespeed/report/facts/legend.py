"""Meaning of a table's columns and marks; each statement holds for every figure of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wirespeed.grouping import grouped, together
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
_COLUMN = "95 % = half width of the 95 % interval of the median"


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
    """Definition, unit, interval, marks: a line each; none where no figure can be true."""
    entries = list(run.entries.values())
    if not entries:
        return []
    columns = [column.explained for column in figure_columns(run) if column.explained]
    spoiled = markers.explained(run)
    what = _defined(entries)
    plain = all(entry.amount == entry.bytes for entry in entries)
    gb = f"GB = 1e9 bytes{f', GB/s = bytes / {run.time_label}' if layout.compact and plain else ''}"
    ratios = [*_fastest(run, layout), *_speedups(run), *_mpi_costs(run)]
    if several := figures.launches(run.launches):
        head = f"{what}, median of {several}, each with new processes; {gb}"
        return [head, *_launches_explained(run, layout), *columns, *spoiled, *ratios, *_limits(run)]
    if all(entry.stopped == "fixed" for entry in entries):
        counted, why = _fixed(entries)
        return [f"{what}, {counted}; {gb}", f"no interval: {why}", *columns, *ratios, *spoiled]
    counts = sorted(entry.samples for entry in entries)
    samples = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    head = f"{what}, median of {samples} samples per size; {gb}"
    lines = [head, *_intervals(run, entries, layout), *columns, *spoiled, *ratios, *_limits(run)]
    return [*lines, *(["min: fastest sample; p99: 99 of 100 samples were faster"] if layout.extremes else [])]


def _fixed(entries: Sequence[Entry]) -> tuple[str, str]:
    """What a figure of --loops is, and why it has no interval."""
    if all(entry.is_mean for entry in entries):
        return "mean of a fixed count", "the clock was read before and after all iterations, as --loops asks"
    return "median of a fixed count", "--loops asks for one uninterrupted run of iterations"


@remembered
def brief(run: Run, layout: Layout, fewer: str = "") -> list[str]:
    """The marks of this table and its definition, in as few words as tell them apart.

    `fewer`: how many of the sizes it shows.
    """
    entries = list(run.entries.values())
    if not entries:
        return []
    what, fixed = _defined(entries), all(entry.stopped == "fixed" for entry in entries)
    several = figures.launches(run.launches)
    middle = f"median of {several}" if several else _fixed(entries)[0] if fixed else "median"
    marks = [*_apart(run), *_fewer(run)] if several else [] if fixed else _marks(run, entries, layout)
    same = {True: f"; {markers.AS_FAST} no difference", False: ""}
    ratios = [f"{r.what}: times longer without it, {r.words}{same[r.unsure]}" for r in _ratios(run)]
    return [
        *filter(None, ["; ".join([*marks, *_fastest(run, layout), *ratios])]),
        *markers.explained(run),
        *_unknown(run),
        *(f"{path}: {reason}" for path, reason in incomparable(run)),
        *_mpi_costs(run),
        "; ".join(filter(None, (f"{what}, {middle}", "GB = 1e9 bytes", fewer, "--explain says more"))),
    ]


class _Ratios(NamedTuple):
    """Columns of ratios of one kind."""

    what: str
    """'GPUDirect'."""
    words: str
    """'aware-nogdr / aware'."""
    unsure: bool
    """Is one of them no sure difference?"""
    shares: list[float]
    """Half widths of their intervals."""


def _ratios(run: Run) -> Iterator[_Ratios]:
    for what, alike in grouped((pair.what, pair) for pair in pairs(run)).items():
        words = ", ".join(f"{pair.other} / {pair.path}" for pair in alike)
        known = [worth for pair in alike for size in run.sizes if (worth := pair.of(run, size))]
        unsure = any(not worth.certain and worth.share is not None for worth in known)
        yield _Ratios(what, words, unsure, [worth.share for worth in known if worth.share is not None])


def _marks(run: Run, entries: list[Entry], layout: Layout) -> list[str]:
    signs = {markers.sign(run, entry) for entry in entries}
    wanted = figures.percent(run.stopping.precision) if run.stopping else ""
    told = []
    if markers.NOT_REACHED in signs and run.stopping:
        limit = f"--max-time ({run.stopping.max_time:g} s)"
        told.append(f"{markers.NOT_REACHED} not within ±{wanted} in {limit}")
        told += _wide(run, layout)
        told.append(f"widest {figures.widest(markers.widest(entries))}")
    else:
        told += _wide(run, layout)
    told += speeds(entries)
    if markers.NO_INTERVAL in signs:
        told.append(f"{markers.NO_INTERVAL} too few samples for an interval")
    return told


STATED = ("network", "loopback")
"""Verdicts on wires whose drivers often do not report a rate."""


def _defined(entries: list[Entry]) -> str:
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


def _intervals(run: Run, entries: list[Entry], layout: Layout) -> list[str]:
    """How wide the intervals are; what is said of unmarked figures is true of each of them."""
    interval = _COLUMN if layout.spread else "95 % interval of the median"
    wanted = run.stopping.precision if run.stopping else None
    signs = {markers.sign(run, entry) for entry in entries}
    told = [part for entry in entries for part in markers.parts(run, entry)]
    unmarked = [width for sign, width in told if not sign]
    most = max((width for width in unmarked if width is not None), default=None)
    lines = []
    if wanted is None:
        lines.append(f"{interval}, widest {figures.widest(markers.widest(entries))}")
    else:
        reached = most is None or most <= wanted
        within = f"±{figures.percent(wanted)}" if reached else figures.widest(most)
        where = "unless marked" if any(sign for sign, _ in told) else "everywhere"
        lines.append(f"{interval}, within {within} {where}")
        if markers.NOT_REACHED in signs:
            limit = f" ({run.stopping.max_time:g} s)" if run.stopping else ""
            lines.append(
                f"{markers.NOT_REACHED} not within ±{figures.percent(wanted)} when --max-time{limit} was "
                f"over; the widest is {figures.widest(markers.widest(entries))}"
            )
        lines += _wide(run, layout)
    if markers.NO_INTERVAL in signs:
        lines.append(f"{markers.NO_INTERVAL} too few samples for an interval: more --max-time gives one")
    return lines


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


def _speedups(run: Run) -> list[str]:
    """What the columns of ratios divide by what, and how sure they are."""
    lines = []
    for ratios in _ratios(run):
        text = f"{ratios.what}: how many times longer it takes without: {ratios.words}"
        if ratios.shares:
            text += f"; the widest 95 % interval of these ratios is {figures.widest(max(ratios.shares))}"
        if ratios.unsure:
            text += f"; {markers.AS_FAST} where it includes 1: no difference"
        lines.append(text)
    return lines


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


def _launches_explained(run: Run, layout: Layout) -> list[str]:
    """The interval, the range, and where there are fewer launches: a line each."""
    lines = []
    if (most := markers.widest(run.entries.values())) is not None:
        column = "95 % = half width of the " if layout.spread else ""
        lines.append(
            f"{column}95 % interval of the median, from the launches' medians, widest "
            f"{figures.widest(most)}: it includes what launches differ by; more --launches make it narrower"
        )
    if layout.extremes:
        lines.append("min, max: the fastest and the slowest launch, by their medians")
    return [*lines, *_apart(run), *_fewer(run)]


def _apart(run: Run) -> list[str]:
    apart = max(run.entries.values(), key=_range)
    times = f"{_range(apart):.3g} times as long as the fastest"
    return [f"launches differ most for {_place(apart)}: the slowest takes {times}"] * (_range(apart) >= ALIKE)


def _fewer(run: Run) -> list[str]:
    entries = run.entries.values()
    fewer = grouped((entry.launches, _place(entry)) for entry in entries if entry.launches < run.launches)
    lines = []
    for count, places in fewer.items():
        more = [f"and {len(places) - MAX_NAMED} more"] * (len(places) > MAX_NAMED)
        lines.append(
            f"{figures.launches(count) or '1 launch'} only: {', '.join([*places[:MAX_NAMED], *more])}"
        )
    lacking = markers.without_interval(
        entry for entry in entries if markers.mark(entry) == markers.NO_INTERVAL
    )
    whys = (f"fewer than {FEWEST_BATCHES} launches" if why == markers.FEW else why for why in lacking)
    return [*lines, *(f"{markers.NO_INTERVAL} no interval: {why}" for why in whys)]


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
