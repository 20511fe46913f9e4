"""Who had the CPU of a rank that waited: other processes, its own threads, or other ranks."""

from __future__ import annotations

import math
import sys
import threading
import time

import pytest
from support import control_groups
from support.command import captured

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
