"""Requirements held against the figures of result files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.limits import Ceiling
from wirespeed.patterns import find_pattern
from wirespeed.report.check import health
from wirespeed.report.check.requirements import Requirement
from wirespeed.report.export.labels import conditions, pattern
from wirespeed.report.facts import figures, shares
from wirespeed.report.grouping import grouped
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate, format_size

FAILED, MISSING, UNKNOWN, DOUBTFUL = "failed", "missing", "unknown", "doubtful"
NOT_JUDGED, KEPT = "not judged", "kept"
WHATS = (FAILED, MISSING, UNKNOWN, DOUBTFUL, NOT_JUDGED, KEPT)
"""The worst first."""
BAD = (FAILED, MISSING, UNKNOWN)
IN_DOUBT = (DOUBTFUL, NOT_JUDGED)


@dataclass(frozen=True)
class Finding:
    """What came of one requirement, in one set of conditions."""

    requirement: Requirement
    what: str
    text: str
    far: float = 0.0
    """How many times the bound's time the figure's is, or the other way round; the more, the worse."""


@dataclass(frozen=True)
class RuleOutcome:
    """What came of one [[require]] of the file, with all its sizes; its rules on health are their own."""

    findings: Sequence[Finding]

    @property
    def what(self) -> str:
        """The worst of them."""
        return next(what for what in WHATS if any(one.what == what for one in self.findings))

    @property
    def worst(self) -> Finding:
        return max((one for one in self.findings if one.what == self.what), key=lambda one: one.far)

    def bad(self, *, strict: bool) -> bool:
        """`strict`: in doubt, yes. A rule of which nothing could be judged is not kept."""
        return bool(self.broken(strict=strict))

    def broken(self, *, strict: bool) -> Sequence[Finding]:
        """Those that do not hold."""
        if all(one.what == NOT_JUDGED for one in self.findings):
            return self.findings
        return [one for one in self.findings if one.what in BAD or (strict and one.what in IN_DOUBT)]


def rules(findings: Sequence[Finding]) -> list[RuleOutcome]:
    """Findings by the [[require]] that they belong to."""
    return [
        RuleOutcome(one) for one in grouped((_rule(found.requirement), found) for found in findings).values()
    ]


def _rule(one: Requirement) -> tuple[int, str]:
    return one.rule, one.bound.kind if one.bytes is None else ""


def check(requirements: Sequence[Requirement], runs: Sequence[Run]) -> list[Finding]:
    """In the file's order. Of several runs under the same conditions the last one counts."""
    return [finding for one in requirements for finding in _check(one, runs)]


def _check(one: Requirement, runs: Sequence[Run]) -> list[Finding]:
    fitting = [run for run in runs if _fits(one, run)]
    if one.bytes is None:
        kept = {conditions(run): run for run in fitting if one.path in run.paths}
        return [_judge_health(one, run) for run in kept.values()] or [_missing(one, fitting)]
    last = {conditions(run): run for run in fitting if (one.path, one.bytes) in run.entries}
    if not last:
        return [_missing(one, fitting)]
    size = one.bytes
    return [_judge(one, run, run.entries[one.path, size]) for run in last.values()]


def _fits(one: Requirement, run: Run) -> bool:
    # An option that an older file does not have was as it is by default.
    chosen = {option.key: option.default for option in find_pattern(one.pattern).options} | run.options
    return (
        pattern(run) == one.pattern
        and one.ranks in (None, run.head.plan.ranks)
        and all(chosen.get(name) == value for name, value in one.options.items())
        and not run.slowed
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


def _missing(one: Requirement, runs: Sequence[Run]) -> Finding:
    return Finding(one, MISSING, f"no figure{_why(one, runs)}")


def _judge_health(one: Requirement, run: Run) -> Finding:
    holds, text = health.judge(one.bound.kind, int(one.bound.value), run, one.path)
    where = conditions(run)
    return Finding(
        one,
        UNKNOWN if holds is None else KEPT if holds else FAILED,
        f"{one.bound.text}: {text}{f' ({where})' if where else ''}",
    )


def _judge(one: Requirement, run: Run, entry: Entry) -> Finding:
    bound, where = one.bound, conditions(run)
    suffix = f" ({where})" if where else ""
    figure = interval(entry, in_time=bound.kind == "time")
    wholes = (1.0, 1.0)
    if bound.kind == "share":
        limit = run.ceiling(entry.path)
        if limit is None:
            why = "the limit of this path is not known here, so no share of it can be checked"
            return Finding(one, UNKNOWN, f"{why}{suffix}")
        if why_not := _unjudged(limit, entry):
            return Finding(one, NOT_JUDGED, f"{figure}: {why_not}{suffix}")
        wholes = (limit.low or limit.rate, limit.high or limit.rate)
        figure += f", {figures.percent(entry.rate / limit.rate)} of {_between(limit)}"
        if shares.exceeds(entry, limit):
            return Finding(one, UNKNOWN, f"{figure}: a share above 100 % is impossible{suffix}")
    easy, hard = wholes if bound.least else wholes[::-1]
    # At least a rate is at most a time.
    slow_is_bad = bound.least == (bound.kind != "time")
    surely = _beyond(entry.low if slow_is_bad else entry.high, _seconds(one, entry, easy), slow_is_bad)
    beyond = _beyond(entry.seconds, _seconds(one, entry, hard), slow_is_bad)
    if entry.contended:
        # A rank that waits for a CPU is slower than it would be: what is too fast all the same surely is.
        beyond, surely = beyond or not slow_is_bad, surely and not slow_is_bad
    what = FAILED if surely else DOUBTFUL if beyond else KEPT
    waited = ", but ranks waited for CPUs" if entry.contended and what == DOUBTFUL else ""
    ratio = entry.seconds / _seconds(one, entry, easy)
    text = f"{figure}, {bound.text} wanted{waited}{suffix}"
    return Finding(one, what, text, ratio if slow_is_bad else 1 / ratio)


def _seconds(one: Requirement, entry: Entry, whole: float) -> float:
    """The bound as a time."""
    value = one.bound.value
    return value if one.bound.kind == "time" else entry.amount / (value * whole)


def _beyond(seconds: float, bound: float, slow_is_bad: bool) -> bool:
    return seconds > bound if slow_is_bad else seconds < bound


def _unjudged(limit: Ceiling, entry: Entry) -> str:
    """Why a share of this limit says nothing about the figure, if so."""
    if shares.share(entry, limit) is None:
        return f"the {shares.PROCESSORS[limit.wire]}'s caches can hold such messages, so memory is no limit"
    if limit.wire == "memory" and not limit.stated and not limit.low:
        return "the rate of memory was measured once, without an interval"
    return ""


def _between(limit: Ceiling) -> str:
    """'450 GB/s', or '10.2 GB/s (9.80 to 10.4)' of a measured one."""
    ends = f" ({format_rate(limit.low)} to {format_rate(limit.high)})" if limit.low else ""
    return f"{format_rate(limit.rate)} GB/s{ends}"


def interval(entry: Entry, *, in_time: bool) -> str:
    """'14.3 us (14.2 to 14.5)' or '351 GB/s (348 to 353)': the median and its interval."""
    if in_time:
        one, *ends = map(figures.microseconds, (entry.seconds, entry.low, entry.high))
    else:
        one, *ends = (format_rate(entry.amount / time) for time in (entry.seconds, entry.high, entry.low))
    launches = f", {count}" if (count := figures.launches(entry.launches)) else ""
    return f"{one} {'us' if in_time else 'GB/s'} ({' to '.join(ends)}{launches})"
