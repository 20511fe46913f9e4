"""Which CPUs ranks get that nobody has bound."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wirespeed.rank.pinning import cores_of, place, shares


def test_threads_of_a_core_stay_together(tmp_path: Path) -> None:
    """Protects ranks from two hardware threads of one core, which are half as fast."""
    for cpu in range(8):
        (tmp_path / str(cpu)).write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    there = str(tmp_path / "{}")
    assert cores_of(range(8), there) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert cores_of([1, 2, 5], there) == [[1, 5], [2]]
    assert cores_of([9, 11], there) == [[9], [11]]


@pytest.mark.parametrize(
    ("ranks", "whole", "parts"),
    [
        (2, True, [[0, 4], [1, 5]]),
        (2, False, [[0, 4, 1, 5], [2, 6, 3, 7]]),
        (3, False, [[0, 4], [1, 5], [2, 6]]),
        (5, True, []),
    ],
)
def test_each_rank_has_cores_of_its_own(ranks: int, whole: bool, parts: list[list[int]]) -> None:
    """Protects from 60 us for 8 B between two ranks that the kernel put on one CPU."""
    assert shares([[0, 4], [1, 5], [2, 6], [3, 7]], ranks, whole_cores=whole) == parts


def test_a_rank_that_waits_learns_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects what comes back to its CPUs later, and what a launcher has bound, from being moved."""
    monkeypatch.setattr("wirespeed.rank.pinning.cores_of", lambda cpus: [[cpu] for cpu in cpus])
    monkeypatch.setenv("WIRESPEED_OWN_CPUS", "4,5,6")
    place((4, 5, 6), 1, 2, whole_cores=True)
    assert os.environ["WIRESPEED_OWN_CPUS"] == "5"
    place((4, 5, 6), 0, 2, whole_cores=True)
    assert os.environ["WIRESPEED_OWN_CPUS"] == "5"


PLACES = """
import os
from wirespeed.rank.pinning import place
place(tuple(sorted(os.sched_getaffinity(0))), 1, {ranks}, whole_cores=True)
print(len(os.sched_getaffinity(0)))
"""


@pytest.mark.parametrize("ranks", [1, 1 << 20])
def test_a_rank_takes_its_share(ranks: int) -> None:
    """Protects two ranks from one CPU while there are others, and ranks that are too many from failing."""
    code = PLACES.replace("{ranks}", str(ranks))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    cores = cores_of(sorted(os.sched_getaffinity(0)))
    assert int(done.stdout) == (len(cores[0]) if ranks == 1 else sum(map(len, cores)))
