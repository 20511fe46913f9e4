"""Threads of libraries leave the CPU of the thread that is timed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from support.command import captured

from wirespeed.host.process import span

ALL = sorted(os.sched_getaffinity(0))
FIRST = ALL[0]
THREADS = """
import json, os, sys, threading
from pathlib import Path
from wirespeed.rank.join.free_cpus import FreeForThreads

class World:
    def everyone(self, place):
        return [place, ("elsewhere", [0, 1, 2, 3]), *json.loads(sys.argv[2])]

def stay(go_on, chosen):
    os.sched_setaffinity(0, chosen)
    go_on.wait()

own, go_on = {int(sys.argv[3])}, threading.Event()
os.sched_setaffinity(0, own)
threads = [threading.Thread(target=stay, args=(go_on, own)) for _ in range(2)]
for thread in threads:
    thread.start()
FreeForThreads(World(), own, json.loads(sys.argv[4]), Path(sys.argv[1])).move()
print(json.dumps([sorted(os.sched_getaffinity(n)) for n in (0, *(thread.native_id for thread in threads))]))
go_on.set()
"""


@pytest.mark.skipif(len(ALL) < 2, reason="one CPU: nothing is free beside a rank's")
@pytest.mark.parametrize(
    ("neighbour", "within", "aside"),
    [
        ([], [], ALL[1:]),
        (ALL[1:], [], [FIRST]),
        ([], [FIRST], [FIRST]),
        # One CPU is left for the threads of two ranks that have three.
        pytest.param([FIRST, 1000], [FIRST, ALL[-1]], [FIRST], id="crowded"),
    ],
)
def test_threads_of_libraries_leave_the_cpu_of_the_timed_one(
    tmp_path: Path, neighbour: list[int], within: list[int], aside: list[int]
) -> None:
    """Protects a rank that is bound to one CPU from its libraries' threads, and other ranks from them."""
    (tmp_path / "node0").mkdir()
    (tmp_path / "node0" / "cpulist").write_text(span([*ALL, 1000]))
    neighbours = [(os.uname().nodename, neighbour)] if neighbour else []
    words = (str(tmp_path), json.dumps(neighbours), str(FIRST), json.dumps(within))
    done = captured([sys.executable, "-c", THREADS, *words], cwd=tmp_path, ok=True)
    assert json.loads(done.stdout) == [[FIRST], aside, aside]
