"""A starting site.toml, from what a healthy machine has shown."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from wirespeed._version import __version__
from wirespeed.report.check.evaluate import time_interval
from wirespeed.report.compare.verdicts import launch
from wirespeed.report.export.labels import host, pattern
from wirespeed.report.facts import figures
from wirespeed.report.facts.machine import title
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics import comparison
from wirespeed.units import format_rate

CONFIDENCE = 0.99
"""Of a bound: a launch of a machine that has not changed breaks it less than once in 100."""
READ_AS_TIME = 16 << 10
"""Up to this many bytes people think of a message's time, beyond of its bandwidth."""
DIGITS = 3
_WORD = ((40, "T"), (30, "G"), (20, "M"), (10, "K"))


def learn(runs: Sequence[Run], names: Sequence[str]) -> str:
    """The text of the file; what it asks for, the runs that it comes from reach."""
    measured = [run for run in runs if run.entries and not run.background]
    return "".join(f"{line}\n" for line in [*_head(measured, names), *_entries(measured)])


def _head(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    hosts = ", ".join(dict.fromkeys(filter(None, map(host, runs)))) or "an unknown host"
    seen = list(dict.fromkeys(title(run) for run in runs))
    more = [f"#   and {len(seen) - 3} more runs"] if len(seen) > 3 else []
    return [
        f"# What {hosts} must reach: wirespeed check --require THIS_FILE RESULTS.jsonl",
        f"# Learnt by wirespeed {__version__} from {', '.join(names)}:",
        *(f"#   {line}" for line in seen[:3]),
        *more,
        "#",
        "# Each bound lies where a launch of an unchanged machine comes less than once in 100, as far as the",
        "# launches in those files tell. Behind it: the median, its 95 % interval, how many launches.",
        "# Loosen, tighten or remove lines.",
        "# Units: ns, us, ms, s; B/s, kB/s, MB/s, GB/s, TB/s (1e9), MiB/s, GiB/s; '% of limit' of the wires.",
    ]


def _entries(runs: Sequence[Run]) -> Iterator[str]:
    curves: dict[tuple[str, int, str, str], dict[int, list[tuple[Run, Entry]]]] = {}
    varied = _varied(runs)
    for run in runs:
        ranks = run.head.plan.ranks
        for path in run.paths:
            for entry in run.of_path(path):
                key = (pattern(run, entry), ranks, _options(run, varied), path)
                curves.setdefault(key, {}).setdefault(entry.bytes, []).append((run, entry))
    for (name, ranks, options, path), sizes in curves.items():
        lines = [_line(size, found) for size, found in sorted(sizes.items())]
        yield ""
        if all(line.startswith("#") for line in lines):
            yield f"# {name}, {path}:"
            yield from lines
            continue
        yield "[[require]]"
        yield f'pattern = "{name}"'
        yield f'path = "{path}"'
        if ranks:
            yield f"ranks = {ranks}"
        if options:
            yield f"options = {{{options}}}"
        yield "[require.sizes]"
        yield from lines


def _line(size: int, found: Sequence[tuple[Run, Entry]]) -> str:
    """'"1G" = "at least 387 GB/s"  # 394 GB/s (393 to 395), 1 launch, 88 % of limit'."""
    entries = [entry for _, entry in found]
    worst = max(entries, key=lambda entry: entry.seconds)
    ends = comparison.next_launch([launch(entry) for entry in entries], CONFIDENCE)
    if ends is None:
        return f'# "{_word(size)}": {_seen(found, worst)}: too little to say what is usual'
    longest = max(ends[1], worst.seconds)
    if size <= READ_AS_TIME or not worst.amount:
        bound = f"at most {_rounded(longest * 1e6, up=True)} us"
    else:
        bound = f"at least {_rounded(worst.amount / longest / 1e9, up=False)} GB/s"
    start = f'"{_word(size)}" = "{bound}"'
    return f"{start:<36}# {_seen(found, worst)}"


def _seen(found: Sequence[tuple[Run, Entry]], worst: Entry) -> str:
    run = next(run for run, entry in found if entry is worst)
    many = f"{len(found)} launches, the slowest" if len(found) > 1 else "1 launch"
    if worst.bytes <= READ_AS_TIME or not worst.amount:
        text = time_interval(worst.seconds, worst.low, worst.high)
    else:
        ends = f"{format_rate(worst.amount / worst.high)} to {format_rate(worst.amount / worst.low)}"
        text = f"{format_rate(worst.rate)} GB/s ({ends})"
    limit = run.ceiling(worst.path)
    share = (
        f", {figures.percent(round(worst.rate / limit.rate, 2))} of limit" if limit and worst.amount else ""
    )
    return f"{text}, {many}{share}"


def _rounded(value: float, *, up: bool) -> str:
    """Three significant digits, to the side that asks for less; no exponent."""
    step = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    count = math.ceil(value / step) if up else math.floor(value / step)
    # What floating point has lost must not ask for more.
    count += (count * step < value) if up else -(count * step > value)
    return f"{count * step:.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def _varied(runs: Sequence[Run]) -> set[tuple[str, str]]:
    """(pattern, option) of which these runs have several values: each bound must say whose it is."""
    seen: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for name, value in run.options.items():
            seen.setdefault((pattern(run), name), set()).add(repr(value))
    return {key for key, values in seen.items() if len(values) > 1}


def _options(run: Run, varied: Collection[tuple[str, str]]) -> str:
    """The pattern's options that are not the usual ones, or not the same in all runs, as TOML."""
    from wirespeed.patterns import all_patterns

    kind = all_patterns().get(pattern(run))
    usual = {one.key: one.default for one in kind.options} if kind else {}
    chosen = {name: value for name, value in run.options.items() if value is not None}
    return ", ".join(
        f"{name} = {_toml(value)}"
        for name, value in chosen.items()
        if name in usual and (value != usual[name] or (pattern(run), name) in varied)
    )


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _word(size: int) -> str:
    """'64K', as --sizes takes it."""
    power, unit = next((one for one in _WORD if size and size % (1 << one[0]) == 0), (0, ""))
    return f"{size >> power}{unit}"
