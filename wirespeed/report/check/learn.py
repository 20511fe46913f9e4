"""A starting site.toml, from what a healthy machine has shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from wirespeed._version import __version__
from wirespeed.judge.model import LaunchId, LaunchMedian
from wirespeed.judge.next_launch import FALSE_ALARMS, FEWEST_LAUNCHES, PAIR, Highest, highest_next
from wirespeed.paths import all_paths
from wirespeed.patterns import all_patterns
from wirespeed.report.check import health
from wirespeed.report.check.evaluate import interval
from wirespeed.report.check.requirements import LAUNCHES, MEDIAN
from wirespeed.report.facts import figures, labels
from wirespeed.report.facts.baselines import share_of_baseline
from wirespeed.report.facts.labels import host, pattern
from wirespeed.report.facts.machine import title
from wirespeed.report.facts.shares import share
from wirespeed.report.grouping import grouped
from wirespeed.results.coerce import text
from wirespeed.results.launches import launch
from wirespeed.results.runs import Entry, Run
from wirespeed.toml import written
from wirespeed.units import format_size, size_word

READ_AS_TIME = 16 << 10
"""Up to this many bytes people think of a message's time, beyond of its bandwidth."""
DIGITS = 4
MAX_LETTERS = 600
TOO_WIDE = 0.5
"""Half width of an interval, as a share of its median, beyond which a figure makes no bound."""
LOOSE = 2.0
"""Times the slowest median, from which on the bound's comment says so."""

_Curve = tuple[str, int, str, str]
"""Pattern, ranks, options, path."""


def learn(runs: Sequence[Run], names: Sequence[str], spread: float | None = None) -> str:
    """The text of the file; what it asks for, the runs that it comes from reach.

    `spread`: the standard deviation between launches, if it is known.
    """
    measured = [run for run in runs if run.figures and not run.slowed]
    lines = [*_head(measured, names, spread), *_entries(measured, spread), *_left_out(measured)]
    return "".join(f"{line}\n" for line in lines)


def _left_out(runs: Sequence[Run]) -> Iterator[str]:
    for run, entry in [(of_run, entry) for of_run in runs for entry in of_run.impossible.values()]:
        where = f"{pattern(run, entry)}, {entry.path} at {format_size(entry.bytes)}"
        yield f"# {text(f'{where}: impossible, which makes no bound: {entry.why_impossible}', MAX_LETTERS)}"


_ALARMS = figures.percent(FALSE_ALARMS)
_TWICE = (
    "# Two launches break a bound, one after the other (launches = 1: one does), or one that is three times",
    f"# as far from the usual. The next two of an unchanged machine break any in {_ALARMS} of cases; bounds",
    f"# in '% of contiguous' add at most {_ALARMS}.",
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


@dataclass(frozen=True)
class _Figure:
    """One path at one size, with each launch of it, and the bound that they make."""

    found: list[tuple[Run, Entry]]
    sure: list[tuple[Run, Entry]]
    """Without those of which nothing can be learnt."""
    slowest: float | None = None
    """Seconds that the next launch stays below."""
    usual: float | None = None
    """Seconds that it takes usually."""
    spread: float | None = None
    """Standard deviation between launches."""
    longest: float | None = None
    """Baseline's times that the next launch stays below."""

    @property
    def worst(self) -> tuple[Run, Entry]:
        """The slowest launch that counts."""
        return max(self.sure or self.found, key=lambda pair: pair[1].seconds)


@dataclass(frozen=True)
class _Learnt:
    """All bounds: they hold together, so they are derived together."""

    figures: dict[tuple[_Curve, int], _Figure]
    highest: Highest


def _learnt(curves: dict[_Curve, list[tuple[Run, Entry]]], spread: float | None) -> _Learnt:
    figures = {
        (curve, size): _Figure(each, [pair for pair in each if pair[1].sure])
        for curve, found in curves.items()
        for size, each in grouped((entry.bytes, (run, entry)) for run, entry in found).items()
    }
    of_curve = [curve for curve, _ in figures]
    highest = highest_next(
        [_side(figure, lambda _, entry: launch(entry)) for figure in figures.values()], of_curve, spread
    )
    # The spread of times is not that of shares.
    shares = [_side(figure, _beside_baseline) if spread is None else {} for figure in figures.values()]
    beside = highest_next(shares, of_curve)
    with_bounds = {
        key: replace(
            figure,
            slowest=bound,
            usual=highest.usual.get(at),
            spread=highest.spreads.get(at),
            longest=longest,
        )
        for at, ((key, figure), bound, longest) in enumerate(
            zip(figures.items(), highest.figures, beside.figures, strict=True)
        )
    }
    return _Learnt(with_bounds, highest)


def _side(
    figure: _Figure, launch_of: Callable[[Run, Entry], LaunchMedian | None]
) -> dict[LaunchId, LaunchMedian]:
    """By run and launch; one launch without an interval says nothing."""
    if _makes_no_bound(figure.worst[1]):
        return {}
    side: dict[LaunchId, LaunchMedian] = {}
    for number, (run, entry) in _numbered(figure.sure):
        if found := launch_of(run, entry):
            side[number, entry.run, entry.launch] = found
    return {} if len(side) == 1 and next(iter(side.values())).variance is None else side


def _beside_baseline(run: Run, entry: Entry) -> LaunchMedian | None:
    """Its time in units of the baseline's."""
    reached = share_of_baseline(run, entry)
    if reached is None or reached.uncertain:
        return None
    ends = (1 / reached.high, 1 / reached.low) if reached.low and reached.high else (None, None)
    return LaunchMedian(1 / reached.share, *ends)


def _numbered(found: Sequence[tuple[Run, Entry]]) -> Iterator[tuple[int, tuple[Run, Entry]]]:
    """Each with how many of the same run and launch came before it."""
    seen: Counter[tuple[str, int]] = Counter()
    for run, entry in found:
        yield seen[entry.run, entry.launch], (run, entry)
        seen[entry.run, entry.launch] += 1


def _entries(runs: Sequence[Run], spread: float | None) -> Iterator[str]:
    varied = _varied(runs)
    curves = grouped(
        ((pattern(run, entry), run.head.plan.ranks, _options(run, varied), entry.path), (run, launch_entry))
        for run, entry in labels.figures(runs)
        for launch_entry in entry.each
    )
    learnt = _learnt(curves, spread)
    if spread is None:
        yield from ("", f"{LAUNCHES} = {PAIR}")
    highest = learnt.highest
    if highest.machine is not None:
        yield f"{MEDIAN} = {_median(highest.machine, highest.machine_spread)}  # of the medians of all paths"
    for curve, found in curves.items():
        name, ranks, options, path = curve
        lines = [
            _line(size, learnt.figures[curve, size]) for size in sorted({entry.bytes for _, entry in found})
        ]
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
            if curve in highest.paths:
                median = _median(highest.paths[curve], highest.path_spreads.get(curve))
                keys[MEDIAN] = f"{median}  # of all sizes' times"
            yield "[[require]]"
            yield from (f"{key} = {value}" for key, value in keys.items() if value)
            yield "[require.sizes]"
        yield from lines


def _line(size: int, figure: _Figure) -> str:
    """'"1G" = "at least 387 GB/s"  # 394 GB/s (393 to 395), 1 launch, 88 % of limit'."""
    found = figure.sure or figure.found
    run, worst = figure.worst
    in_time = size <= READ_AS_TIME or not worst.amount
    seen = f"{interval(worst, in_time=in_time)}, "
    seen += f"{len(found)} launches, the slowest" if len(found) > 1 else "1 launch"
    limit = run.ceiling(worst.path)
    if (part := share(worst, limit)) is not None:
        seen += f", {figures.percent(round(part, 2))} of limit"
    if reached := share_of_baseline(run, worst):
        seen += f", {reached.percent} % of {reached.name}"
    doubt = _makes_no_bound(worst)
    bounds = [] if doubt or figure.slowest is None else [_bound(figure.slowest, figure, in_time=in_time)]
    if reached and figure.longest is not None:
        least = _rounded(100 / (figure.longest * (1 + 1e-9)), ROUND_FLOOR)
        bounds.append(f"at least {least} % of {reached.name}")
    if not bounds:
        why = "too few samples to derive a bound"
        if any(entry.precision is not None for _, entry in figure.sure):
            why = f"too few launches to derive a bound: {FEWEST_LAUNCHES} are needed, or --spread"
            if len(found) >= FEWEST_LAUNCHES:
                why = "launches differ too much to derive a bound"
        if doubt:
            why = f"{doubt}, which makes no bound"
        return f'# "{size_word(size)}": {seen}: {why}'
    start = f'"{size_word(size)}" = "{", ".join(bounds)}"'
    loose = ""
    if figure.slowest is not None and figure.slowest > LOOSE * worst.seconds:
        loose = f", {figures.ratio(figure.slowest / worst.seconds)} times that time"
    return f"{start:<68} # {seen}{loose}"


def _bound(slowest: float, figure: _Figure, *, in_time: bool) -> str:
    """'at most 16 us, usually 14 us (spread 1.2 %)', or the same of a bandwidth."""
    worst = figure.worst[1]
    # A bound is rounded when it is read, too.
    longest = max(slowest, worst.seconds) * (1 + 1e-9)
    if in_time:
        bound = f"at most {_rounded(longest * 1e6, ROUND_CEILING)} us"
        usual = f"{_rounded(figure.usual * 1e6, ROUND_CEILING)} us" if figure.usual else ""
        return bound + (f", usually {usual}{_spread(figure.spread)}" if usual else "")
    bound = f"at least {_rounded(worst.amount / longest / 1e9, ROUND_FLOOR)} GB/s"
    usual = _rounded(worst.amount / figure.usual / 1e9, ROUND_FLOOR) if figure.usual else ""
    return bound + (f", usually {usual} GB/s{_spread(figure.spread)}" if usual else "")


def _median(share: float, spread: float | None) -> str:
    most = _rounded(100 * share * (1 + 1e-9), ROUND_CEILING)
    return f'"at most {most} % of the usual{_spread(spread)}"'


def _spread(spread: float | None) -> str:
    return "" if spread is None else f" (spread {figures.percent(spread)})"


def _makes_no_bound(entry: Entry) -> str:
    """Why nothing can be learnt of a figure; empty where something can."""
    if entry.contended:
        return "ranks waited for CPUs"
    too_wide = entry.precision is not None and entry.precision > TOO_WIDE
    return f"its interval is wider than ±{figures.percent(TOO_WIDE)}" if too_wide else ""


def _rounded(value: float, rounding: str) -> str:
    """DIGITS significant digits, to the side that asks for less; no exponent."""
    return f"{Context(DIGITS, rounding).create_decimal_from_float(value):f}"


def _varied(runs: Sequence[Run]) -> set[tuple[str, str]]:
    """(pattern, option) of which these runs have several values: each bound must say whose it is."""
    seen = grouped(((pattern(run), name), repr(value)) for run in runs for name, value in run.options.items())
    return {key for key, values in seen.items() if len(set(values)) > 1}


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
