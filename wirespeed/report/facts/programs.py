"""What a program's time says: of the limit, of its communication, and against one rank."""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.results.parts import ProgramTimes
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_seconds

WAYS = (("staged", "staged"), ("aware", "device pointers given to MPI"), ("gpu", "by the GPUs themselves"))
"""The three ways between GPUs that GPUDirect is about, by path."""
ALIKE = ("size", "scaling", "fp", "edges", "norm_every", "depth")
"""Options that make two runs the same program, whatever divides it."""


@dataclass(frozen=True)
class Parts:
    """A step's time beside what was measured with it; times in seconds, shares of 1; None: not known."""

    compute: float | None
    """Of the same kernels without transfers."""
    visible: float | None
    """Communication that the computation did not hide; 0 where the difference is within the intervals."""
    of_copy: float | None
    """A copy of the same array / the step."""
    efficiency: float | None
    """Against one rank: 1 where ranks cost nothing."""


def parts(run: Run, entry: Entry) -> Parts:
    """Of a program's figure."""
    facts = entry.program if isinstance(entry.program, ProgramTimes) else ProgramTimes()
    compute, copy = facts.compute, facts.copy
    visible = None
    if compute and run.head.plan.ranks > 1:
        hidden = entry.low <= (compute.high or compute.median)
        visible = 0.0 if hidden else entry.seconds - compute.median
    return Parts(
        compute=compute.median if compute else None,
        visible=visible,
        # The driver copies the halo and what aligns rows, too.
        of_copy=copy.median / entry.seconds * entry.bytes / (facts.copied_bytes or entry.bytes)
        if copy
        else None,
        efficiency=_efficiency(run, entry),
    )


def _efficiency(run: Run, entry: Entry) -> float | None:
    one = single(run, entry)
    if one is None:
        return None
    share = run.head.plan.ranks if run.options.get("scaling") == "strong" else 1
    return one.seconds / (share * entry.seconds)


def single(run: Run, entry: Entry) -> Entry | None:
    """The latest figure of the same program on one rank, in the same kind of memory and the same file."""
    wanted = {name: run.options.get(name) for name in ALIKE}
    for other in reversed(run.others):
        plan = other.head.plan
        same = plan.pattern == run.head.plan.pattern and plan.ranks == 1
        if same and {name: other.options.get(name) for name in ALIKE} == wanted:
            for one in other.entries.values():
                if one.memory_domain == entry.memory_domain:
                    return one
    return None


def constant(run: Run) -> str | None:
    """'viscosity 0.0698 sites^2/step measured, 0.0698 by theory: +0.02 %', of the path furthest from it."""
    found = [entry.program.constant for entry in run.entries.values() if entry.program]
    known = [one for one in found if one and one.theory]
    if not known:
        return None
    one = max(known, key=lambda each: abs(each.measured / each.theory - 1))
    off = 100 * (one.measured / one.theory - 1)
    return f"{one.name} {one.measured:.4g} {one.unit} measured, {one.theory:.4g} by theory: {off:+.2f} %"


def gpudirect(run: Run) -> str | None:
    """'a step takes 120 us staged, 37 us by the GPUs themselves: 3.24 times as fast', where known."""
    found = [
        (words, entry) for path, words in WAYS for entry in run.of_path(path) if entry.memory_domain == "GPU"
    ]
    if len(found) < 2:
        return None
    times = ", ".join(f"{format_seconds(entry.seconds)} {words}" for words, entry in found)
    first, last = found[0][1], min((entry for _, entry in found[1:]), key=lambda entry: entry.seconds)
    return f"a step takes {times}: {first.seconds / last.seconds:.2f} times as fast"
