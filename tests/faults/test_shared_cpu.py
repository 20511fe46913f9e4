"""Ranks wait for their CPUs: the figure is the scheduler's, and says so, and who had the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import tools
from support.command import Done, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_two_ranks_on_one_cpu(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects from time slices that look like a sure figure: in the table, in the file, in a check."""
    out, site = tmp_path / "r.jsonl", tmp_path / "site.toml"
    cpu = min(os.sched_getaffinity(0))
    options = ("--mpi", mpi.mpiexec, "--paths", "host", "--sizes", "8", "--max-time", "0.3")
    done = wirespeed("pingpong", *options, "--between", f"{cpu},{cpu}", out=out).ok()
    (entry,) = done.entries
    assert f"ranks 0-1 on {os.uname().nodename} share CPU {cpu}" == entry["cores"]["shared"]
    assert entry["cores"]["by"] in ("ranks", "others"), "others, where they had the CPU half of the time"
    assert entry["cores"]["waited"] > 0.1 and entry["cores"]["preempted"] > 0
    assert " &" in done.out and f"share CPU {cpu}, and one waited" in " ".join(done.out.split())
    assert "ranks waited for CPUs" in done.err
    site.write_text('[[require]]\npath = "host"\n[require.sizes]\n"8" = "at most 1 ns"\n')
    checked = wirespeed("check", "--require", site, out)
    assert checked.code == 8 and "but ranks waited for CPUs" in " ".join(checked.out.split()), checked.out
    assert wirespeed("check", "--strict", "--require", site, out).code == 6


def on_two_cpus(mpi: InstalledMpi, out: Path, **environment: str) -> tuple[Done, dict[str, Any]]:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    options = ("--mpi", mpi.mpiexec, "--paths", "host", "--sizes", "8", "--max-time", "0.5")
    done = wirespeed(
        "pingpong", *options, "--between", f"{cpus[0]},{cpus[1]}", out=out, environment=environment
    ).ok()
    (entry,) = done.entries
    return done, entry["cores"]


BURN = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


def stolen(cpu: int) -> float:
    """Seconds for which another virtual machine had the CPU (proc_stat(5), "steal")."""
    lines = Path("/proc/stat").read_text().splitlines()
    (words,) = (line.split() for line in lines if line.startswith(f"cpu{cpu} "))
    return int(words[8]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_another_process_on_a_ranks_cpu(mpi: InstalledMpi, tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    began, before = time.monotonic(), stolen(cpu)
    with subprocess.Popen([sys.executable, "-c", BURN, str(cpu)]) as process:
        try:
            done, cores = on_two_cpus(mpi, tmp_path / "r.jsonl")
        finally:
            process.kill()
    assert cores["waited"] > 0.2
    if cores["by"] is None and (share := (stolen(cpu) - before) / (time.monotonic() - began)) > 0.05:
        pytest.skip(f"another virtual machine had this CPU for {share:.0%} of the time: nobody can tell")
    assert cores["by"] == "others"
    assert "& slowed by other processes: host at 8 B" in done.out


THREAD = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *burn(void *cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(atoi(cpu), &one);
    sched_setaffinity(0, sizeof one, &one);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -10); /* more than others have */
    for (;;) __asm__ volatile("");
    return 0;
}

__attribute__((constructor)) static void start(void) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *cpu = getenv("BURN_CPU");
    char command[4096] = "";
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t length = file ? fread(command, 1, sizeof command - 1, file) : 0;
    for (size_t at = 0; at < length; at++) command[at] = command[at] ? command[at] : ' ';
    pthread_t thread;
    if (rank && cpu && atoi(rank) == 0 && strstr(command, "wirespeed/rank"))
        pthread_create(&thread, 0, burn, (void *)cpu);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_ranks_own_thread_on_its_cpu(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects from a search for other processes: a library's thread was in the rank's way."""
    if why := tools.missing({"cc": "gcc"}):
        pytest.skip(why)
    source, library = tmp_path / "thread.c", tmp_path / "thread.so"
    source.write_text(THREAD)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-pthread", source, "-o", library], check=True)
    cpu = str(min(os.sched_getaffinity(0)))
    done, cores = on_two_cpus(mpi, tmp_path / "r.jsonl", LD_PRELOAD=str(library), BURN_CPU=cpu)
    if cores["by"] == "others" and os.getloadavg()[0] > 4:
        pytest.skip("others use this machine's CPUs more than the thread does")
    assert cores["waited"] > 0.2 and cores["by"] == "threads"
    assert "& slowed by their own threads: host at 8 B" in done.out
