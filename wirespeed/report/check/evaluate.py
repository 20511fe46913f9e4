"""Requirements held against the figures of result files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.limits.ceilings import impossible
from wirespeed.patterns import find_pattern
from wirespeed.report.check.requirements import Requirement
from wirespeed.report.export.labels import conditions, pattern
from wirespeed.report.facts import figures
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

FAILED, MISSING, UNKNOWN, DOUBTFUL, KEPT = "failed", "missing", "unknown", "doubtful", "kept"
BAD = (FAILED, MISSING, UNKNOWN)


@dataclass(frozen=True)
class Finding:
    """What came of one requirement, in one set of conditions."""

    requirement: Requirement
    what: str
    text: str

    def bad(self, *, strict: bool) -> bool:
        """`strict`: in doubt, yes."""
        return self.what in BAD or (strict and self.what == DOUBTFUL)


def check(requirements: Sequence[Requirement], runs: Sequence[Run]) -> list[Finding]:
    """In the file's order. Of several runs under the same conditions the last one counts."""
    return [finding for one in requirements for finding in _check(one, runs)]


def _check(one: Requirement, runs: Sequence[Run]) -> list[Finding]:
    fitting = [run for run in runs if _fits(one, run)]
    last = {conditions(run): run for run in fitting if (one.path, one.bytes) in run.entries}
    if not last:
        return [Finding(one, MISSING, f"no figure{_why(one, fitting)}")]
    return [_judge(one, run, run.entries[one.path, one.bytes]) for run in last.values()]


def _fits(one: Requirement, run: Run) -> bool:
    # An option that an older file does not have was as it is by default.
    chosen = {option.key: option.default for option in find_pattern(one.pattern).options} | run.options
    return (
        pattern(run) == one.pattern
        and one.ranks in (None, run.head.plan.ranks)
        and all(chosen.get(name) == value for name, value in one.options.items())
        and not run.background
    )


def _why(one: Requirement, runs: Sequence[Run]) -> str:
    """What is on record about a figure that is not there."""
    if not runs:
        given = " under these conditions" if one.options or one.ranks else ""
        return f": nothing was measured with {one.pattern}{given}"
    for run in reversed(runs):
        for failure in reversed(run.failures):
            elsewhere = failure.whole_path and one.path in run.paths
            if failure.path == one.path and not elsewhere and failure.bytes in (None, one.bytes):
                return f": {figures.failure_text(failure)}"
    sizes = sorted({size for run in runs for path, size in run.entries if path == one.path})
    if sizes:
        return f": {one.path} was measured at {', '.join(map(format_size, sizes))}"
    return f": {one.path} was not measured"


def _judge(one: Requirement, run: Run, entry: Entry) -> Finding:
    bound, where = one.bound, conditions(run)
    suffix = f" ({where})" if where else ""
    figure = interval(entry, in_time=bound.kind == "time")
    whole = 1.0
    if bound.kind == "share":
        limit = run.ceiling(entry.path)
        if limit is None:
            why = "the limit of this path is not known here, so no share of it can be checked"
            return Finding(one, UNKNOWN, f"{why}{suffix}")
        whole = limit.rate
        figure += f", {figures.percent(entry.rate / whole)} of {format_rate(whole)} GB/s"
        if impossible(entry.rate / whole):
            return Finding(one, UNKNOWN, f"{figure}: a share above 100 % is impossible{suffix}")
    seconds = bound.value if bound.kind == "time" else entry.amount / (bound.value * whole)
    # At least a rate is at most a time.
    if bound.least == (bound.kind != "time"):
        beyond, surely = entry.seconds > seconds, entry.low > seconds
    else:
        beyond, surely = entry.seconds < seconds, entry.high < seconds
    what = FAILED if surely else DOUBTFUL if beyond else KEPT
    return Finding(one, what, f"{figure}, {bound.text} wanted{suffix}")


def interval(entry: Entry, *, in_time: bool) -> str:
    """'14.3 us (14.2 to 14.5)' or '351 GB/s (348 to 353)': the median and its interval."""
    if in_time:
        one, *ends = map(figures.microseconds, (entry.seconds, entry.low, entry.high))
    else:
        one, *ends = (format_rate(entry.amount / time) for time in (entry.seconds, entry.high, entry.low))
    launches = f", {count}" if (count := figures.launches(entry.launches)) else ""
    return f"{one} {'us' if in_time else 'GB/s'} ({' to '.join(ends)}{launches})"
