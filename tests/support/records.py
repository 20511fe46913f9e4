"""Records of a run made up for reports: what a measurement would have written."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console

from wirespeed.paths import all_paths
from wirespeed.report.terminal import run_summary
from wirespeed.results.model import Record
from wirespeed.results.reading import record_of
from wirespeed.results.runs import Entry, Run, collect, joined
from wirespeed.units import parse_sizes

SIZES = tuple(1 << power for power in range(31))
MEMORY = {path.name: path.memory for path in all_paths()}


def entry(path: str, size: int, seconds: float, share: float = 0.004, **more: Any) -> dict[str, Any]:
    low = seconds * max(1 - share, 0.1)
    return {
        "kind": "entry",
        "run": "r",
        "pattern": "pingpong",
        "path": path,
        "memory": MEMORY.get(path, "device"),
        "bytes": size,
        "definition": "one way: half of a round trip",
        "seconds": {
            "median": seconds,
            "low": low,
            "high": low + 2 * share * seconds,
            "min": seconds * 0.9,
            "p99": seconds * 2,
        },
        "precision": share,
        "samples": 120,
        "stopped": "precision",
        **more,
    }


def failure(path: str, size: int | None, what: str, text: str, remedy: str | None = None) -> dict[str, Any]:
    return {
        "kind": "failure",
        "run": "r",
        "path": path,
        "bytes": size,
        "what": what,
        "text": text,
        "remedy": remedy,
    }


def step(path: str, variables: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "kind": "step",
        "run": "r",
        "step": 0,
        "path": path,
        "mpi": {"vendor": "openmpi", "version": "5.0.11"},
        "variables": variables or {},
        "ranks": [],
        "details": {},
        "without": None,
        **more,
    }


def head(
    paths: Sequence[str] = (), variables: dict[str, str] | None = None, pattern: str = "pingpong"
) -> dict[str, Any]:
    stopping = {"precision": 0.01, "max_time": 0.4, "loops": None, "warmup": None}
    return {
        "kind": "run",
        "run": "r",
        "started": "2026-01-01T12:00:00+00:00",
        "plan": {
            "pattern": pattern,
            "paths": list(paths),
            "sizes": [*parse_sizes("1:1G")],
            "stopping": stopping,
        },
        "environment": {"host": "n1", "variables": variables or {}},
    }


def end(status: str = "complete") -> dict[str, Any]:
    return {"kind": "end", "run": "r", "status": status}


def as_read(records: Iterable[dict[str, Any]]) -> list[Record]:
    """As a reader has them; of kinds unknown to it nothing."""
    return [found for one in records if (found := record_of(one)) is not None]


def figure(path: str, size: int, seconds: float, share: float = 0.004, **more: Any) -> Entry:
    """An entry, read."""
    (found,) = as_read([entry(path, size, seconds, share, **more)])
    assert isinstance(found, Entry)
    return found


def make_run(*records: dict[str, Any], pattern: str = "pingpong") -> Run:
    return joined(collect(as_read([head(pattern=pattern), *records, end()])))


def full_run(paths: Sequence[str], **more: Any) -> Run:
    """Every path at every size; the times span six orders of magnitude."""
    return make_run(
        *(
            entry(path, size, 3e-7 * (number + 1) + size / (3e9 * (number + 1)), **more)
            for number, path in enumerate(paths)
            for size in SIZES
        )
    )


def console(width: int, **more: Any) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False, **more)


def shown(run: Run, width: int = 100, *, explain: bool = False, all_sizes: bool = True) -> str:
    # What is short is for a person.
    screen = console(width, force_terminal=not all_sizes, color_system=None)
    run_summary.print_run(screen, run, explain=explain, all_sizes=all_sizes)
    return text_of(screen)


def text_of(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()
