"""Strikes a rank of a measurement: what is measured meanwhile, the moment, the signal."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from support.command import Record, ranks_of, whole_lines

LONG = ("--precision", "0.0001%", "--max-time", "0.4")
"""Each figure takes 0.4 s, on any machine: long enough to be struck, short enough for those that follow."""
SLOW = ("--sizes", "8,64K,4M", *LONG)
PATIENCE = ("--timeout", "2")
"""So long a rank may show no progress: many times what a busy machine keeps one waiting."""


def after(entries: int) -> Callable[[list[Record]], bool]:
    """So many figures are in the file, and the next is under way."""

    def ready(records: list[Record]) -> bool:
        return len([record for record in records if record["kind"] == "entry"]) >= entries

    return ready


def strike(out: Path, rank: int, number: int, delay: float = 0.1) -> Callable[[subprocess.Popen[str]], None]:
    """Sends a signal to a rank of the latest job step, so many seconds after the moment."""

    def act(process: subprocess.Popen[str]) -> None:
        time.sleep(delay)
        os.kill(ranks_of(whole_lines(out))[rank], number)

    return act
