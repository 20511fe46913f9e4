"""Strikes a rank of a measurement: what is measured meanwhile, the moment, the signal."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support.command import PATIENCE as COMMAND_PATIENCE
from support.command import Done, Measure, Record, ranks_of, whole_lines

from wirespeed.job.status_page import own_folder, read_page

LONG = ("--precision", "0.0001%", "--max-time", "0.4")
"""Each figure takes 0.4 s, on any machine: long enough to be struck, short enough for those that follow."""
ALONE = ("--loops", "500")
"""Size by size, without turns: 4 MiB and more take a second."""
SLOW = ("--sizes", "8,64K,4M", *ALONE)
PATIENCE = ("--timeout", "2")
"""So long a rank may show no progress: many times what a busy machine keeps one waiting."""


def after(entries: int) -> Callable[[list[Record]], bool]:
    """So many figures are in the file, and the next is under way."""

    def ready(records: list[Record]) -> bool:
        return len([record for record in records if record["kind"] == "entry"]) >= entries

    return ready


def strike(
    out: Path, rank: int, number: int, delay: float = 0.1, rounds: int = 0
) -> Callable[[subprocess.Popen[str]], None]:
    """Sends a signal to a rank of the latest job step, so many seconds after the moment.

    `rounds`: so many of the next size the rank has begun first. Large buffers take their time to be made.
    """

    def act(process: subprocess.Popen[str]) -> None:
        records = whole_lines(out)
        _wait_for_rounds(records, rank, rounds)
        time.sleep(delay)
        os.kill(ranks_of(records)[rank], number)

    return act


def struck(
    measure: Measure,
    *words: str | Path,
    number: int,
    rank: int = 1,
    figures: int = 1,
    delay: float = 0.1,
    rounds: int = 0,
    **how: Any,
) -> Done:
    """A run whose rank gets the signal after so many figures; see `strike` and Measure."""
    act = strike(measure.out, rank, number, delay, rounds)
    return measure.disturbed(*words, when=after(figures), act=act, **how)


def is_struck(failure: Record, number: int, rank: int = 1) -> None:
    """The failure is that of a rank that has got the signal."""
    what = "death" if number == signal.SIGKILL else "hang"
    assert (failure["what"], failure["rank"]) == (what, rank), failure["text"]


def wait_for_turns(out: Path, sizes: Sequence[int], turns: int = 2) -> None:
    """Returns when rank 0's status page has shown that each of the sizes had so many turns."""
    page, seen, before = _page(whole_lines(out), 0), dict.fromkeys(sizes, 0), None
    deadline = time.monotonic() + COMMAND_PATIENCE
    while min(seen.values()) < turns:
        assert time.monotonic() < deadline, seen
        now = state.bytes if (state := read_page(page)) else None
        if now in seen and now != before:
            seen[now] += 1
        before = now
        time.sleep(0.001)


def _page(records: list[Record], rank: int) -> Path:
    """Where the rank of the latest job step says what it does."""
    step = next(record for record in reversed(records) if record["kind"] == "step")
    return own_folder(f"{step['run']}-{step['step']}") / f"{rank}.page"


def _wait_for_rounds(records: list[Record], rank: int, rounds: int, patience: float = 10) -> None:
    """Returns when the rank's status page says so."""
    measured = next((record["bytes"] for record in reversed(records) if record["kind"] == "entry"), None)
    page = _page(records, rank)
    first: int | None = None
    deadline = time.monotonic() + patience
    while rounds and time.monotonic() < deadline:
        if (state := read_page(page)) and state.bytes != measured:
            first = state.iteration if first is None else first
            if state.iteration - first >= rounds:
                return
        time.sleep(0.005)
