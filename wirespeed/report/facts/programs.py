"""Statements from a program's time: on the limit, on its communication, and against one rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.facts.contrasts import Added
from wirespeed.report.facts.markers import doubts, sign
from wirespeed.results.contradictions import single
from wirespeed.results.parts import Interval, ProgramTimes
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import difference_interval
from wirespeed.units import format_seconds

WAYS = (("staged", "staged"), ("aware", "device pointers given to MPI"), ("gpu", "by the GPUs themselves"))
"""The three ways between GPUs that GPUDirect is about, by path."""
TELLS = 0.05
"""Half width of a difference's interval, as a share of the step, up to which 'about 0' says something."""


@dataclass(frozen=True)
class Parts:
    """A step's time beside what was measured with it; times in seconds, shares of 1; None: not known."""

    compute: float | None
    """Time of the same kernels without transfers."""
    visible: Added | None
    """The step less its computation; below 0 where the computation alone took longer."""
    of_copy: float | None
    """A copy of the same array / the step."""
    efficiency: float | None
    """Against one rank: 1 where ranks cost nothing."""
    step: float
    mark: str
    """Marks of the step; the efficiency has those of one rank's figure, too."""
    efficiency_mark: str

    @property
    def visible_words(self) -> tuple[str, str] | None:
        """('12.2 us', '±598 ns'), or that the interval includes both nothing and much of the step."""
        if self.visible is None:
            return None
        half = self.visible.half
        if half is not None and not self.visible.certain and half > TELLS * self.step:
            return CANNOT_TELL, ""
        return f"{self.mark}{self.visible.words}", self.visible.spread


def parts(run: Run, entry: Entry) -> Parts:
    """Parts of a program's figure."""
    facts = entry.program if isinstance(entry.program, ProgramTimes) else ProgramTimes()
    compute, copy, alone = facts.compute, facts.copy, single(run, entry)
    mark, copied = sign(run, entry), None
    if copy and not entry.uncertain:
        # The driver copies the halo and what aligns rows, too.
        copied = copy.median / entry.seconds * entry.bytes / (facts.copied_bytes or entry.bytes)
    sure = alone is not None and not (entry.uncertain or alone.uncertain)
    ranks = run.head.plan.ranks
    share = ranks if run.options.get("scaling") == "strong" else 1
    return Parts(
        compute=compute.median if compute else None,
        visible=_visible(entry, compute) if compute and ranks > 1 else None,
        of_copy=copied,
        efficiency=alone.seconds / (share * entry.seconds) if alone and sure else None,
        step=entry.seconds,
        mark=doubts(mark),
        efficiency_mark=doubts(mark, sign(run, alone)) if alone else "",
    )


def _visible(entry: Entry, compute: Interval) -> Added:
    low, high = compute.low, compute.high
    if entry.precision is None or low is None or high is None:
        return Added(entry.seconds - compute.median)
    step = entry.seconds, entry.low, entry.high
    return Added(*difference_interval(step, (compute.median, low, high)))


def lines(run: Run) -> Iterator[tuple[str, str]]:
    """What GPUDirect is worth, how near its physics is to theory, and where it converged."""
    if words := _gpudirect(run):
        yield "GPUDirect", words
    if words := _constant(run):
        yield "physics", words
    yield from _converged(run)


def _constant(run: Run) -> str | None:
    """'viscosity 0.0698 sites^2/step measured, 0.0698 by theory: +0.02 %', of the path furthest from it."""
    found = [entry.program.constant for entry in run.entries.values() if entry.program]
    known = [constant for constant in found if constant and constant.theory]
    if not known:
        return None
    constant = max(known, key=lambda each: abs(each.measured / each.theory - 1))
    off = 100 * (constant.measured / constant.theory - 1)
    measured = f"{constant.name} {constant.measured:.4g} {constant.unit} measured"
    return f"{measured}, {constant.theory:.4g} by theory: {off:+.2f} %"


def _converged(run: Run) -> Iterator[tuple[str, str]]:
    """('host until the norm is 0.0001', '164 steps in 12.3 ms, 75.0 us a step, 1.07 times that of fixed
    steps; norm 9.93e-05').
    """
    for entry in run.entries.values():
        found = entry.program.converged if entry.program else None
        if found and found.steps:
            step = found.times.median / found.steps
            left = "" if found.reached else ", all that --steps allows: not reached"
            ratio = f"{doubts(sign(run, entry))}{step / entry.seconds:.3g} times that of fixed steps"
            yield (
                f"{entry.path} until the norm is {found.until:g}",
                f"{found.steps} steps in {format_seconds(found.times.median)}{left}; "
                f"{format_seconds(step)} a step, {ratio}; norm {found.norm:.3g}",
            )


def _gpudirect(run: Run) -> str | None:
    """'a step takes 120 us staged, 37 us by the GPUs themselves: 3.24 times as fast', where known."""
    found = [(words, entry) for path, words in WAYS for entry in run.of_path(path) if not entry.uncertain]
    found = [(words, entry) for words, entry in found if entry.program and entry.memory_domain == "GPU"]
    if len(found) < 2:
        return None
    times = ", ".join(f"{sign(run, entry)}{format_seconds(entry.seconds)} {words}" for words, entry in found)
    first, last = found[0][1], min((entry for _, entry in found[1:]), key=lambda entry: entry.seconds)
    mark = doubts(sign(run, first), sign(run, last))
    return f"a step takes {times}: {mark}{first.seconds / last.seconds:.2f} times as fast"
