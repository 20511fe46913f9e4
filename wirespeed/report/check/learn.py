"""A starting site.toml, from what a healthy machine has shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from wirespeed._version import __version__
from wirespeed.paths import all_paths
from wirespeed.patterns import all_patterns
from wirespeed.report.check import health
from wirespeed.report.check.evaluate import interval
from wirespeed.report.export import labels
from wirespeed.report.export.labels import host, pattern
from wirespeed.report.facts import figures
from wirespeed.report.facts.machine import title
from wirespeed.report.facts.shares import share
from wirespeed.report.grouping import grouped
from wirespeed.results.coerce import text
from wirespeed.results.launches import launch
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics import comparison
from wirespeed.toml import written

CONFIDENCE = 0.99
"""Of a bound: a launch of a machine that has not changed breaks it less than once in 100."""
READ_AS_TIME = 16 << 10
"""Up to this many bytes people think of a message's time, beyond of its bandwidth."""
DIGITS = 3


def learn(runs: Sequence[Run], names: Sequence[str]) -> str:
    """The text of the file; what it asks for, the runs that it comes from reach."""
    measured = [run for run in runs if run.entries and not run.slowed]
    return "".join(f"{line}\n" for line in [*_head(measured, names), *_entries(measured)])


def _head(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    hosts = ", ".join(dict.fromkeys(filter(None, map(host, runs)))) or "an unknown host"
    seen = list(dict.fromkeys(map(title, runs)))
    if len(seen) > 3:
        seen[3:] = [f"and {len(seen) - 3} more runs"]
    return [
        f"# What {text(hosts)} must reach: wirespeed check --require THIS_FILE RESULTS.jsonl",
        f"# Learnt by wirespeed {__version__} from {text(', '.join(names))}:",
        *(f"#   {text(line)}" for line in seen),
        "#",
        "# An unchanged machine breaks a bound in less than one launch of 100, as far as the launches in",
        "# those files tell. After each bound: the median, its 95 % interval, the number of launches.",
        "# Loosen, tighten or remove lines.",
        "# Units: ns, us, ms, s; B/s, kB/s, MB/s, GB/s, TB/s (1e9), MiB/s, GiB/s; '% of limit' of the wires.",
    ]


def _entries(runs: Sequence[Run]) -> Iterator[str]:
    varied = _varied(runs)
    curves = grouped(
        ((pattern(run, entry), run.head.plan.ranks, _options(run, varied), entry.path), (run, one))
        for run, entry in labels.figures(runs)
        for one in entry.each
    )
    for (name, ranks, options, path), found in curves.items():
        sizes = grouped((entry.bytes, (run, entry)) for run, entry in found)
        lines = [_line(size, sizes[size]) for size in sorted(sizes)]
        yield ""
        if not (name in all_patterns() and any(path.partition(":")[0] == one.name for one in all_paths())):
            yield f"# {text(f'{name}, {path}')}: this version has no such pattern or path"
            continue
        if all(line.startswith("#") for line in lines):
            yield f"# {name}, {path}:"
        else:
            keys = {"pattern": written(name), "path": written(path), "ranks": ranks, "options": options}
            if any(run.head.plan.oversubscribe for run, _ in found):
                keys["oversubscribe"] = "true"
            keys |= health.learnt(found)
            yield "[[require]]"
            yield from (f"{key} = {value}" for key, value in keys.items() if value)
            yield "[require.sizes]"
        yield from lines


def _line(size: int, found: Sequence[tuple[Run, Entry]]) -> str:
    """'"1G" = "at least 387 GB/s"  # 394 GB/s (393 to 395), 1 launch, 88 % of limit'."""
    sure = [one for one in found if not one[1].contended]
    found = sure or found
    run, worst = max(found, key=lambda one: one[1].seconds)
    in_time = size <= READ_AS_TIME or not worst.amount
    seen = f"{interval(worst, in_time=in_time)}, "
    seen += f"{len(found)} launches, the slowest" if len(found) > 1 else "1 launch"
    limit = run.ceiling(worst.path)
    if (part := share(worst, limit)) is not None:
        seen += f", {figures.percent(round(part, 2))} of limit"
    ends = comparison.next_launch([launch(entry) for _, entry in sure], CONFIDENCE) if sure else None
    if ends is None:
        why = "ranks waited for CPUs, which makes no bound"
        why = why if worst.contended else "too few samples to derive a bound"
        return f'# "{figures.size_word(size)}": {seen}: {why}'
    longest = max(ends[1], worst.seconds)
    if in_time:
        bound = f"at most {_rounded(longest * 1e6, ROUND_CEILING)} us"
    else:
        bound = f"at least {_rounded(worst.amount / longest / 1e9, ROUND_FLOOR)} GB/s"
    start = f'"{figures.size_word(size)}" = "{bound}"'
    return f"{start:<36}# {seen}"


def _rounded(value: float, rounding: str) -> str:
    """Three significant digits, to the side that asks for less; no exponent."""
    return f"{Context(DIGITS, rounding).create_decimal_from_float(value):f}"


def _varied(runs: Sequence[Run]) -> set[tuple[str, str]]:
    """(pattern, option) of which these runs have several values: each bound must say whose it is."""
    seen = grouped(((pattern(run), name), repr(value)) for run in runs for name, value in run.options.items())
    return {key for key, values in seen.items() if len(set(values)) > 1}


def _options(run: Run, varied: Collection[tuple[str, str]]) -> str:
    """The pattern's options that are not the usual ones, or not the same in all runs, as TOML."""
    kind = all_patterns().get(pattern(run))
    usual = {one.key: one.default for one in kind.options} if kind else {}
    chosen = {name: value for name, value in run.options.items() if isinstance(value, bool | int | str)}
    told = [
        f"{name} = {written(value)}"
        for name, value in chosen.items()
        if name in usual and (value != usual[name] or (pattern(run), name) in varied)
    ]
    return f"{{{', '.join(told)}}}" if told else ""
