"""The columns of figures beyond time and bandwidth: each declared once, for every table and its legend.

A table that gives each path several columns, one that gives it a row of its single column, the page and
Markdown render whatever is declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from wirespeed.judge.model import UNSEEN_SPREAD, over_launches
from wirespeed.paths import all_paths
from wirespeed.patterns import all_patterns
from wirespeed.report.facts import figures
from wirespeed.report.facts.figures import UNCERTAIN
from wirespeed.report.facts.markers import NO_INTERVAL, sign
from wirespeed.report.facts.wire_verdicts import FROM_DEVICE, TO_DEVICE
from wirespeed.results.launches import launch
from wirespeed.results.runs import Entry, Run, remembered
from wirespeed.statistics.samples import median, median_interval, ratio_interval
from wirespeed.units import format_seconds


@dataclass(frozen=True)
class ShareOfBaseline:
    """The baseline's time over the figure's, and the ends of its 95 % interval where both have one."""

    name: str
    share: float
    low: float | None = None
    high: float | None = None
    mark: str = ""
    """Mark of the figure."""

    @property
    def uncertain(self) -> bool:
        """Is the interval wider than ±100 %?"""
        return self.low is not None and self.high is not None and self.high - self.low > 2 * self.share

    @property
    def percent(self) -> str:
        """'97', '9.7', '0.97'."""
        number = 100 * self.share
        return f"{number:.0f}" if number >= 9.95 else f"{number:.1f}" if number >= 0.995 else f"{number:.2g}"

    def __str__(self) -> str:
        """'97 % ±1.2', in points of per cent, as far as there is an interval."""
        text = f"{self.percent} %"
        if self.low is None or self.high is None:
            return text
        half = 50 * (self.high - self.low)
        digits = ".0f" if half >= 9.95 else ".1f" if half >= 0.95 else ".1g"
        return f"{text} {UNCERTAIN}" if self.uncertain else f"{text} ±{half:{digits}}"


def share_of_baseline(run: Run, entry: Entry) -> ShareOfBaseline | None:
    """None where nothing that its pattern has as baseline was measured beside it, or either has no time."""
    base = entry.baseline
    pattern = all_patterns().get(entry.pattern)
    if not base or not entry.has_time or not base.seconds:
        return None
    if not pattern or base.name != pattern.timing.baseline:
        return None
    mark = sign(run, entry)
    if entry.launches > 1:
        # Both are slow in a slow launch: their ratio differs less than either.
        timed = (launch for launch in entry.each if launch.has_time)
        ratios = [launch.baseline.seconds / launch.seconds for launch in timed if launch.baseline]
        share = median(ratios)
        low, high = median_interval(ratios, share) or (None, None)
        return ShareOfBaseline(base.name, share, low, high, mark)
    if entry.precision is None or base.times.low is None or base.times.high is None:
        return ShareOfBaseline(base.name, base.seconds / entry.seconds, mark=mark)
    times = (base.seconds, base.low, base.high), (entry.seconds, entry.low, entry.high)
    return ShareOfBaseline(base.name, *ratio_interval(*times), mark)


def baselines(run: Run) -> list[str]:
    """Names of all baselines of a run's figures, each once."""
    return list(dict.fromkeys(entry.baseline.name for entry in run.entries.values() if entry.baseline))


@dataclass(frozen=True, kw_only=True)
class FigureColumn:
    """A column of figures, and its meaning."""

    head: str
    """One line or more."""
    cell: Callable[[Entry], str | None]
    """The value with its unit; None: the figure has none."""
    shown: Callable[[Sequence[Entry]], bool] | None = None
    """Does it say something of these figures? Default: where any of them has a cell."""
    explained: str = ""
    """Line of the legend."""
    drop: int = 0
    """Order in which columns leave a table that is too wide, the highest number first; 0 stays."""
    section: str = ""
    """Unit and name above the rows of a table with one column a path; empty: no such rows."""
    brief: Callable[[Entry], str | None] | None = None
    """The value in such a row, whose section has the unit. Default: the cell."""
    mark: Callable[[Entry], str] | None = None
    """Sign after the value in such a row."""

    @property
    def title(self) -> str:
        """The head in one line: 'of contiguous'; of 'blocks' in 'blocks/s' the unit."""
        words = self.head.replace("-\n", "").replace("\n", " ").strip()
        name, _, unit = words.rpartition(" ")
        return unit if name and unit.startswith(f"{name}/") else words

    def is_shown(self, entries: Collection[Entry]) -> bool:
        if self.shown:
            return self.shown([*entries])
        return any(self.cell(entry) is not None for entry in entries)


def _over_launches(entry: Entry) -> str | None:
    """Of a single launch, where CPUs move the bytes."""
    name = entry.path.partition(":")[0]
    # A file may name paths that are not known here.
    moved = any(path.cpu_moves for path in all_paths() if path.name == name)
    if entry.launches > 1 or entry.uncertain or entry.contended or not moved:
        return None
    ends = over_launches(launch(entry))
    return figures.time_range(*ends) if ends else None


COLUMNS = (
    FigureColumn(
        head="many\nlaunches",
        cell=_over_launches,
        explained="many launches: 95 % interval of their median; where CPUs move the bytes, they differ by "
        f"{100 * UNSEEN_SPREAD:g} % (standard deviation), as --launches 5 shows, and one alone does not",
        drop=3,
    ),
    FigureColumn(
        head="to\nprepare",
        cell=lambda entry: format_seconds(entry.prepare_s) if entry.prepare_s else None,
        explained="to prepare: once for all iterations, a list's datatype, table on the GPU, arrays of a "
        "batch or buffers to pack in",
        drop=2,
        section="preparing a list, us",
        brief=lambda entry: figures.microseconds(entry.prepare_s) if entry.prepare_s else None,
    ),
)
"""Columns that are the same for every run."""


@remembered
def figure_columns(run: Run) -> list[FigureColumn]:
    """Columns that say something of this run, from left to right."""
    columns = (*_of_baselines(run), *COLUMNS, *_derived(run), *_copies(run))
    return [column for column in columns if column.is_shown(run.entries.values())]


def _of_baselines(run: Run) -> Iterator[FigureColumn]:
    def share(name: str, entry: Entry) -> ShareOfBaseline | None:
        found = share_of_baseline(run, entry)
        return found if found and found.name == name else None

    def cell(name: str, entry: Entry) -> str | None:
        return str(found) if (found := share(name, entry)) else None

    def brief(name: str, entry: Entry) -> str | None:
        return found.percent if (found := share(name, entry)) else None

    def mark(name: str, entry: Entry) -> str:
        return NO_INTERVAL if (found := share(name, entry)) and found.uncertain else ""

    for name in baselines(run):
        yield FigureColumn(
            head=f"of\n{name}",
            cell=partial(cell, name),
            explained=f"of {name}: the time of the same bytes in one message, measured by turns with the "
            "lists, over theirs; ±: half its 95 % interval",
            section=f"% of {name}",
            brief=partial(brief, name),
            mark=partial(mark, name),
        )


def _derived(run: Run) -> Iterator[FigureColumn]:
    """Further figures of a pattern's samples (Figure.derived)."""

    def cell(name: str, unit: str, entry: Entry) -> str | None:
        each = (figure for figure in entry.derived if (figure.name, figure.unit) == (name, unit))
        value = next((figure.median for figure in each), None)
        return figures.quantity(value, unit) if value else None

    def shown(name: str, unit: str, entries: Sequence[Entry]) -> bool:
        return any((name, unit) in _names(entry) for entry in entries)

    for name, unit in dict.fromkeys(key for entry in run.entries.values() for key in _names(entry)):
        yield FigureColumn(
            head=f"{name}\n{'' if unit == 's' else unit}",
            cell=partial(cell, name, unit),
            shown=partial(shown, name, unit),
        )


def _copies(run: Run) -> Iterator[FigureColumn]:
    """Copies between GPU and host, by direction, of the rank with most."""

    def cell(kind: str, entry: Entry) -> str | None:
        seen = run.evidence.get((entry.path, entry.bytes))
        return str(max(seen.copies_of(kind))) if seen and seen.copies else None

    for kind, way in ((TO_DEVICE, "to"), (FROM_DEVICE, "from")) if run.traits.shown.counts_copies else ():
        yield FigureColumn(head=f"copies\n{way} device", cell=partial(cell, kind), drop=1)


def _names(entry: Entry) -> list[tuple[str, str]]:
    """(name, unit) of its derived figures."""
    return [(figure.name, figure.unit) for figure in entry.derived if figure.median is not None]
