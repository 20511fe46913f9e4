"""The table of many paths: a column a path, its time at small sizes and its bandwidth at large ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from wirespeed.report.facts import figures
from wirespeed.report.facts.markers import AS_FAST, FASTEST, NO_INTERVAL, TIMES, grade, share_style, winners
from wirespeed.report.facts.speedup import Pair, Worth, pairs
from wirespeed.report.terminal.grid import Column, Part, lines, width
from wirespeed.results.runs import Run
from wirespeed.units import format_rate, format_size

SPLIT = 64 << 10
"""Up to here a message's time says more, beyond it the bandwidth."""
FEW = 6
"""So few sizes are shown both ways, if they are above NO_RATE."""
NO_RATE = 1 << 10
_LONG_NAME = 5
_SPREAD = 8
"""Letters of a ratio's interval."""
_NONE = Text("- ", "dim")


TIME, RATE, SHARE = range(3)
"""What a row shows: each size's time or bandwidth, and of a bandwidth its share of the limit."""


@dataclass(frozen=True)
class _Row:
    size: int
    shows: int


def lay_out(console: Console, run: Run) -> list[Text]:
    """As few tables as fit; in the last one, or one of its own, what switching something off costs."""
    maker = _Maker(run)
    paths = _by_home(run)
    for extra in _extras(maker):
        whole = [maker.sizes, *maker.paths(paths), *extra]
        if width(whole) <= console.width:
            return [lines(whole, maker.parts, _rule(console))]
    return _folded(console, maker, paths)


def price_tables(console: Console, run: Run) -> list[Text]:
    """What switching something off costs, in a table of its own; none where nothing was."""
    maker = _Maker(run)
    if not maker.pairs:
        return []
    rows = {row.size: number for number, row in enumerate(maker.rows) if row.shows != SHARE}
    columns = [maker.sizes, *maker.prices(spread=True)]
    if width(columns) > console.width:
        columns = [maker.sizes, *maker.prices(spread=False)]
    return [lines(columns, [Part("", [rows[size] for size in sorted(rows)])], _rule(console))]


def _rule(console: Console) -> str:
    return "-" if console.options.ascii_only else "─"


def _extras(maker: _Maker) -> list[list[Column]]:
    """What stands at the right of the paths, as far as there is room."""
    fastest = maker.fastest()
    if not maker.pairs:
        return [fastest, []]
    wide, narrow = maker.prices(spread=True), maker.prices(spread=False)
    return [[*wide, *fastest], wide, [*narrow, *fastest], narrow]


def _folded(console: Console, maker: _Maker, paths: Sequence[str]) -> list[Text]:
    """Several tables of about as many paths each; prices beside the last ones, or below."""
    tables = [[maker.sizes, *maker.paths(paths)]]
    for blocks in range(1, len(paths) + 1):
        each = -(-len(paths) // blocks)
        parts = [paths[start : start + each] for start in range(0, len(paths), each)]
        tables = [[maker.sizes, *maker.paths(part)] for part in parts]
        if all(width(table) <= console.width for table in tables):
            break
    made = [lines(table, maker.parts, _rule(console)) for table in tables]
    if not maker.pairs:
        return made
    for spread in (True, False):
        beside = [*tables[-1], *maker.prices(spread=spread)]
        if width(beside) <= console.width:
            return [*made[:-1], lines(beside, maker.parts, _rule(console))]
    return [*made, *price_tables(console, maker.run)]


def _by_home(run: Run) -> list[str]:
    """Paths between CPUs first: those that compete stand side by side."""
    return sorted(run.paths, key=lambda path: _home(run, path) != "CPU")


def _home(run: Run, path: str) -> str:
    return next((entry.home for (name, _), entry in run.entries.items() if name == path), "")


class _Maker:
    """The columns of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        sizes = run.sizes
        few = len(sizes) <= FEW
        small = [size for size in sizes if few or size <= SPLIT]
        large = [size for size in sizes if size > (NO_RATE if few else SPLIT)]
        self._limits = {path: run.ceiling(path) for path in run.paths}
        limited = large if any(self._limits.values()) else []
        blocks = ((f"{run.way}, us", TIME, small), ("GB/s", RATE, large), ("% of limit", SHARE, limited))
        self.rows = [_Row(size, shows) for _, shows, block in blocks for size in block]
        self.pairs = pairs(run)
        self.parts = []
        for title, shows, _ in blocks:
            if numbers := [number for number, row in enumerate(self.rows) if row.shows == shows]:
                self.parts.append(Part(title, numbers))
        self._winners = {size: winners(run, size) for size in sizes}
        self._homes = {_home(run, path) for path in run.paths}
        self.sizes = Column(("size",), [Text(format_size(row.size)) for row in self.rows])

    def paths(self, paths: Sequence[str]) -> list[Column]:
        """A column a path; where both kinds of data are moved, they stand over their paths."""
        return [
            Column(
                tuple(f"{line} " for line in _broken(path)),
                [self._figure(path, row) for row in self.rows],
                group=f"{_home(self.run, path)} data" if len(self._homes) > 1 else "",
            )
            for path in paths
        ]

    def prices(self, *, spread: bool) -> list[Column]:
        """A column a pair: how many times longer it takes without."""
        return [
            Column(
                tuple(line + " " * (len(TIMES) + 1 + spread * _SPREAD) for line in _broken(pair.path)),
                [self._price(pair, row, spread=spread) for row in self.rows],
                group=pair.what,
            )
            for pair in self.pairs
        ]

    def fastest(self) -> list[Column]:
        """Whose figure is best, by name, for each kind of data that several paths move."""
        columns = []
        for home in self.run.contested:
            cells = []
            for row in self.rows:
                best = [] if row.shows == SHARE else self.run.fastest(row.size, home)
                name = best[0].path if best else ""
                cells.append(Text(f"{name} {AS_FAST}" if len(best) > 1 else name))
            columns.append(Column((f"{home} data",), cells, group="fastest", left=True))
        return columns

    def _figure(self, path: str, row: _Row) -> Text:
        entry = self.run.entries.get((path, row.size))
        if entry is None:
            failure = None if row.shows == SHARE else self.run.failure(path, row.size)
            return Text(f"{figures.SHORT.get(failure.what, failure.what)} ", "red") if failure else _NONE
        if row.shows == SHARE:
            limit = self._limits[path]
            if limit is None or not entry.amount:
                return _NONE
            share = entry.rate / limit.rate
            return Text(f"{100 * share:.0f} ", share_style(share))
        best = entry in self._winners[row.size]
        figure = format_rate(entry.rate) if row.shows == RATE else figures.microseconds(entry.seconds)
        sign = grade(entry)
        return Text.assemble(
            (sign, "yellow") if sign else " ",
            (figure, "bold green") if best else figure,
            (FASTEST, "green") if best else " ",
        )

    def _price(self, pair: Pair, row: _Row, *, spread: bool) -> Text:
        if row.shows == SHARE:
            return Text(" " * (len(TIMES) + 2 + spread * _SPREAD))
        worth = pair.worth(self.run, row.size)
        if worth is None:
            return Text("-".ljust(len(TIMES) + 2 + spread * _SPREAD), "dim")
        return price(worth, spread=spread)


def price(worth: Worth, *, spread: bool) -> Text:
    """'10.4x ±0.6 %'; '1.01x≈' where the figures do not differ beyond their intervals."""
    plain = worth.certain or worth.fixed
    sign = " " if plain else NO_INTERVAL if worth.share is None else AS_FAST
    cell = Text(f"{figures.ratio(worth.ratio)}{TIMES}{sign}", "" if plain else "dim")
    if spread:
        cell.append(f"{figures.spread(worth.share):>{_SPREAD}}", "dim")
    return cell


def _broken(name: str) -> tuple[str, ...]:
    """A long name on two lines, broken at a hyphen where that makes it narrowest."""
    places = [number + 1 for number, letter in enumerate(name) if letter == "-"]
    if len(name) <= _LONG_NAME or not places:
        return (name,)
    best = min(places, key=lambda place: max(place, len(name) - place))
    return (name[:best], name[best:])
