"""The ping-pong tutorial's own lines; GB is 2^30 bytes there. Several paths have a line with their name."""

from __future__ import annotations

from collections.abc import Iterable

from wirespeed.report.facts import figures
from wirespeed.report.facts.labels import comments
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


def _block(run: Run, path: str, named: bool) -> str:
    launches = figures.launches(run.launches)
    head = ", median of ".join(filter(None, [f"# {path}", launches]))
    entries = run.of_path(path)
    lines = [line(entry.bytes, entry.seconds, entry.amount) for entry in entries]
    if not (named or launches):
        return "\n".join(lines)
    return "\n".join([head, *lines, *(f"# {comment}" for comment in comments(run, entries))])


def tutorial(runs: Iterable[Run]) -> str:
    """A block for every path of every run, with its trust and marks; one alone is the tutorial's output."""
    found = [(run, path) for run in runs for path in run.paths]
    blocks = [_block(run, path, len(found) > 1) for run, path in found]
    return "\n\n".join(blocks) + "\n" * bool(blocks)
