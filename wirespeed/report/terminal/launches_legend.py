"""What a table of several launches says of them: how far apart they are, and which figures have fewer."""

from __future__ import annotations

from wirespeed.report.facts import figures
from wirespeed.report.facts.markers import NO_INTERVAL, mark, widest
from wirespeed.report.grouping import grouped
from wirespeed.report.terminal.size_table import TableLayout
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import FEWEST_BATCHES
from wirespeed.units import format_size

MAX_NAMED = 3
ALIKE = 1.02
"""Launches that differ by less are alike, and not worth a line."""


def explained(run: Run, layout: TableLayout) -> list[str]:
    """The interval, the range, and where there are fewer launches: a line each."""
    lines = []
    if (most := widest(run.entries.values())) is not None:
        column = "95 % = half width of the " if layout.spread else ""
        lines.append(
            f"{column}95 % interval of the median, from the launches' medians, widest "
            f"{figures.widest(most)}: it includes what launches differ by; more --launches make it narrower"
        )
    if layout.extremes:
        lines.append("min, max: the fastest and the slowest launch, by their medians")
    return [*lines, *_apart(run), *_fewer(run)]


def brief(run: Run) -> list[str]:
    """The same in a line, if there is something to say."""
    told = [*_apart(run), *_fewer(run)]
    return ["; ".join(told)] if told else []


def _apart(run: Run) -> list[str]:
    apart = max(run.entries.values(), key=_range)
    times = f"{_range(apart):.3g} times as long as the fastest"
    return [f"launches differ most for {_place(apart)}: the slowest takes {times}"] * (_range(apart) >= ALIKE)


def _fewer(run: Run) -> list[str]:
    entries = run.entries.values()
    fewer = grouped((entry.launches, _place(entry)) for entry in entries if entry.launches < run.launches)
    lines = [
        f"{figures.launches(count) or '1 launch'} only: {_some(places)}" for count, places in fewer.items()
    ]
    unsure = any(mark(entry) == NO_INTERVAL for entry in entries)
    return [*lines, *([f"{NO_INTERVAL} fewer than {FEWEST_BATCHES} launches: no interval"] if unsure else [])]


def _range(entry: Entry) -> float:
    """The slowest launch's time over that of the fastest."""
    medians = [launch_entry.seconds for launch_entry in entry.each]
    return max(medians) / min(medians)


def _place(entry: Entry) -> str:
    return f"{entry.path} at {format_size(entry.bytes)}"


def _some(places: list[str]) -> str:
    more = [f"and {len(places) - MAX_NAMED} more"] if len(places) > MAX_NAMED else []
    return ", ".join([*places[:MAX_NAMED], *more])
