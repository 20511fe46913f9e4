"""Requirements held against the figures of result files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain

from wirespeed.grouping import grouped, size_range
from wirespeed.judge.bounds import WIDE
from wirespeed.judge.spreads import group_of
from wirespeed.patterns import find_pattern
from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.check import health
from wirespeed.report.check.requirements import BASELINE, MEDIAN, SOAK, Bound, Requirement
from wirespeed.report.facts import failures, figures, shares, soaks
from wirespeed.report.facts.figure_columns import share_of_baseline
from wirespeed.report.facts.labels import conditions, host, pattern
from wirespeed.results.model import Failure
from wirespeed.results.runs import IMPOSSIBLE, Entry, Run
from wirespeed.statistics.samples import median
from wirespeed.statistics.student import NORMAL_90, NORMAL_95, NORMAL_975, bounded_exp
from wirespeed.units import format_rate, format_size

FAILED, MISSING, KEPT = "failed", "missing", "kept"
WHATS = (FAILED, IMPOSSIBLE, MISSING, CANNOT_TELL, KEPT)
"""The worst first."""
GROSS = 3.0
"""A launch that is so many times as far from the usual breaks alone a bound that two must break; of a figure
also one that takes twice the time at least."""
BAD = (FAILED, IMPOSSIBLE, MISSING)
MOST_NAMED = 4
"""Sizes that were measured instead of one that was not."""


@dataclass(frozen=True)
class BoundOutcome:
    """Outcome of one requirement, in one set of conditions."""

    requirement: Requirement
    what: str
    text: str
    far: float = 0.0
    """Ratio of the figure's time to the bound's, or the other way round; the more, the worse."""
    smallest: float | None = None
    """Slowdown, as a share of the time, that a bound that holds finds in nine cases of ten.

    From the usual, if its spread is known; else from the time seen, as if launches differed no more than its
    interval."""
    where: str = ""
    """Conditions that differ from the defaults."""
    shares: tuple[float, float] | None = None
    """The time and the lower end of its interval over the usual time, where both are sure."""
    gross: bool = False
    """One launch suffices, if the bound needs two."""
    once: bool = False
    """One of the last two launches is beyond the bound, and one more would tell."""
    before: BoundOutcome | None = None
    """Outcome of the launch before, where two must break the bound."""
    hidden: bool = False
    """It is far from the usual, but the bound is further: launches differ too much to tell."""


@dataclass(frozen=True)
class RuleOutcome:
    """Outcome of one [[require]] of the file, with all its sizes; its rules on health are their own."""

    findings: Sequence[BoundOutcome]

    @property
    def what(self) -> str:
        """The worst of them."""
        return next(what for what in WHATS if any(finding.what == what for finding in self.findings))

    @property
    def worst(self) -> BoundOutcome:
        alike = (finding for finding in self.findings if finding.what == self.what)
        return max(alike, key=lambda finding: finding.far)

    def broken(self, *, strict: bool) -> Sequence[BoundOutcome]:
        """Findings that do not hold; `strict`: or that cannot be told."""
        bad = (*BAD, CANNOT_TELL) if strict else BAD
        return [finding for finding in self.findings if finding.what in bad]

    @property
    def unjudged(self) -> Sequence[BoundOutcome]:
        return [finding for finding in self.findings if finding.what == CANNOT_TELL]


def rules(findings: Sequence[BoundOutcome]) -> list[RuleOutcome]:
    """Findings by the [[require]] that they belong to; its impossible figures are an outcome of their own."""
    found: dict[tuple[int, str, bool], list[BoundOutcome]] = {}
    for finding in findings:
        asked = finding.requirement
        kind = asked.bound.kind if asked.bytes is None else ""
        found.setdefault((asked.rule, kind, finding.what == IMPOSSIBLE), []).append(finding)
    return [*map(RuleOutcome, found.values())]


def check(requirements: Sequence[Requirement], runs: Sequence[Run]) -> list[BoundOutcome]:
    """In the file's order. Of runs under the same conditions the last that was to measure it counts.

    Where a bound needs two launches, the last two of that run's host count.
    """
    runs = sorted(runs, key=lambda run: run.head.started)
    outcomes = {asked: _check(asked, runs) for asked in requirements if asked.bound.kind != MEDIAN}
    timed = (asked for asked in outcomes if asked.usual is not None and asked.bound.against_slow)
    sizes = [finding for asked in timed for finding in outcomes[asked]]
    found = (outcomes.get(asked) or _judge_medians(asked, sizes) for asked in requirements)
    return [*chain.from_iterable(found)]


def once_broken(findings: Sequence[BoundOutcome], requirements: Sequence[Requirement]) -> list[Requirement]:
    """All sizes of the rules of which one launch alone broke a bound: they must be measured again."""
    doubted = {finding.requirement.rule for finding in findings if finding.once}
    return [asked for asked in requirements if asked.rule in doubted]


def _judge_medians(asked: Requirement, sizes: Sequence[BoundOutcome]) -> list[BoundOutcome]:
    """The median over the rule's sizes, or those of its group, for each set of conditions."""
    of_rule = [
        finding
        for finding in sizes
        if finding.requirement.rule == asked.rule
        and asked.group in ("", group_of(finding.requirement.bytes or 0))
    ]
    medians = []
    for where, findings in grouped((finding.where, finding) for finding in of_rule).items():
        median = _median([finding.shares for finding in findings])
        before = _median([finding.before.shares if finding.before else None for finding in findings])
        latest, earlier = _judge_median(asked, where, median), before and _judge_median(asked, where, before)
        medians.append(_settled(latest, earlier))
    return medians


_Shares = tuple[float, float]
_LEAST_SHARE = 1e-12
"""What an interval that reaches down to no time counts as."""


def _median(shares: Sequence[_Shares | None]) -> _Shares | None:
    """None where fewer than half are known. Between two it is their geometric mean, as in what was learnt."""
    known = [share for share in shares if share is not None]
    if not known or 2 * len(known) < len(shares):
        return None
    times, lows = (
        bounded_exp(median(math.log(max(each, _LEAST_SHARE)) for each in column))
        for column in zip(*known, strict=True)
    )
    return times, lows


def _judge_median(asked: Requirement, where: str, shares: _Shares | None) -> BoundOutcome:
    bound, suffix = asked.bound, _bracketed(where)
    of = f" of {asked.group} messages" if asked.group else ""
    if shares is None:
        few = "more than half of its figures are missing or uncertain, or their ranks waited for CPUs"
        text = f"the median{of}, {bound.text} wanted{suffix}: {few}; measure again"
        return BoundOutcome(asked, CANNOT_TELL, text, where=where)
    time, low = shares
    what = FAILED if low > bound.value else CANNOT_TELL if time > bound.value else KEPT
    within = ", but its interval contains the bound" if what == CANNOT_TELL else ""
    hidden = what == KEPT and low > WIDE
    text = f"the median{of} is {100 * time:.4g} % of the usual, {bound.text} wanted{within}{suffix}"
    start = time if asked.spread is None else 1.0
    smallest = _found_at(asked, bound.value / start, time / low, time / low) if what == KEPT else None
    gross = low > 1 + GROSS * max(bound.value - 1, 0)
    return BoundOutcome(asked, what, text, time / bound.value, smallest, where, gross=gross, hidden=hidden)


def _check(asked: Requirement, runs: Sequence[Run]) -> list[BoundOutcome]:
    fitting = [run for run in runs if fits(asked, run)]
    if asked.bound.kind == SOAK:
        soaked = {conditions(run): run for run in fitting if soaks.of_path(run, asked.path)}
        return [_judge_soak(asked, run) for run in soaked.values()] or [
            BoundOutcome(asked, MISSING, f"no soak of {asked.path}: measure with --soak")
        ]
    alike = grouped((conditions(run), run) for run in fitting if _was_to_measure(asked, run))
    return [_judge_last(asked, found) for found in alike.values()] or [_missing(asked, fitting)]


def _judge_last(asked: Requirement, runs: Sequence[Run]) -> BoundOutcome:
    """The last run under some conditions; the last launches, where the bound needs several."""
    run, path = runs[-1], asked.path
    if asked.bytes is None:
        if path not in run.paths:
            return _missing(asked, [run])
        holds, text = health.judge(asked.bound.kind, int(asked.bound.value), run, path)
        what = CANNOT_TELL if holds is None else KEPT if holds else FAILED
        return BoundOutcome(asked, what, f"{asked.bound.text}: {text}{_bracketed(conditions(run))}")
    figure = path, asked.bytes
    entry = run.figures.get(figure)
    if entry is None:
        return _missing(asked, [run])
    if asked.launches == 1 or entry.impossible:
        return _judge(asked, run, entry)
    latest = max(launch.at for launch in entry.each)
    if failed := [failure for failure in run.failures if _costs(failure, figure) and failure.at > latest]:
        why = figures.failure_text(failed[-1])
        return BoundOutcome(asked, MISSING, f"no figure in the last launch: {why}")
    there = [run for run in runs if host(run) == host(runs[-1]) and figure in run.figures]
    found = [(run, launch) for run in there for launch in run.figures[figure].each]
    last_two = sorted(found, key=lambda pair: pair[1].at)[-2:]
    judged = [_judge(asked, run, launch) for run, launch in last_two]
    return _settled(judged[-1], judged[0] if len(judged) > 1 else None)


def _bracketed(where: str) -> str:
    """' (group=4)'; nothing of the usual conditions."""
    return f" ({where})" if where else ""


def _costs(failure: Failure, figure: tuple[str, int | None]) -> bool:
    return failure.path == figure[0] and failure.bytes in (None, figure[1])


def _settled(latest: BoundOutcome, before: BoundOutcome | None) -> BoundOutcome:
    """A bound that needs two launches is broken if both are beyond it, or one is grossly."""
    if latest.requirement.launches == 1:
        return latest
    latest = replace(latest, before=before)
    if latest.hidden and before and (before.hidden or before.what == FAILED):
        text = f"{latest.text}, but twice more than x {WIDE:g} of the usual: launches differ too much to tell"
        return replace(latest, what=CANNOT_TELL, text=text, smallest=None)
    failed_before = before is not None and before.what == FAILED
    if latest.what != FAILED or latest.gross:
        return replace(latest, once=latest.what == CANNOT_TELL and failed_before)
    if failed_before:
        return replace(latest, text=f"{latest.text}, in two launches")
    text = f"{latest.text}, but in one launch alone: measure again"
    return replace(latest, what=CANNOT_TELL, text=text, once=True)


def _was_to_measure(asked: Requirement, run: Run) -> bool:
    """A run that crashed before it had the figure hides that of an earlier one."""
    plan = run.head.plan
    if plan.soak:
        return False
    if (asked.path, asked.bytes) in run.figures:
        return True
    known = asked.path in run.paths or any(step.path == asked.path for step in run.steps)
    known = known or any(failure.path == asked.path for failure in run.failures)
    named = any(word == "all" or fnmatchcase(asked.path, word) for word in plan.paths)
    tried = known or named or (not plan.paths and run.interrupted)
    return tried and (asked.bytes is None or asked.bytes in plan.sizes)


def fits(asked: Requirement, run: Run) -> bool:
    """Is the rule on what this run measured?"""
    # An option that an older file does not have was as it is by default.
    usual = {option.key: option.default for option in find_pattern(asked.pattern).options}
    chosen = usual | run.options
    return (
        pattern(run) == asked.pattern
        and asked.ranks in (None, run.head.plan.ranks)
        and all(chosen.get(name) == value for name, value in asked.options.items())
        and not run.slowed
    )


def _why(asked: Requirement, runs: Sequence[Run]) -> str:
    """What is on record about a figure that is not there."""
    if not runs:
        given = " under these conditions" if asked.options or asked.ranks else ""
        return f": nothing was measured with {asked.pattern}{given}"
    for run in reversed(runs):
        for failure in reversed(run.failures):
            elsewhere = failure.whole_path and asked.path in run.paths
            if _costs(failure, (asked.path, asked.bytes)) and not elsewhere:
                return f": {figures.failure_text(failure)}"
    if runs[-1].interrupted:
        return ": the run did not end"
    sizes = sorted({size for run in runs for path, size in run.entries if path == asked.path})
    if len(sizes) > MOST_NAMED:
        return f": {asked.path} was measured at {len(sizes)} other sizes, {size_range(sizes)}"
    if sizes:
        return f": {asked.path} was measured at {', '.join(map(format_size, sizes))}"
    return f": {asked.path} was not measured"


def _missing(asked: Requirement, runs: Sequence[Run]) -> BoundOutcome:
    if why := next(filter(None, (failures.why_left_out(run, asked.path, asked.bytes) for run in runs)), None):
        return BoundOutcome(asked, CANNOT_TELL, f"no figure: {why}")
    return BoundOutcome(asked, MISSING, f"no figure{_why(asked, runs)}")


def _judge_soak(asked: Requirement, run: Run) -> BoundOutcome:
    """Every size of the path has had its messages, and none was wrong."""
    found, suffix = soaks.of_path(run, asked.path), _bracketed(conditions(run))
    if bad := [soak for soak in found if soak.wrong.total]:
        told = "; ".join(
            f"{soaks.wrong_words(soak)} of {soak.messages:,} messages at {format_size(soak.bytes)}"
            for soak in bad
        )
        return BoundOutcome(asked, FAILED, f"{told}{suffix}")
    if missing := soaks.lacking(run, asked.path):
        sizes = ", ".join(map(format_size, missing))
        failed = [failure for failure in run.failures if failure.path == asked.path]
        why = f": {failed[-1].text}" if failed else ""
        return BoundOutcome(asked, MISSING, f"no soak at {sizes}{why}{suffix}")
    least = min(found, key=lambda soak: soak.messages)
    text = f"{least.messages:,} messages at {format_size(least.bytes)}, none wrong"
    if least.messages < asked.bound.value:
        wanted = f"at least {int(asked.bound.value):,} wanted"
        return BoundOutcome(asked, FAILED, f"{text}: {wanted}{suffix}")
    return BoundOutcome(asked, KEPT, f"{text}, and no fewer at other sizes{suffix}")


@dataclass(frozen=True)
class _Comparison:
    """A time, and the ends of its interval, beside what the bound makes of it, in the same unit."""

    times: tuple[float, float, float]
    """Median, low, high."""
    bounds: tuple[float, float]
    """The bound if all that is not known is in favour of the figure, and if nothing is."""
    figure: str
    """As it is said."""
    uncertain: bool
    """Is its interval wider than ±100 %?"""
    both_wait: bool = False
    """Ranks that wait for a CPU make both sides slower."""


def _judge(asked: Requirement, run: Run, entry: Entry) -> BoundOutcome:
    bound, where = asked.bound, conditions(run)
    suffix = _bracketed(where)
    if entry.impossible:
        return BoundOutcome(asked, IMPOSSIBLE, f"no figure: {entry.why_impossible}{suffix}")
    compared = _of_baseline(bound, run, entry) if bound.kind == BASELINE else _compared(bound, run, entry)
    if isinstance(compared, str):
        return BoundOutcome(asked, CANNOT_TELL, f"{compared}{suffix}")
    (seconds, low, high), (easy, hard) = compared.times, compared.bounds
    slow_is_bad = bound.against_slow
    surely = low > easy if slow_is_bad else high < easy
    beyond = seconds > hard if slow_is_bad else seconds < hard
    if entry.contended:
        # A rank that waits for a CPU is slower than it would be: what is too fast all the same surely is.
        beyond = beyond or not slow_is_bad or compared.both_wait
        surely = surely and not slow_is_bad and not compared.both_wait
    what = FAILED if surely else CANNOT_TELL if beyond or compared.uncertain else KEPT
    waited = ", but ranks waited for CPUs" if entry.contended and what == CANNOT_TELL else ""
    ratio = seconds / easy
    across = beyond and what == CANNOT_TELL and not entry.contended and not compared.uncertain
    within = ", but its interval contains the bound" if across else ""
    word = "and" if waited else "but"
    wide = f", {word} its interval is wider than ±100 %" if compared.uncertain and what == CANNOT_TELL else ""
    text = f"{compared.figure}, {bound.text} wanted{waited}{within}{wide}{suffix}"
    if not slow_is_bad:
        return BoundOutcome(asked, what, text, 1 / ratio, where=where)
    over: _Shares | None = None
    if asked.usual is not None and not entry.contended and not entry.uncertain:
        usual = asked.usual if bound.kind == "time" else entry.amount / asked.usual
        over = seconds / usual, low / usual
    start = ratio / over[0] if over and asked.spread is not None else ratio
    smallest = None
    if what == KEPT and (over or asked.spread is None):
        smallest = _found_at(asked, 1 / start, seconds / low, math.sqrt(high / low))
    room = easy * over[1] / low - 1 if over else 0.0
    gross = over is not None and room > 0 and over[1] > 1 + max(GROSS * room, 1.0)
    hidden = what == KEPT and over is not None and over[1] > WIDE
    return BoundOutcome(asked, what, text, ratio, smallest, where, over, gross, hidden=hidden)


def _compared(bound: Bound, run: Run, entry: Entry) -> _Comparison | str:
    """The time beside that of the bound; a text says why a share of the limit cannot be told."""
    times, figure = (entry.seconds, entry.low, entry.high), interval(entry, in_time=bound.kind == "time")
    if bound.kind == "time":
        return _Comparison(times, (bound.value, bound.value), figure, entry.uncertain)
    wholes = (1.0, 1.0)
    if bound.kind == "share":
        limit = run.ceiling(entry.path)
        if limit is None:
            return "the limit of this path is not known here, so no share of it can be checked"
        if shares.share(entry, limit) is None:
            whose = shares.PROCESSORS[limit.wire]
            return f"{figure}: the {whose}'s caches can hold such messages, so memory is no limit"
        if limit.wire == "memory" and not limit.stated and not limit.low:
            return f"{figure}: the rate of memory was measured once, without an interval"
        wholes = (limit.low or limit.rate, limit.high or limit.rate)
        ends = f" ({format_rate(limit.low)} to {format_rate(limit.high)})" if limit.low else ""
        part = figures.percent(entry.rate / limit.rate)
        figure += f", {part} of {format_rate(limit.rate)} GB/s{ends}"
        if shares.exceeds(entry, limit):
            return f"{figure}: a share above 100 % is impossible"
    easy, hard = (entry.amount / (bound.value * whole) for whole in (wholes if bound.least else wholes[::-1]))
    return _Comparison(times, (easy, hard), figure, entry.uncertain)


def _of_baseline(bound: Bound, run: Run, entry: Entry) -> _Comparison | str:
    """The time in units of the baseline's."""
    reached = share_of_baseline(run, entry)
    if reached is None:
        return "nothing was measured beside it, so no share can be told"
    figure = f"{reached.percent} % of {reached.name}"
    if reached.low is None or reached.high is None:
        return f"{figure}: without an interval no share can be told{_launches(entry)}"
    limit = 1 / bound.value
    return _Comparison(
        (1 / reached.share, 1 / reached.high, 1 / reached.low),
        (limit, limit),
        f"{figure} ({100 * reached.low:.3g} to {100 * reached.high:.3g}{_launches(entry)})",
        reached.uncertain or (entry.launches == 1 and entry.uncertain),
        both_wait=True,
    )


def _found_at(asked: Requirement, room: float, below: float, half: float) -> float:
    """The slowdown with which the whole interval is beyond the bound in nine cases of ten, twice if need be.

    `room`: the bound over the time without it. `below`: the median over the lower end of its interval, which
    varies as the medians of launches do, at least by the standard error that the interval's `half` width, a
    factor, tells.
    """
    surely = NORMAL_90 if asked.launches == 1 else NORMAL_95
    deviation = max(asked.spread or 0.0, math.log(half) / NORMAL_975)
    return max(0.0, bounded_exp(math.log(room * below) + surely * deviation) - 1)


def interval(entry: Entry, *, in_time: bool) -> str:
    """'14.3 us (14.2 to 14.5 within this launch)' or '351 GB/s (348 to 353, 5 launches)'."""
    if in_time:
        name, *ends = map(figures.microseconds, (entry.seconds, entry.low, entry.high))
    else:
        name, *ends = (format_rate(entry.amount / time) for time in (entry.seconds, entry.high, entry.low))
    return f"{name} {'us' if in_time else 'GB/s'} ({' to '.join(ends)}{_launches(entry)})"


def _launches(entry: Entry) -> str:
    return f", {count}" if (count := figures.launches(entry.launches)) else " within this launch"
