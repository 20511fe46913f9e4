"""Named ranges: what a profiler's library hears, in which process, and that the timeline says the same."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import leftovers
from support.builds import compiler, once
from support.command import Done, Measure, disturbed, ranks_of, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case

from wirespeed.frontend.job_step import SLOW_LAUNCHER
from wirespeed.host.process import process_state
from wirespeed.job import shm_cleanup
from wirespeed.job.status_page import own_folder

pytestmark = pytest.mark.slow

SUPPORT = Path(__file__).parents[1] / "support"
SHORT = ("--sizes", "8,4K", "--max-time", "0.02", "--device", "cpu")
NAMES = ("librocprofiler-sdk-roctx.so.1", "listener.so")


@pytest.fixture(scope="session")
def listener(builds: Path) -> Path:
    """The folder of a library that writes what it hears, under the names by which it is looked for."""

    def build(folder: Path) -> None:
        folder.mkdir()
        for name in NAMES:
            source = SUPPORT / "range_listener.cpp"
            command = [compiler(), "-std=c++20", "-shared", "-fPIC", "-o", str(folder / name), str(source)]
            subprocess.run(command, check=True)

    return once(builds / "listener", build)


def nested(lines: list[str]) -> list[str]:
    """'path/size/batch' of each range, in the order begun. Every range that was begun has ended."""
    names: list[str] = []
    open_: list[str] = []
    for line in lines:
        if line.startswith("> "):
            open_.append(line[2:])
            names.append("/".join(open_))
        elif line == "<":
            open_.pop()
    assert not open_
    return names


def read_trace(file: Path) -> dict[str, Any]:
    """As a browser does, whose JSON has no NaN and no infinity: Perfetto and Chrome read it in one."""

    def refused(word: str) -> None:
        raise AssertionError(f"no JSON: {word}")

    trace: dict[str, Any] = json.loads(file.read_text(), parse_constant=refused)
    return trace


def in_timeline(file: Path, rank: int) -> list[str]:
    """The same, of a rank in a timeline. No range outlasts the one around it."""
    trace = read_trace(file)
    ranges = [one for one in trace["traceEvents"] if one["ph"] == "X" and one["tid"] == 2 + rank]
    ends: list[tuple[float, str]] = []
    names = []
    for one in sorted(ranges, key=lambda one: (one["ts"], -one["dur"])):
        end = one["ts"] + one["dur"]
        while ends and ends[-1][0] <= one["ts"]:
            ends.pop()
        assert one["ts"] >= 0 and one["dur"] >= 0 and (not ends or end <= ends[-1][0] + 0.001)
        ends.append((end, one["name"]))
        names.append("/".join(name for _, name in ends))
    return names


def by_rank(folder: Path) -> dict[str, list[str]]:
    """What was heard in each process that ranges were told in, by the name it gave its thread."""
    all_lines = [file.read_text().splitlines() for file in folder.glob("heard.*")]
    return {lines[0]: lines[1:] for lines in all_lines}


@pytest.mark.parametrize("way", ["nvtx", "roctx"])
def test_a_profiler_hears_what_the_timeline_shows(
    way: str, listener: Path, measure: Measure, tmp_path: Path
) -> None:
    """Protects names, nesting and ranks of the ranges that profilers show."""
    if way == "nvtx":
        attached = {"NVTX_INJECTION64_PATH": str(listener / "listener.so")}
    else:
        attached = {"ROCP_TOOL_LIBRARIES": "x", "LD_LIBRARY_PATH": str(listener)}
    timeline = tmp_path / "t.json"
    measure(
        *("pingpong --paths host", *SHORT, f"--timeline {timeline}"),
        environment={**attached, "HEARD": str(tmp_path / "heard")},
    ).ok()
    heard = by_rank(tmp_path)
    assert sorted(heard) == ["= rank 0", "= rank 1"]
    for rank in range(2):
        names = nested(heard[f"= rank {rank}"])
        assert names[:3] == ["connect", "introduce", "host"]
        assert {"host/8 B", "host/4 KiB"} <= set(names)
        for phase in ("check", "warm-up", "batch"):
            assert f"host/8 B/{phase}" in names and f"host/4 KiB/{phase}" in names
        # A process's first moments are over when it has found the profiler.
        assert ["start", *names] == in_timeline(timeline, rank)


def test_a_library_is_opened_only_if_a_profiler_is_attached(
    listener: Path, measure: Measure, tmp_path: Path
) -> None:
    """Protects ranks from a library that costs time in every range and that nobody asked for."""
    done = measure(
        "pingpong --paths host",
        *SHORT,
        environment={"LD_LIBRARY_PATH": str(listener), "HEARD": str(tmp_path / "heard")},
    )
    assert done.code == 0 and not by_rank(tmp_path), done.err


def test_ranges_of_programs_are_blocks_of_steps(measure: Measure, tmp_path: Path) -> None:
    """Protects a program's ranges: whole blocks of steps, at most one for each batch."""
    timeline = tmp_path / "t.json"
    done = measure(
        "jacobi --size 48x24 --steps 8 --ranks 2 --paths host", *SHORT[2:], f"--timeline {timeline}"
    ).ok()
    blocks = [one for one in json.loads(timeline.read_text())["traceEvents"] if one.get("cat") == "batch"]
    each = done.entries[0]["program"]["steps_per_iteration"]
    assert blocks
    for one in blocks:
        assert one["name"] == f"{each * one['args']['samples'] * one['args']['iterations']} steps"


@pytest.mark.parametrize("ahead", ["5", "-3.25"])
def test_a_clock_that_is_not_rank_0_s_is_brought_onto_it(
    ahead: str, measure: Measure, tmp_path: Path
) -> None:
    """Protects the timeline of several hosts: rank 1 reads a clock that is seconds off."""
    timeline = tmp_path / "t.json"
    measure("pingpong --paths host", *SHORT, f"--timeline {timeline} --test clock={ahead}").ok()
    trace = json.loads(timeline.read_text())
    own, other = trace["otherData"]["clocks"]
    assert own["uncertainty (s)"] == 0 and 0 < other["uncertainty (s)"] < 1
    assert abs(other["ahead of rank 0 (s)"] - float(ahead)) <= other["uncertainty (s)"]
    # Both ranks are in the path, in each size and in a first batch at the same time.
    for name in ("host", "8 B", "4 KiB", "batch"):
        first = {one["tid"]: one for one in reversed(trace["traceEvents"]) if one["name"] == name}
        begins = [first[tid]["ts"] for tid in (2, 3)]
        ends = [first[tid]["ts"] + first[tid]["dur"] for tid in (2, 3)]
        assert max(begins) < min(ends)


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_inside_a_launcher_rank_0_writes_the_timeline(
    mpi: InstalledMpi, measure: Measure, tmp_path: Path
) -> None:
    """Protects the ranges of all paths of one job, and from a rank that was not given the option."""
    timeline = tmp_path / "t.json"
    done = measure("pingpong --paths host,rma-host", *SHORT, f"--timeline {timeline} --timing", inside=mpi)
    assert done.code == 0 and "where the time went" in done.out, done.err
    for rank in range(2):
        names = in_timeline(timeline, rank)
        assert names[:2] == ["start", "connect"] and "host/8 B/batch" in names
        assert "rma-host/4 KiB/check" in names
    ranges = [one for one in json.loads(timeline.read_text())["traceEvents"] if one["ph"] == "X"]
    assert min(one["ts"] for one in ranges) == 0


@pytest.fixture
def profilers(tmp_path: Path, listener: Path) -> dict[str, str]:
    """Stand-ins of all profilers, first on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("nsys", "rocprofv3", "ncu", "vtune"):
        script = folder / name
        script.write_text(f"#!{sys.executable}\n{(SUPPORT / 'fake_profiler.py').read_text()}")
        script.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "LISTENER": str(listener / "listener.so")}


def profiled(name: str, folder: Path, profilers: dict[str, str], *more: str) -> Done:
    return wirespeed(
        *("pingpong", "--paths", "host,rma-host", *SHORT, "--profile", name, *more),
        out=folder / "r.jsonl",
        environment=profilers,
    )


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("nsys", ".nsys-rep"),
        slow_case("rocprof", "_results.pftrace"),
        slow_case("ncu", ".ncu-rep"),
        slow_case("vtune", ""),
    ],
)
def test_every_rank_runs_under_the_profiler(
    name: str, suffix: str, profilers: dict[str, str], tmp_path: Path
) -> None:
    """Protects the files of --profile: one for each rank and path, from ranks that ended in order."""
    done = profiled(name, tmp_path, profilers)
    assert done.code == 0 and len(done.entries) == 4, done.err
    folder = tmp_path / f"r-{name}"
    assert f"profiles: {folder}, " in done.err
    expected = {f"rank{rank}-{path}{suffix}" for rank in range(2) for path in ("host", "rma-host")}
    assert {file.name for file in folder.iterdir()} == expected
    for rank in range(2):
        report: dict[str, Any] = json.loads((folder / f"rank{rank}-rma-host{suffix}").read_text())
        first, *lines, last = report["heard"]
        assert (report["code"], first, last) == (0, f"= rank {rank}", "end")
        assert "rma-host/8 B/batch" in nested(lines)


def test_a_profiler_has_time_to_write(profilers: dict[str, str], tmp_path: Path) -> None:
    """Protects its files from the end of a job step, which comes soon where a rank has died."""
    longer = SLOW_LAUNCHER + 1
    done = profiled("nsys", tmp_path, {**profilers, "WRITES_FOR": str(longer)}, "--paths", "host")
    assert done.code == 0 and len(done.entries) == 2, done.err
    assert len(list((tmp_path / "r-nsys").glob("*.nsys-rep"))) == 2


def test_each_launch_has_its_profiles(profilers: dict[str, str], tmp_path: Path) -> None:
    """Protects the first launch's files from the second."""
    assert profiled("nsys", tmp_path, profilers, "--launches", "2").code == 0
    names = {file.name for file in (tmp_path / "r-nsys").glob("rank0-*")}
    assert names == {f"rank0-{path}.nsys-rep" for path in ("host", "host-2", "rma-host", "rma-host-2")}


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_inside_a_launcher_the_profiler_goes_before_the_command(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects from ranks that would start a job each."""
    done = measure("pingpong --paths host", *SHORT, "--profile nsys", inside=mpi)
    assert done.code == 2 and "write the profiler before wirespeed" in done.err, done.err


@pytest.mark.parametrize(
    ("number", "mpi"),
    [
        (signal.SIGINT, "openmpi"),
        (signal.SIGKILL, "mpich"),
        slow_case(signal.SIGINT, "mpich"),
        slow_case(signal.SIGKILL, "openmpi"),
    ],
    indirect=["mpi"],
)
def test_a_run_that_is_ended_leaves_no_profiler(
    number: signal.Signals, mpi: InstalledMpi, profilers: dict[str, str], tmp_path: Path
) -> None:
    """Protects the machine from ranks that the front end's end does not reach through the profiler."""
    done = disturbed(
        *("pingpong", "--paths", "host", "--device", "cpu", "--profile", "nsys", "--mpi", str(mpi.mpiexec)),
        *("--sizes", "8,16", "--max-time", "400", "--precision", "0.0001%"),
        out=tmp_path / "r.jsonl",
        when=lambda records: any(record["kind"] == "step" for record in records),
        act=lambda process: process.send_signal(number),
        environment=profilers,
    )
    assert done.code == (130 if number == signal.SIGINT else -9)
    deadline = time.monotonic() + leftovers.PATIENCE
    while any(process_state(pid) not in ("", "Z", "X") for pid in ranks_of(done.records)):
        assert time.monotonic() < deadline, "a rank still runs"
        time.sleep(0.05)
    for folder in own_folder("").glob(f"{done.of('run')[0]['run']}*"):
        shm_cleanup.remove_listed(folder)
        shutil.rmtree(folder)
