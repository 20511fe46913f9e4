"""Trials in job steps of their own: whether an MPI is GPU-aware, and how much a remedy improves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from wirespeed import launchers
from wirespeed.doctor import job, measured
from wirespeed.doctor.facts.model import MpiFact
from wirespeed.doctor.finding import Finding, Improvement, Trial
from wirespeed.doctor.job import Attempt, Base
from wirespeed.errors import WirespeedError
from wirespeed.host import gpu_aware_mpi, mpi
from wirespeed.job.cause import Cause, CauseKind
from wirespeed.results.findings import RemedyOption
from wirespeed.statistics import samples
from wirespeed.units import format_size

ASK_SECONDS = 30.0
WORKS = "works"
MARK = "wirespeed-ask:"
LAUNCHES = 2
"""Launches of each side of a trial: figures vary more from launch to launch than within one."""


def ask(library: mpi.Mpi, launcher: str = "auto") -> dict[str, Any]:
    """The MPI's own answers once one rank has started it; {} where it gives none."""
    variables = mpi.one_host_environment(library) | library.environment()
    variables |= gpu_aware_mpi.aware_environment(library)
    words = (sys.executable, str(Path(__file__).with_name("ask")))
    try:
        starter = launchers.choose(launcher, library)
        command = starter.command(library, launchers.Job(words, 1, (), variables))
        said, _ = job.run_process(command, {**os.environ, **variables}, ASK_SECONDS)
    except (OSError, subprocess.TimeoutExpired, WirespeedError):
        return {}
    marked = (line.partition(MARK)[2] for line in said.splitlines())
    try:
        found = json.loads(next(filter(None, marked), "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def with_outcome(fact: MpiFact, attempt: Attempt, where: str) -> MpiFact:
    """The fact with the outcome of a trial of path `aware`."""
    if attempt.what == WORKS:
        kind, text = WORKS, "moved and checked device memory up to " + format_size(max(attempt.entries))
    else:
        text = attempt.text.removeprefix(attempt.cause.mpi).lstrip(": ")
        kind = kind_of(attempt.cause)
    return structs.replace(fact, tried=kind, tried_text=text, where=where)


def kind_of(cause: Cause) -> str:
    """Kind of an MPI's failure; empty where no device pointer was passed: the ranks did not start, or
    something was missing."""
    if cause.kind in (CauseKind.NOT_STARTED, CauseKind.LACK):
        return ""
    return CauseKind.HANG.value if cause.hang else cause.kind


def answers(said: Mapping[str, Any]) -> dict[str, Any]:
    """A rank's report on the MPI that it loaded (wirespeed/doctor/ask), as members of an MpiFact."""
    if not said:
        return {}
    queries: dict[str, bool] = said.get("queries") or {}
    yes = next((name for name, value in queries.items() if value), None)
    says, text = (True, f"{yes}: yes") if yes else (None, "it has no MPIX_Query_cuda_support or the like")
    if queries and not yes:
        more = f" and {len(queries) - 1} more" if len(queries) > 1 else ""
        says, text = False, f"{next(iter(queries))}{more}: no"
    ucx, gpus = said.get("ucx"), " and ".join(said.get("ucx_gpu") or [])
    with_gpus = f"with {gpus}" if gpus else "without any GPU transport"
    return {
        "says": says,
        "says_text": text,
        "ucx": f"UCX {ucx} {with_gpus}" if ucx else "",
        "fabric": said.get("fabric") or "",
    }


def try_remedy(finding: Finding, trial: Trial, base: Base) -> Finding:
    """The finding with the measured improvement of its remedy."""
    if finding.options:
        return _try_options(finding, trial, base)
    launches: list[list[Attempt]] = []
    for _ in range(LAUNCHES):
        # In turn, so that a change of the machine's load affects both.
        sides = (trial.before, trial.after)
        launches.append([job.measure(trial.path, trial.sizes, base, side, trial.pattern) for side in sides])
        if not all(attempt.entries for attempt in launches[-1]):
            break
    before, after = map(merged, zip(*launches, strict=True))
    what = f"{trial.path}: {trial.before.words()}; then {trial.after.words()}"
    return structs.replace(finding, worth=compare(what, before, after, trial.sizes))


def _try_options(finding: Finding, trial: Trial, base: Base) -> Finding:
    """Tries each option once; the improvement of the best one over the path that remains without it."""
    tried = [try_option(option, trial.path, trial.sizes, base, trial.pattern) for option in finding.options]
    options = compared([option for option, _ in tried])
    worth = finding.worth
    if trial.left and options[0].outcome == WORKS:
        after = next(attempt for option, attempt in tried if option is options[0])
        before = job.measure(trial.left, trial.sizes, base, trial.before, trial.pattern)
        what = f"{trial.left}; then {trial.path} with {options[0].title}"
        worth = compare(what, before, after, trial.sizes)
    return structs.replace(finding, options=options, worth=worth)


def try_option(
    option: RemedyOption, path: str, sizes: Sequence[int], base: Base, pattern: Sequence[str] = ()
) -> tuple[RemedyOption, Attempt]:
    """The option with its outcome on this path, or on its own; its seconds are of the largest size."""
    attempt = job.measure(option.instead or path, sizes, base, option.setting, pattern)
    entry = attempt.entries.get(max(sizes))
    seconds = entry.seconds if entry else None
    return structs.replace(option, outcome=outcome_of(attempt), seconds=seconds), attempt


def compared(options: Sequence[RemedyOption]) -> tuple[RemedyOption, ...]:
    """The options that work come first, fastest first."""
    return tuple(sorted(options, key=lambda option: (option.outcome != WORKS, option.seconds or 0.0)))


def outcome_of(attempt: Attempt) -> str:
    """'works', or what went wrong: 'hung: no progress for 15 s: ...'."""
    if attempt.what == WORKS:
        return WORKS
    words = {"hang": "hung", "crash": "crashed", "death": "a rank died", "unavailable": ""}
    word = words.get(attempt.what, attempt.what)
    return ": ".join(part for part in (word, attempt.text) if part)


def merged(attempts: Sequence[Attempt]) -> Attempt:
    """Several launches as one: the median of their medians, and an interval that spans all of theirs."""
    whole = structs.replace(attempts[-1], entries={})
    for size, entry in attempts[-1].entries.items():
        same = [attempt.entries[size] for attempt in attempts if size in attempt.entries]
        whole.entries[size] = entry.with_time(
            samples.median(repeated.seconds for repeated in same),
            min(repeated.low for repeated in same),
            max(repeated.high for repeated in same),
            None if any(repeated.precision is None for repeated in same) else entry.precision,
        )
    return whole


def compare(what: str, before: Attempt, after: Attempt, sizes: Sequence[int]) -> Improvement:
    """The improvement at each size that has a figure on one side; ratios where both have one."""
    pairs = ((size, before.entries.get(size), after.entries.get(size)) for size in sizes)
    points = tuple(measured.point(*pair) for pair in pairs if any(pair[1:]))
    return Improvement(what, points, "now", before.text, after.text)
