"""The ping-pong tutorial's own lines, one block a path; GB is 2^30 bytes there."""

from __future__ import annotations

from collections.abc import Iterable

from wirespeed.report.facts import figures
from wirespeed.results.runs import Run


def line(size: int, seconds: float, amount: int | None = None) -> str:
    """One size as the tutorial prints it: `seconds` one way, bandwidth in 2^30 bytes per second.

    `amount`: the bandwidth's bytes, where they are not those of a message.
    """
    bandwidth = (size if amount is None else amount) / 2**30 / seconds
    return (
        f"Transfer size (B): {size:10d}, Transfer Time (s): {seconds:15.9f}, "
        f"Bandwidth (GB/s): {bandwidth:15.9f}"
    )


def _block(run: Run, path: str) -> str:
    launches = figures.launches(run.launches)
    head = f"# {path}, median of {launches}" if launches else f"# {path}"
    return "\n".join([head, *(line(entry.bytes, entry.seconds, entry.amount) for entry in run.of_path(path))])


def tutorial(runs: Iterable[Run]) -> str:
    """A block for every path of every run."""
    blocks = [_block(run, path) for run in runs for path in run.paths]
    return "\n\n".join(blocks) + "\n" * bool(blocks)
