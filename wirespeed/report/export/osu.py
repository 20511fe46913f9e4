"""Figures in the layout of the OSU micro-benchmarks, for programs that read theirs; MB = 1e6 bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from wirespeed.report.facts import figures, labels
from wirespeed.results.runs import Entry, Run

FIGURES = 6
"""Significant ones; OSU prints two decimals, too few for 0.18 us."""


def to_osu(runs: Sequence[Run]) -> str:
    """For each path its latencies, where its time is one way or an operation's, and its bandwidths."""
    return "\n".join(block for run in runs for path in run.paths for block in _blocks(run, path))


def _blocks(run: Run, path: str) -> Iterator[str]:
    entries = run.of_path(path)
    collective = run.traits.kind.of_all_ranks
    latencies = [
        (entry.bytes, entry.seconds * 1e6) for entry in entries if collective or labels.one_way(entry)
    ]
    rates = [(entry.bytes, entry.rate / 1e6) for entry in entries if entry.amount and not collective]
    for column, rows in (("Latency (us)", latencies), ("Bandwidth (MB/s)", rates)):
        if rows:
            lines = [_title(run, entries[0]), *(f"# {line}" for line in labels.comments(run, entries))]
            lines.append(f"# Size          {column}")
            lines += [f"{size:<14d}{_fixed(value)}" for size, value in rows]
            yield "".join(f"{line}\n" for line in lines)


def _title(run: Run, entry: Entry) -> str:
    """'# wirespeed pingpong, path host (pageable memory), Open MPI 5.0.11: one way: half of a round trip'."""
    parts = [f"wirespeed {labels.pattern(run, entry)}", f"path {entry.path} ({entry.memory} memory)"]
    parts += [labels.mpi(run, entry.path), labels.conditions(run), figures.launches(entry.launches)]
    return f"# {', '.join(filter(None, parts))}: {entry.definition}"


def _fixed(value: float) -> str:
    """Six significant figures, and at least two decimals, never an exponent."""
    decimals = max(2, FIGURES - 1 - math.floor(math.log10(value))) if value > 0 else 2
    return f"{value:>14.{decimals}f}"
