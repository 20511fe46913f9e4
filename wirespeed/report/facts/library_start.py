"""How long a library took to join the ranks, which every program that uses it pays once."""

from __future__ import annotations

from wirespeed.results.runs import Run
from wirespeed.units import format_seconds

KEY = "start_s"
"""Of a path's details: seconds, the slowest rank's."""


def note(run: Run) -> str | None:
    """'NCCL's communicator took 3.90 s to start (nccl)'; None without such a path.

    A path that went on with the communicator of the one before has no such time.
    """
    found = {path: run.step(path).details.get(KEY) for path in run.paths}
    took = {path: seconds for path, seconds in found.items() if isinstance(seconds, float | int)}
    if not took:
        return None
    ends = dict.fromkeys(map(format_seconds, (min(took.values()), max(took.values()))))
    return f"NCCL's communicator took {' to '.join(ends)} to start ({', '.join(took)})"
