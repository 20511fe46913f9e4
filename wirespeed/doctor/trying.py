"""Trials: is an MPI GPU-aware, and what is a remedy worth? Each in job steps of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wirespeed import launch
from wirespeed.doctor import job, measured
from wirespeed.doctor.facts.model import MpiFact
from wirespeed.doctor.facts.mpi import answers
from wirespeed.doctor.finding import Finding, Option, Point, Trial, Worth
from wirespeed.doctor.job import Attempt, Base
from wirespeed.errors import WirespeedError
from wirespeed.host import mpi
from wirespeed.host.libraries import ucx_folder
from wirespeed.statistics import samples
from wirespeed.units import format_size

ASK_SECONDS = 30.0
WORKS = "works"
MARK = "wirespeed-ask:"
AWARE_SIZES = (8, 64 << 10, 16 << 20)
"""The last one is long enough to tell a direct copy from one through the host."""
LAUNCHES = 2
"""Of each side of a trial: figures of one launch agree with each other better than with the next launch's."""


def ask(library: mpi.Mpi, launcher: str = "auto") -> dict[str, Any]:
    """What the MPI says of itself once one rank has started it; {} where it says nothing."""
    variables = mpi.one_host_environment(library) | library.environment()
    variables |= mpi.aware_environment(library, ucx_folder())
    words = (sys.executable, str(Path(__file__).with_name("ask")))
    try:
        starter = launch.choose(launcher, library)
        command = starter.command(library, launch.Job(words, 1, (), variables))
        said, _ = job.run_process(command, {**os.environ, **variables}, ASK_SECONDS)
    except (OSError, subprocess.TimeoutExpired, WirespeedError):
        return {}
    marked = (line.partition(MARK)[2] for line in said.splitlines())
    return next((_parsed(answer) for answer in marked if answer), {})


def _parsed(answer: str) -> dict[str, Any]:
    try:
        found = json.loads(answer)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def aware(fact: MpiFact, base: Base) -> tuple[MpiFact, Attempt]:
    """Path `aware` with this MPI, in a job step of its own."""
    attempt = job.measure("aware", AWARE_SIZES, dataclasses.replace(base, mpi=fact.mpiexec), evidence=True)
    return judged(fact, attempt, "in a job step of its own"), attempt


def judged(fact: MpiFact, attempt: Attempt, where: str) -> MpiFact:
    """The fact with what was seen."""
    if attempt.what == WORKS:
        sizes = sorted(attempt.entries)
        text = "moved and checked device memory up to " + format_size(sizes[-1])
        return dataclasses.replace(fact, tried=WORKS, tried_text=text, where=where)
    text = attempt.text.removeprefix(fact.title).lstrip(": ")
    kind = "" if attempt.refusal else kind_of(attempt.what, text)
    return dataclasses.replace(fact, tried=kind, tried_text=text, where=where)


def kind_of(what: str, text: str) -> str:
    """A path that does not work at all is 'unavailable' in records; its text says how it failed.

    Empty where no device pointer was handed over: the ranks did not start, or found something lacking.
    """
    if "could not start" in text or "did not start" in text:
        return ""
    if what != "unavailable":
        return what
    words = {
        "crashed on": "crash",
        "hung on": "hang",
        "ended the program on": "death",
        "failed on": "error",
    }
    return next((kind for word, kind in words.items() if word in text), "")


def learned(fact: MpiFact, library: mpi.Mpi, launcher: str) -> MpiFact:
    """The fact with what the library says of itself."""
    return dataclasses.replace(fact, **answers(ask(library, launcher)))


def try_remedy(finding: Finding, base: Base) -> Finding:
    """The finding with what its remedy is worth; as it is where it has no trial."""
    trial = finding.trial
    if trial is None:
        return finding
    if finding.options:
        return _try_options(finding, trial, base)
    before: list[Attempt] = []
    after: list[Attempt] = []
    for _ in range(LAUNCHES):
        # In turn: what changes on the machine meanwhile changes both.
        before.append(job.measure(trial.path, trial.sizes, base, trial.before))
        after.append(job.measure(trial.path, trial.sizes, base, trial.after))
        if not (before[-1].entries and after[-1].entries):
            break
    what = f"{trial.path}: {trial.before.words()}; then {trial.after.words()}"
    return dataclasses.replace(finding, worth=compare(what, merged(before), merged(after), trial.sizes))


def _try_options(finding: Finding, trial: Trial, base: Base) -> Finding:
    """Each option once; what the best one is worth, against the path that one is left with without it."""
    tried = [
        try_option(option, option.instead or trial.path, trial.sizes, base) for option in finding.options
    ]
    options = compared([option for option, _ in tried])
    worth = finding.worth
    if trial.left and options[0].outcome == WORKS:
        after = next(attempt for option, attempt in tried if option is options[0])
        before = job.measure(trial.left, trial.sizes, base, trial.before)
        worth = compare(
            f"{trial.left}; then {trial.path} with {options[0].title}", before, after, trial.sizes
        )
    return dataclasses.replace(finding, options=options, worth=worth)


def try_option(
    option: Option, path: str, sizes: Sequence[int], base: Base, pattern: Sequence[str] = ()
) -> tuple[Option, Attempt]:
    """The option with what came of it; its seconds are those of the largest size."""
    attempt = job.measure(path, sizes, base, option.setting, pattern)
    entry = attempt.entries.get(max(sizes))
    seconds = entry.seconds if entry else None
    return dataclasses.replace(option, outcome=outcome_of(attempt), seconds=seconds), attempt


def compared(options: Sequence[Option]) -> tuple[Option, ...]:
    """What works comes first, fastest first."""
    return tuple(
        sorted(
            options, key=lambda one: (one.outcome != WORKS, one.seconds if one.seconds is not None else 0.0)
        )
    )


def outcome_of(attempt: Attempt) -> str:
    """'works', or what went wrong: 'hung: no progress for 15 s: ...'."""
    if attempt.what == WORKS:
        return WORKS
    word = {"hang": "hung", "crash": "crashed", "death": "a rank died", "unavailable": ""}.get(
        attempt.what, attempt.what
    )
    return ": ".join(part for part in (word, attempt.text) if part)


def merged(attempts: list[Attempt]) -> Attempt:
    """Several launches as one: the middle of their medians, and an interval that spans them all."""
    whole = dataclasses.replace(attempts[-1], entries={})
    for size, entry in attempts[-1].entries.items():
        same = [one.entries[size] for one in attempts if size in one.entries]
        whole.entries[size] = entry.with_time(
            samples.middle(sorted(one.seconds for one in same)),
            min(one.low for one in same),
            max(one.high for one in same),
            None if any(one.precision is None for one in same) else entry.precision,
        )
    return whole


def compare(what: str, before: Attempt, after: Attempt, sizes: tuple[int, ...]) -> Worth:
    """Size by size; ratios where both have a figure."""
    points = []
    for size in sizes:
        one, other = before.entries.get(size), after.entries.get(size)
        if one and other:
            points.append(measured.point(one, other))
        elif one or other:
            points.append(Point(size, one.seconds if one else None, other.seconds if other else None))
    return Worth(what, tuple(points), "now", before.text, after.text)
