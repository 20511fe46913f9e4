"""What to try next: commands that fit the machine and what the run found."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wirespeed.report.facts.markers import marked
from wirespeed.results.runs import Run
from wirespeed.units import format_size

LONGEST = 80
"""Letters of options: what is longer nobody reads; without it a run measures more than needed."""


@dataclass(frozen=True)
class Suggestion:
    """A command, and what it is good for."""

    command: str
    why: str


def next_steps(
    run: Run, file: str, gpus: int, mpis: Sequence[Any], environment: Mapping[str, str] = os.environ
) -> list[Suggestion]:
    """The most useful first, at most five."""
    found = [
        _longer(run),
        Suggestion("wirespeed pingpong --against summit", "every power of two, beside published curves"),
        _across_nodes(environment),
        _other_pair(gpus),
        _other_mpi(mpis),
        _without_gpu(gpus),
        Suggestion(f"wirespeed show {shlex.quote(file)}", "this table again; --format csv for a spreadsheet"),
        Suggestion("wirespeed pingpong --paths all", "every path; 'wirespeed paths' says what each one is"),
    ]
    return [suggestion for suggestion in found if suggestion][:5]


def _longer(run: Run) -> Suggestion | None:
    unsettled = [entry for entry in run.entries.values() if marked(entry)]
    if not unsettled:
        return None
    paths = ",".join(dict.fromkeys(entry.path for entry in unsettled))
    sizes = ",".join(_size_word(size) for size in sorted({entry.bytes for entry in unsettled}))
    seconds = 5 * (run.max_time or 0.4)
    options = [f"--paths {paths}", f"--sizes {sizes}", f"--max-time {seconds:g}"]
    while len(" ".join(options)) > LONGEST:
        options.remove(max(options, key=len))
    return Suggestion(f"wirespeed pingpong {' '.join(options)}", "more time for the figures marked ~")


def _size_word(size: int) -> str:
    """'64K', as --sizes takes it."""
    number, unit = format_size(size).split()
    return number + unit[0] if unit != "B" else number


def _across_nodes(environment: Mapping[str, str]) -> Suggestion | None:
    try:
        nodes = int(environment.get("SLURM_JOB_NUM_NODES") or environment.get("SLURM_NNODES") or "1")
    except ValueError:
        nodes = 1
    if nodes < 2:
        return None
    return Suggestion("srun -N 2 -n 2 wirespeed pingpong", "the same between two nodes of this allocation")


def _other_pair(gpus: int) -> Suggestion | None:
    if gpus < 3:
        return None
    return Suggestion(f"wirespeed pingpong --between 0,{gpus - 1}", "another pair: are all links alike?")


def _other_mpi(mpis: Sequence[Any]) -> Suggestion | None:
    titles = [str(getattr(mpi, "title", "")) for mpi in mpis]
    other = next((number for number, title in enumerate(titles) if title != titles[0]), None)
    if other is None:
        return None
    title, prefix = titles[other], getattr(mpis[other], "prefix", "")
    return Suggestion(f"wirespeed pingpong --mpi {shlex.quote(str(prefix))}", f"the same with {title}")


def _without_gpu(gpus: int) -> Suggestion | None:
    if gpus:
        return None
    return Suggestion("wirespeed pingpong --device emulated", "the GPU paths on emulated GPUs")
