"""Who had the CPU of a rank that waited, and libraries' threads, which leave the CPU of the timed one."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from pathlib import Path

import pytest
from support import control_groups
from support.command import captured

from wirespeed.host.process import span
from wirespeed.rank.observe.cpu_wait import CpuWait, Use, whose


def use(process: float, threads: float, busy: float, cpus: tuple[int, ...] = (0,), host: str = "n1") -> Use:
    return Use(host, list(cpus), process, threads, busy)


@pytest.mark.parametrize(
    ("uses", "waited", "by"),
    [
        ([use(0.5, 0.0, 1.0), use(1.0, 0.0, 1.0, (1,))], 0.5, "others"),
        ([use(1.0, 0.5, 1.0), use(1.0, 0.0, 1.0, (1,))], 0.5, "threads"),
        ([use(0.5, 0.0, 1.0), use(0.5, 0.0, 1.0)], 0.5, "ranks"),
        # The same CPU number on another host is another CPU.
        ([use(0.5, 0.0, 1.0), use(0.5, 0.0, 1.0, host="n2")], 0.5, "others"),
        # Three on a CPU: others have half of what was waited for.
        ([use(0.66, 0.33, 1.0)], 0.66, "others"),
        # Two ranks and a process, none of which has half: who had most.
        ([use(0.31, 0.0, 1.0), use(0.37, 0.0, 1.0)], 0.69, "ranks"),
        ([use(0.36, 0.0, 1.0), use(0.3, 0.0, 1.0)], 0.69, "others"),
        ([use(0.31, 0.0, 0.6), use(0.2, 0.0, 0.6)], 0.69, None),
        ([use(0.8, 0.4, 1.0)], 0.6, "threads"),
        # Two CPUs for two ranks and a process: without it each rank has one.
        ([use(0.66, 0.0, 2.0, (0, 1)), use(0.66, 0.0, 2.0, (0, 1))], 0.34, "others"),
        # A CPU was free: the kernel had put both ranks on the other.
        ([use(0.5, 0.0, 1.3, (0, 1)), use(0.5, 0.0, 1.3, (0, 1))], 0.5, "ranks"),
        # Nobody is known to have run.
        ([use(0.5, 0.0, 0.5)], 0.5, None),
        ([use(0.5, 0.0, math.nan)], 0.5, None),
        # Two ranks whose group has half of two CPUs, on a machine where nothing else runs.
        ([use(0.5, 0.0, 0.5)._replace(throttled=1.0), use(0.5, 0.0, 0.5)], 0.5, "quota"),
        ([use(0.5, 0.0, 1.0)._replace(throttled=0.1)], 0.5, "others"),
        ([use(1.0, 0.5, math.nan)], 0.5, "threads"),
    ],
)
def test_who_had_the_cpu(uses: list[Use], waited: float, by: str | None) -> None:
    """Protects from a search for other processes where a rank was in its own way."""
    assert whose(uses, 0, waited) == by


def test_it_is_the_waiting_rank_that_counts() -> None:
    assert whose([use(1.0, 0.0, 1.0), use(0.5, 0.0, 1.0, (1,))], 1, 0.5) == "others"


@pytest.mark.parametrize("alone", [False, True])
def test_threads_on_other_cpus_are_in_nobodys_way(alone: bool) -> None:
    """Protects from "slowed by its own threads" where these run elsewhere."""

    def busy() -> None:
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass

    wait, thread = CpuWait(), threading.Thread(target=busy)
    wait.alone = alone
    with wait.timed():
        thread.start()
        thread.join()
    used = wait._use()
    assert (used.threads == 0) == alone and (used.process < 0.1 * used.threads + 0.1) == alone


SPIN = """
import os, sys, time
from pathlib import Path
from wirespeed.rank.observe.cpu_wait import CpuWait, whose
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
wait = CpuWait()
with wait.timed():
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        pass
print(whose([wait._use()], 0, wait.share))
"""


def test_a_real_quota() -> None:
    """Protects from "measure again when nothing else runs" where the group itself was stopped."""
    if why := control_groups.why_none():
        pytest.skip(why)
    with control_groups.cpu_group(0.05) as group:
        words = [sys.executable, "-c", SPIN, str(group)]
        assert captured(words, ok=True).stdout == "quota\n"


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
