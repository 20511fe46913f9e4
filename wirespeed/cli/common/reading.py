"""Result files for the commands that print them."""

from __future__ import annotations

import sys

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.results.model import Event
from wirespeed.results.runs import Run, collect

MOST_WARNINGS = 5


def read_if_there(name: str) -> list[Event]:
    """The records of a file that may not exist yet, or not be one: whoever writes to it will say so."""
    from wirespeed.results.store import read

    try:
        return [*read(name).records]
    except WirespeedError:
        return []


def read_runs(name: str) -> list[Run]:
    """The runs of a file, with a warning for what was left out. Raises WirespeedError if there is none."""
    from wirespeed.results.store import read

    results = read(name)
    warnings, runs = results.warnings, collect(results.records)
    for warning in warnings[:MOST_WARNINGS]:
        warn(f"{name}: {warning}")
    if len(warnings) > MOST_WARNINGS:
        warn(f"{name}: {len(warnings) - MOST_WARNINGS} more of this kind")
    if not runs:
        raise WirespeedError(f"{name} holds no run of wirespeed", ExitCode.CANNOT_WRITE)
    return runs


def warn(text: str) -> None:
    """A line beside the result."""
    print(f"wirespeed: warning: {text}", file=sys.stderr, flush=True)
