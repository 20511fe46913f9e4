"""Sides of a comparison that are measured for it, launch after launch, until the verdicts are decided."""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wirespeed import frontend, inputs, interrupts
from wirespeed.cli.common.measuring import GO_ON
from wirespeed.cli.common.streams import note
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend.bound import LEAST_S, Bound
from wirespeed.host.process import end
from wirespeed.job.plan import Plan
from wirespeed.results.runs import Run, collect, resumed

if TYPE_CHECKING:
    from wirespeed.report.compare.comparison import Comparison

LOOKS = (3, 5, 10)
"""Launches of a side after which it is judged whether more are needed. Each look has its part of the false
alarms."""
SUSPICIOUS = 0.05
"""Probability of a change, by itself, that is measured on, although it is not named among all others."""
_VARIABLE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.ASCII)
_SAYS = "wirespeed: "
"""Begins the line in which its process says why it measures nothing."""
_POLL_S = 0.05


@dataclass
class MeasuredSide:
    """What a side measures, under which variables, and into which file."""

    name: str
    plans: list[Plan]
    file: str
    variables: Mapping[str, str] = field(default_factory=dict)
    launches: int = 0
    """So many have been measured."""

    @property
    def runs(self) -> list[Run]:
        from wirespeed.results.reading import read

        return resumed(collect(read(self.file).records)) if Path(self.file).exists() else []

    def measure(self, paths: Collection[str], seconds: float) -> None:
        """One more launch of these paths (none: all), of so many seconds at most (infinite: as planned).

        Raises WirespeedError where nothing could be measured, KeyboardInterrupt at Ctrl-C.
        """
        self.launches += 1
        for plan in self.plans:
            chosen = tuple(path for path in plan.paths if path in paths) if paths else plan.paths
            if chosen or not paths:
                whole = min(seconds / len(self.plans), plan.budget or math.inf)
                again = self.launches > 1 or plan is not self.plans[0]
                plan = replace(plan, paths=chosen, launches=self.launches, out=self.file, resume=again)
                plan = replace(plan, budget=whole if whole < math.inf else 0.0)
                self._run(plan)

    def _run(self, plan: Plan) -> None:
        """In a process of its own, which takes libraries and devices by these variables from the start on."""
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            process = subprocess.Popen(
                frontend.command(plan, plan.budget),
                env={**os.environ, **self.variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
            try:
                while process.poll() is None:
                    interrupts.sleep(_POLL_S)
            finally:
                end(process)
            log.seek(0)
            said = log.read()
        lines = [line for line in said.splitlines() if line.startswith(_SAYS)]
        if lines or process.returncode not in GO_ON:
            known = process.returncode in [*ExitCode]
            code = ExitCode(process.returncode) if known else ExitCode.FAILED_ENTRY
            why = lines[-1].removeprefix(_SAYS) if lines else f"it ended with exit code {process.returncode}"
            raise WirespeedError(f"{self.name}: {why}", code)


def planned_like(runs: Sequence[Run], name: str) -> list[Plan]:
    """What these runs measured, a plan for each kind of them. Raises WirespeedError where they do not say."""
    plans: dict[str, Plan] = {}
    for run in runs:
        plan = run.head.plan
        if run.foreign or not plan.pattern:
            raise WirespeedError(f"{name}: another tool's output does not say how to measure it again")
        paths, sizes = tuple(run.paths), tuple(sorted({size for _, size in run.figures}))
        if not sizes or run.slowed:
            continue
        before = plans.get(key := str(run.conditions))
        plans[key] = replace(
            plan,
            paths=tuple(dict.fromkeys([*(before.paths if before else ()), *paths])),
            sizes=tuple(sorted({*(before.sizes if before else ()), *sizes})),
            budget=plan.budget / plan.launches,
            **_ONCE,
            share_gpus=run.shared_gpus,
        )
    if not plans:
        raise WirespeedError(f"{name}: it has no figure that could be measured again")
    return [*plans.values()]


_ONCE: dict[str, Any] = {
    **dict.fromkeys(("picture", "timeline", "profile", "soak")),
    "timing": False,
    "fresh": 0,
}
"""A launch that is compared is measured, and nothing else."""


def variables(file: str) -> dict[str, str]:
    """NAME=VALUE lines, as a shell or 'docker --env-file' reads them. Raises WirespeedError."""
    found = {}
    try:
        text = inputs.text(file)
    except (OSError, ValueError) as error:
        raise WirespeedError(f"cannot read {file}: {inputs.why(error)}", ExitCode.CANNOT_WRITE) from None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _VARIABLE.fullmatch(line.strip())
        if not match:
            raise WirespeedError(f"{file}, line {number}: write NAME=VALUE, one on each line")
        try:
            found[match[1]] = "".join(shlex.split(match[2])) if match[2][:1] in ("'", '"') else match[2]
        except ValueError as error:
            raise WirespeedError(f"{file}, line {number}: {error}".lower()) from None
    return found


def measure_until_decided(
    sides: Sequence[MeasuredSide],
    judged: Callable[[float], Comparison],
    bound: Bound | None,
    say: Callable[[str], None],
) -> tuple[Comparison, bool]:
    """Launches by turns until all is decided, or LOOKS are over, or the time is.

    `judged`: the comparison as it is now, with that part of the false alarms. Also returns whether Ctrl-C
    came. A path that is decided is not measured again.
    """
    open_paths: set[str] = set()
    longest, part = 0.0, 1 / len(LOOKS)
    found: Comparison | None = None
    try:
        with interrupts.deferred():
            for launch in range(1, LOOKS[-1] + 1):
                if bound and launch > 1 and bound.left < max(longest * len(sides), LEAST_S):
                    note(f"launch {launch} is left out for {bound}")
                    break
                # Two in a row begin with each side by turns, so that an even drift slows neither more.
                order = sides if launch % 2 else sides[::-1]
                for number, side in enumerate(order):
                    say(f"launch {launch} of {side.name}{_paths(open_paths)}")
                    coming = len(sides) * max(LOOKS[0] - launch, 0) + len(sides) - number
                    began = time.monotonic()
                    side.measure(open_paths, bound.left / coming if bound else math.inf)
                    longest = max(longest, time.monotonic() - began)
                if launch in LOOKS:
                    say("the two sides are compared")
                    found = judged(part)
                    open_paths = set(undecided(found))
                    if not open_paths:
                        break
                else:
                    found = None
    except KeyboardInterrupt:
        if not all(side.runs for side in sides):
            raise
        return judged(part), True
    return found or judged(part), False


def _paths(names: Collection[str]) -> str:
    return f" ({', '.join(sorted(names))})" if names else ""


def undecided(found: Comparison) -> Iterator[str]:
    """Paths that further launches may tell of: too noisy, likely and not sure, or SUSPICIOUS and not named.

    Where no launch had its CPUs, or an interval, more of them tell no more.
    """
    from wirespeed.judge.verdict import BETTER, WORSE

    for group in found.verdicts.groups:
        change, named = group.change, group.what in (WORSE, BETTER)
        if change and not named and (group.reason or change.beyond_range or change.p < SUSPICIOUS):
            yield group.key.path
