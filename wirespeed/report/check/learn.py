"""A starting site.toml, from what a healthy machine has shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from wirespeed._version import __version__
from wirespeed.grouping import grouped, size_range
from wirespeed.judge.bounds import ENOUGH_LAUNCHES, WIDE, Limit, figure_limit, group_limit, known_limits
from wirespeed.judge.model import FEWEST_LEARNT, LaunchId, LaunchMedian, Side
from wirespeed.judge.spreads import Spread, group_of, groups, stated
from wirespeed.paths import all_paths, mover_of
from wirespeed.patterns import all_patterns
from wirespeed.report.check import health
from wirespeed.report.check.evaluate import interval
from wirespeed.report.check.requirements import LAUNCHES, MEDIAN
from wirespeed.report.facts import figures, labels
from wirespeed.report.facts.figure_columns import share_of_baseline
from wirespeed.report.facts.labels import host, pattern
from wirespeed.report.facts.machine import title
from wirespeed.report.facts.shares import share
from wirespeed.results.coerce import text
from wirespeed.results.launches import by_launch, launch
from wirespeed.results.runs import Entry, Run
from wirespeed.toml import written
from wirespeed.units import format_size, size_word

READ_AS_TIME = 16 << 10
"""Up to this many bytes people think of a message's time, beyond of its bandwidth."""
DIGITS = 4
MAX_LETTERS = 600
TOO_WIDE = 0.5
"""Half width of an interval, as a share of its median, beyond which a figure makes no bound."""
PAIR = 2
"""So many launches, one after the other, must break a bound: one alone may be late."""

_Curve = tuple[str, int, str, str]
"""Pattern, ranks, options, path."""


@dataclass(frozen=True)
class OddPlace:
    """A launch that lies apart from the others there; nothing is learnt from it."""

    launch: int
    """Number in the order of time, from 1."""
    path: str
    sizes: tuple[int, ...]
    ratio: float
    """Its time over that of the others."""
    of_group: bool
    """It is the median over these sizes that lies apart, not one figure."""


@dataclass(frozen=True)
class Site:
    """Bounds that a machine keeps."""

    text: str
    """The file; what it asks for, the launches that it comes from reach, but where they are odd."""
    odd: list[OddPlace]
    odd_lines: list[str]
    """The same for people, a line for each launch."""


def learn(runs: Sequence[Run], names: Sequence[str], spread: float | None = None) -> Site:
    """Bounds from these runs, of the files of these names.

    `spread`: the standard deviation between launches, if it is known.
    """
    measured = [run for run in runs if run.figures and not run.slowed]
    # Options of which these runs have several values: each bound must say whose it is.
    seen = grouped(((pattern(r), name), repr(value)) for r in measured for name, value in r.options.items())
    varied = {key for key, values in seen.items() if len(set(values)) > 1}
    curves = grouped(
        ((pattern(run, entry), run.head.plan.ranks, _options(run, varied), entry.path), (run, launch_entry))
        for run, entry in labels.figures(measured)
        for launch_entry in entry.each
    )
    paths = {curve: _Path(_by_size(found)) for curve, found in curves.items()}
    order = sorted(
        {(run.head.started, entry.run, entry.launch) for found in curves.values() for run, entry in found}
    )
    odd: list[OddPlace] = []
    if spread is None:
        numbers: dict[LaunchId, int] = {one[1:]: number for number, one in enumerate(order, 1)}
        of = sum(len(groups([*path.figures])) for path in paths.values())
        odd = [place for curve, path in paths.items() for place in path.learn(curve[3], numbers, of)]
    else:
        known = [figure for path in paths.values() for figure in path.figures.values() if figure.side()]
        limits = known_limits([figure.side() for figure in known], spread)
        for figure, limit in zip(known, limits, strict=True):
            figure.limit = limit
    told = _odd_lines(odd, [start for start, *_ in order])
    notes = [f"# {text(line, MAX_LETTERS)}" for line in told]
    lines = [*_head(measured, names, spread), *notes, *_entries(paths, spread), *_left_out(measured)]
    return Site("".join(f"{line}\n" for line in lines), odd, told)


def _left_out(runs: Sequence[Run]) -> Iterator[str]:
    for run, entry in [(of_run, entry) for of_run in runs for entry in of_run.impossible.values()]:
        where = f"{pattern(run, entry)}, {entry.path} at {format_size(entry.bytes)}"
        yield f"# {text(f'{where}: impossible, which makes no bound: {entry.why_impossible}', MAX_LETTERS)}"


_TWICE = (
    "# Two launches break a bound, one after the other (launches = 1: one does), or one that is three times",
    f"# as far from the usual. Fewer than {ENOUGH_LAUNCHES} launches do not show all they differ by; then",
    "# bounds allow for what launches of such paths differ by on other machines.",
)
_ONCE = (
    "# An unchanged machine breaks any of these bounds in one launch of 100 if launches differ by normal",
    "# noise; in up to three if single ones are late now and then, which few launches do not show.",
)


def _head(runs: Sequence[Run], names: Sequence[str], spread: float | None) -> list[str]:
    hosts = ", ".join(dict.fromkeys(filter(None, map(host, runs)))) or "an unknown host"
    seen = list(dict.fromkeys(map(title, runs)))
    if len(seen) > 3:
        seen[3:] = [f"and {len(seen) - 3} more runs"]
    return [
        f"# What {text(hosts)} must reach: wirespeed check --require THIS_FILE RESULTS.jsonl",
        f"# Learnt by wirespeed {__version__} from {text(', '.join(names))}:",
        *(f"#   {text(line)}" for line in seen),
        "#",
        *(_TWICE if spread is None else _ONCE),
        "# Spread: standard deviation between launches, larger where few launches tell it.",
        "# After each bound: the median, its 95 % interval, the number of launches.",
        "# Loosen, tighten or remove lines.",
        "# Units: ns, us, ms, s; B/s, kB/s, MB/s, GB/s, TB/s (1e9), MiB/s, GiB/s; '% of limit' of the wires;",
        "# '% of contiguous' of one message, of lists of blocks.",
    ]


@dataclass
class _Figure:
    """One path at one size."""

    found: list[tuple[Run, Entry]]
    """Each launch."""
    limit: Limit | None = None
    share: Limit | None = None
    """Limit of its time in units of the baseline's."""

    @property
    def sure(self) -> list[tuple[Run, Entry]]:
        """Without those of which nothing can be learnt."""
        return [pair for pair in self.found if pair[1].sure]

    @property
    def worst(self) -> tuple[Run, Entry]:
        """The slowest launch that counts."""
        return max(self.sure or self.found, key=lambda pair: pair[1].seconds)

    def side(self, launch_of: Callable[[Run, Entry], LaunchMedian | None] | None = None) -> Side:
        """One launch without an interval says nothing."""
        if _makes_no_bound(self.worst[1]):
            return {}
        found = ((entry, launch_of(run, entry) if launch_of else launch(entry)) for run, entry in self.sure)
        side = by_launch((entry, made) for entry, made in found if made)
        return {} if len(side) == 1 and next(iter(side.values())).variance is None else side


@dataclass
class _Path:
    """Figures of one path, by size, and the limits of its groups of sizes."""

    figures: dict[int, _Figure]
    groups: dict[str, Limit] = field(default_factory=dict)

    def learn(self, name: str, numbers: Mapping[LaunchId, int], of: int) -> Iterator[OddPlace]:
        """Sets the limits, from what launches and such paths differ by.

        `numbers`: of launches, in time; `of`: groups that are learnt together.
        """
        sizes = [*self.figures]
        mover = mover_of(name, self.figures[sizes[0]].found[-1][1].memory)
        for places in groups(sizes):
            group = {sizes[at]: self.figures[sizes[at]] for at in places}
            usual = stated(mover, min(group))
            for size, figure in group.items():
                figure.limit = figure_limit(figure.side(), usual)
                figure.share = figure_limit(figure.side(_beside_baseline), Spread(0.0, 0.0))
                yield from _odd_places(figure.limit, name, (size,), numbers)
            if whole := group_limit([figure.side() for figure in group.values() if figure.limit], usual, of):
                self.groups[group_of(min(group))] = whole
                yield from _odd_places(whole, name, tuple(group), numbers, of_group=True)


def _by_size(found: Sequence[tuple[Run, Entry]]) -> dict[int, _Figure]:
    sizes = grouped((entry.bytes, (run, entry)) for run, entry in found)
    return {size: _Figure(sizes[size]) for size in sorted(sizes)}


def _odd_places(
    limit: Limit | None,
    path: str,
    sizes: tuple[int, ...],
    numbers: Mapping[LaunchId, int],
    of_group: bool = False,
) -> Iterator[OddPlace]:
    for of_launch, ratio in limit.odd if limit else ():
        assert isinstance(of_launch, tuple)
        yield OddPlace(numbers[of_launch[:2]], path, sizes, ratio, of_group)


def _beside_baseline(run: Run, entry: Entry) -> LaunchMedian | None:
    """Its time in units of the baseline's."""
    reached = share_of_baseline(run, entry)
    if reached is None or reached.uncertain:
        return None
    ends = (1 / reached.high, 1 / reached.low) if reached.low and reached.high else (None, None)
    return LaunchMedian(1 / reached.share, *ends)


def _entries(paths: Mapping[_Curve, _Path], spread: float | None) -> Iterator[str]:
    if spread is None:
        yield from ("", f"{LAUNCHES} = {PAIR}")
    for (name, ranks, options, path), learnt in paths.items():
        found = [pair for figure in learnt.figures.values() for pair in figure.found]
        lines = [_line(figure, size) for size, figure in learnt.figures.items()]
        yield ""
        known = any(path.partition(":")[0] == known_path.name for known_path in all_paths())
        if name not in all_patterns() or not (known or any(run.foreign for run, _ in found)):
            yield f"# {text(f'{name}, {path}')}: this version has no such pattern or path"
            continue
        if all(line.startswith("#") for line in lines):
            yield f"# {name}, {path}:"
        else:
            keys = {"pattern": written(name), "path": written(path), "ranks": ranks, "options": options}
            if any(run.head.plan.oversubscribe for run, _ in found):
                keys["oversubscribe"] = "true"
            keys |= health.learnt(found)
            if learnt.groups:
                words = ", ".join(f"{group} = {_median(limit)}" for group, limit in learnt.groups.items())
                keys[MEDIAN] = f"{{{words}}}"
            yield "[[require]]"
            yield from (f"{key} = {value}" for key, value in keys.items() if value)
            yield "[require.sizes]"
        yield from lines


def _odd_lines(places: Sequence[OddPlace], starts: Sequence[str]) -> list[str]:
    """'launch 3 of 5, DATE, is 1.30 x the others (aware at 1 MiB to 1 GiB): ...'."""
    lines = []
    for which in sorted({place.launch for place in places}):
        own = [place for place in places if place.launch == which]
        # A figure that lies apart as its group does is no news.
        groups_ = {(place.path, size) for place in own if place.of_group for size in place.sizes}
        told = [one for one in own if one.of_group or (one.path, one.sizes[0]) not in groups_]
        most = max(told, key=lambda place: abs(math.log(place.ratio)))
        more = f", and {len(told) - 1} more" if len(told) > 1 else ""
        where = f"{most.path} at {size_range(most.sizes)}{more}"
        start = f", {starts[which - 1]}," if starts[which - 1] else ""
        lines.append(
            f"launch {which} of {len(starts)}{start} is {most.ratio:.2f} x the others ({where}): nothing is "
            "learnt from it there; leave it out, or measure again"
        )
    return lines


def _line(figure: _Figure, size: int) -> str:
    """'"1G" = "at least 387 GB/s"  # 394 GB/s (393 to 395), 1 launch, 88 % of limit'."""
    limit, found, (run, worst) = figure.limit, figure.sure or figure.found, figure.worst
    in_time = size <= READ_AS_TIME or not worst.amount
    seen = f"{interval(worst, in_time=in_time)}, "
    seen += f"{len(found)} launches, the slowest" if len(found) > 1 else "1 launch"
    if (part := share(worst, run.ceiling(worst.path))) is not None:
        seen += f", {figures.percent(round(part, 2))} of limit"
    if reached := share_of_baseline(run, worst):
        seen += f", {reached.percent} % of {reached.name}"
    doubt = _makes_no_bound(worst)
    bounds = [] if doubt or limit is None else [_bound(limit, worst, in_time=in_time)]
    if reached and figure.share:
        least = _rounded(100 / (figure.share.highest * (1 + 1e-9)), ROUND_FLOOR)
        bounds.append(f"at least {least} % of {reached.name}")
    if not bounds:
        why = "too few samples to derive a bound"
        if any(entry.precision is not None for _, entry in figure.sure):
            why = f"too few launches to derive a bound: {FEWEST_LEARNT} are needed, or --spread"
        if doubt:
            why = f"{doubt}, which makes no bound"
        return f'# "{size_word(size)}": {seen}: {why}'
    start = f'"{size_word(size)}" = "{", ".join(bounds)}"'
    loose = ""
    if limit and limit.highest > WIDE * limit.usual:
        loose = f", launches may differ by x {figures.ratio(limit.highest / limit.usual)}"
    return f"{start:<68} # {seen}{loose}"


def _bound(limit: Limit, worst: Entry, *, in_time: bool) -> str:
    """'at most 16 us, usually 14 us (spread 1.2 %)', or the same of a bandwidth."""
    # A bound is rounded when it is read, too.
    longest = limit.highest * (1 + 1e-9)
    spread = _spread(limit.spread)
    if in_time:
        bound = f"at most {_rounded(longest * 1e6, ROUND_CEILING)} us"
        return f"{bound}, usually {_rounded(limit.usual * 1e6, ROUND_CEILING)} us{spread}"
    bound = f"at least {_rounded(worst.amount / longest / 1e9, ROUND_FLOOR)} GB/s"
    return f"{bound}, usually {_rounded(worst.amount / limit.usual / 1e9, ROUND_FLOOR)} GB/s{spread}"


def _median(limit: Limit) -> str:
    most = _rounded(100 * limit.highest * (1 + 1e-9), ROUND_CEILING)
    return f'"at most {most} % of the usual{_spread(limit.spread)}"'


def _spread(spread: float) -> str:
    return f" (spread {figures.percent(spread)})"


def _makes_no_bound(entry: Entry) -> str:
    """Why nothing can be learnt of a figure; empty where something can."""
    if entry.contended:
        return "ranks waited for CPUs"
    too_wide = entry.precision is not None and entry.precision > TOO_WIDE
    return f"its interval is wider than ±{figures.percent(TOO_WIDE)}" if too_wide else ""


def _rounded(value: float, rounding: str) -> str:
    """DIGITS significant digits, to the side that asks for less; no exponent."""
    return f"{Context(DIGITS, rounding).create_decimal_from_float(value):f}"


def _options(run: Run, varied: Collection[tuple[str, str]]) -> str:
    """The pattern's options that are not the usual ones, or not the same in all runs, as TOML."""
    kind = all_patterns().get(pattern(run))
    usual = {option.key: option.default for option in kind.options} if kind else {}
    chosen = {name: value for name, value in run.options.items() if isinstance(value, bool | int | str)}
    told = [
        f"{name} = {written(value)}"
        for name, value in chosen.items()
        if name in usual and (value != usual[name] or (pattern(run), name) in varied)
    ]
    return f"{{{', '.join(told)}}}" if told else ""
