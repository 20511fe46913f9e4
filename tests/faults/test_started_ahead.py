"""Ranks that wait for their turn: what becomes of them when they, or those before them, break."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support import leftovers
from support.command import disturbed, whole_lines, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.strikes import after

from wirespeed.job import shm_cleanup
from wirespeed.job.status_page import RankState, own_folder, read_pages

pytestmark = pytest.mark.slow(after=1)

AHEAD = ("--test", "ahead=1", "--test", "apart=1", "--no-evidence")
# Long enough for others to start meanwhile on a busy machine.
LONG = ("--precision", "0.0001%", "--max-time", "1.5")
SIZES = (8, 4 << 20, 128 << 20)
TWO_PATHS = ("pingpong", "--paths", "host,host-shared", "--sizes", "8,4M,128M", *AHEAD)
PATIENCE = 30.0


def waiting(out: Path) -> list[RankState]:
    """The ranks of the second job step, once all of them have met."""
    folder = own_folder(f"{whole_lines(out)[0]['run']}-1")
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        # A rank's second stage says how long it will wait.
        if len(states := [one for one in read_pages(folder) if one.timeout > 86400]) == 2:
            return states
        time.sleep(0.02)
    raise AssertionError("no rank waits for its turn")


def gone(states: list[RankState]) -> bool:
    deadline = time.monotonic() + leftovers.PATIENCE
    while any(Path(f"/proc/{one.pid}").exists() for one in states):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_they_measure_when_their_turn_comes(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the figures: ranks that waited take no time of a CPU, and run on their own CPUs again."""
    out, seen = tmp_path / "r.jsonl", list[RankState]()
    used, masks = list[float](), list[set[str]]()

    def watch(_: subprocess.Popen[str]) -> None:
        seen.extend(waiting(out))
        before = [_cpu_seconds(one.pid) for one in seen]
        time.sleep(0.5)
        used.extend(_cpu_seconds(one.pid) - start for one, start in zip(seen, before, strict=True))
        masks.extend(_masks(one.pid) for one in seen)

    done = disturbed(*TWO_PATHS, "--mpi", mpi.mpiexec, *LONG, out=out, when=after(1), act=watch)
    assert done.code == 0
    assert {(one["path"], one["bytes"]) for one in done.entries} == {
        (path, size) for path in ("host", "host-shared") for size in SIZES
    }
    first, second = done.of("step")
    assert [one["pid"] for one in second["ranks"]] == [one.pid for one in seen]
    assert [one["cpus"] for one in second["ranks"]] == [one["cpus"] for one in first["ranks"]]
    assert masks == [{one["cpus"]} for one in second["ranks"]], "a thread has stayed on other CPUs"
    assert max(used) < 0.25, "a rank that waits is busy"


def _masks(pid: int) -> set[str]:
    """The CPUs of each of a process's threads."""
    return {_mask(file) for file in Path(f"/proc/{pid}/task").glob("*/status")}


def _mask(status: Path) -> str:
    """The CPUs of a thread."""
    return re.search(r"Cpus_allowed_list:\s*(\S+)", status.read_text())[1]  # type: ignore[index]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_one_of_them_dies_before_its_turn(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects its path: it has broken nothing yet, and new processes measure it."""
    out = tmp_path / "r.jsonl"

    def kill(_: subprocess.Popen[str]) -> None:
        os.kill(waiting(out)[1].pid, signal.SIGKILL)

    done = disturbed(*TWO_PATHS, "--mpi", mpi.mpiexec, *LONG, out=out, when=after(1), act=kill)
    assert done.code == 0 and len(done.entries) == 6 and not done.failures


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_the_front_end_ends_before_their_turn(mpi: InstalledMpi, tmp_path: Path, number: int) -> None:
    """Protects the machine from processes that wait for ever."""
    out, seen = tmp_path / "r.jsonl", list[RankState]()

    def end(process: subprocess.Popen[str]) -> None:
        seen.extend(waiting(out))
        process.send_signal(number)

    done = disturbed(*TWO_PATHS, "--mpi", mpi.mpiexec, *LONG, out=out, when=after(1), act=end)
    assert done.code == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert gone(seen)
    folders = list(own_folder("").glob(f"{done.of('run')[0]['run']}-*"))
    # After SIGKILL nobody is left who could tidy up; a later run does.
    assert number == signal.SIGKILL or not folders
    for folder in folders:
        shm_cleanup.remove_listed(folder)
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_death_in_the_first_step_leaves_the_second_alone(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the next path from what ended the one before."""
    out, seen = tmp_path / "r.jsonl", list[RankState]()

    def kill(_: subprocess.Popen[str]) -> None:
        seen.extend(waiting(out))
        first = own_folder(f"{whole_lines(out)[0]['run']}-0")
        os.kill(read_pages(first)[0].pid, signal.SIGKILL)

    done = disturbed(*TWO_PATHS, "--mpi", mpi.mpiexec, *LONG, out=out, when=after(1), act=kill)
    assert done.code == 1 and [one["path"] for one in done.failures] == ["host"]
    assert [one["pid"] for one in done.of("step")[1]["ranks"]] == [one.pid for one in seen]


SEEN = """
import os, sys
if any(word.endswith("/rank") for word in sys.orig_argv):
    ahead = "ahead" if os.environ.get("WIRESPEED_AHEAD") else "first"
    with open("{folder}/" + ahead, "a") as file:
        print(sorted(os.sched_getaffinity(0)), file=file)
"""


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_they_never_start_on_the_cpu_of_a_rank_that_measures(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects figures from an interpreter that starts on the CPU where its launcher would have bound it."""
    (tmp_path / "sitecustomize.py").write_text(SEEN.format(folder=tmp_path))
    done = wirespeed(
        *("pingpong", "--mpi", mpi.mpiexec, "--paths", "host,host-shared", "--sizes", "8,64K", *AHEAD),
        out=tmp_path / "r.jsonl",
        # As by default; where the tests' own environment lets mpiexec oversubscribe, it binds nothing.
        environment={"PYTHONPATH": str(tmp_path), "PRTE_MCA_rmaps_default_mapping_policy": "core"},
    )
    assert done.code == 0
    first, second = done.of("step")
    assert [rank["cpus"] for rank in second["ranks"]] == [rank["cpus"] for rank in first["ranks"]]
    everywhere = os.sched_getaffinity(0)
    bound = [{int(rank["cpus"])} for rank in first["ranks"]]
    free = sorted(everywhere - set().union(*bound) or everywhere)
    assert set((tmp_path / "ahead").read_text().splitlines()) == {str(free)}
    seen = (tmp_path / "first").read_text().splitlines()
    assert {*seen} == {str(sorted(cpus)) for cpus in bound}


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: nothing is free beside a rank's")
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_its_threads_leave_the_cpu_that_is_timed(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects a rank from the threads of its MPI, device and core: those go where nobody measures."""
    out, found = tmp_path / "r.jsonl", list[tuple[str, set[str]]]()

    def watch(_: subprocess.Popen[str]) -> None:
        rank = read_pages(own_folder(f"{whole_lines(out)[0]['run']}-0"))[0].pid
        deadline = time.monotonic() + PATIENCE
        # One that has just begun is where the rank is, until the next size.
        while not found or (found[-1][0] in found[-1][1] and time.monotonic() < deadline):
            with suppress(OSError):
                masks = {task.name: _mask(task / "status") for task in Path(f"/proc/{rank}/task").iterdir()}
                found.append((masks.pop(str(rank)), {*masks.values()}))

    done = disturbed(
        *("jacobi", "--ranks", "1", "--device", "emulated", "--size", "64x64"),
        *("--mpi", mpi.mpiexec, "--no-evidence", *LONG),
        out=out,
        when=lambda records: any(record["kind"] == "step" for record in records),
        act=watch,
        environment={"PRTE_MCA_rmaps_default_mapping_policy": "core"},
    )
    (rank,) = done.of("step")[0]["ranks"]
    own, others = found[-1]
    assert done.code == 0 and own == rank["cpus"] and others and own not in others


REFUSED = """
import os, sys, time
if os.environ.get("WIRESPEED_AHEAD") and any(word.endswith("/rank") for word in sys.orig_argv):
    time.sleep({delay})
    os._exit(1)
"""


@pytest.mark.parametrize("delay", [0, 6])
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_nobody_is_let_in_beside_those_that_measure(mpi: InstalledMpi, tmp_path: Path, delay: float) -> None:
    """Protects GPUs in exclusive mode, which one process may use: the path is measured by new processes.

    They end before their turn, and after it has come.
    """
    (tmp_path / "sitecustomize.py").write_text(REFUSED.format(delay=delay))
    done = wirespeed(
        *("pingpong", "--mpi", mpi.mpiexec, "--paths", "host,host-shared", "--sizes", "8,64K", *AHEAD),
        out=tmp_path / "r.jsonl",
        environment={"PYTHONPATH": str(tmp_path)},
    )
    assert done.code == 0 and len(done.entries) == 4 and not done.failures
