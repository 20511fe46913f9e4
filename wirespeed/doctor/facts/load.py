"""CPU time that others use, which figures measured meanwhile lack."""

from __future__ import annotations

import os
import time

from wirespeed.doctor.facts.tree import Tree

SECONDS = 0.2
"""20 ticks of the kernel's accounting."""
IDLE = (3, 4)
"""Columns of /proc/stat without use: idle and iowait (proc_stat(5))."""
COLUMNS = 8
"""Columns that are added up; those behind are contained in the first ones."""


def used_by_others(tree: Tree | None = None) -> float | None:
    """CPUs in use while this process sleeps, of those that it may use; None: the kernel does not say."""
    tree, began = tree or Tree(), time.monotonic()
    before = _ticks(tree)
    time.sleep(SECONDS)
    after, elapsed = _ticks(tree), time.monotonic() - began
    if before is None or after is None:
        return None
    used = max(0, after - before) / os.sysconf("SC_CLK_TCK") / elapsed
    return min(used, float(len(os.sched_getaffinity(0))))


def _ticks(tree: Tree) -> int | None:
    """Ticks in use so far."""
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    lines = [line.split() for line in (tree.text("/proc/stat") or "").splitlines()]
    used = [words[1 : COLUMNS + 1] for words in lines if words and words[0] in mine]
    try:
        return (
            sum(int(word) for row in used for at, word in enumerate(row) if at not in IDLE) if used else None
        )
    except ValueError:
        return None
