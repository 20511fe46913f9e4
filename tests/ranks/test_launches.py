"""Several launches with real MPIs: paths by turns, lost launches, what --resume completes, refusals."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.command import Measure, Record, disturbed, wirespeed
from support.mpis import InstalledMpi
from support.strikes import ALONE, after, strike

pytestmark = pytest.mark.slow(after=1)

FAST = ("--sizes", "8,64K", "--max-time", "0.02", "--no-evidence")


def turns(entries: list[Record]) -> list[tuple[int, str]]:
    """(launch, path) in the order measured."""
    return list(dict.fromkeys((entry["launch"], entry["path"]) for entry in entries))


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_paths_take_turns_and_each_launch_has_new_ranks(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects figures from a drift that would hit one path alone, and the word launch: new processes."""
    done = measure("pingpong --device emulated --paths host,staged", *FAST, "--launches 3", mpi=mpi).ok()
    assert turns(done.entries) == [(launch, path) for launch in (1, 2, 3) for path in ("host", "staged")]
    assert len({rank["pid"] for step in done.of("step") for rank in step["ranks"]}) == 6
    assert [step["launch"] for step in done.of("step")] == [1, 1, 2, 2, 3, 3]
    assert "3 launches" in done.out and "?" not in done.out
    assert "[launch 2 of 3, step 3 of 6, " in done.err and " so far]" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(("device", "path"), [("cpu", "staged"), ("emulated", "aware")])
def test_a_path_that_cannot_be_measured_is_tried_once(device: str, path: str, measure: Measure) -> None:
    """Protects from the same line twice, and from crashing a library with device pointers in each launch."""
    done = measure(f"pingpong --device {device} --paths host,{path}", *FAST, "--launches 2").ok()
    assert {(failure["path"], failure["what"], failure["launch"]) for failure in done.failures} == {
        (path, "unavailable", 1)
    }
    assert turns(done.entries) == [(1, "host"), (2, "host")]


@pytest.mark.slow
@pytest.mark.usefixtures("quiet_machine")
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_killed_launch_costs_that_launch_only(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the other launches and paths, the name of the lost one, and what --resume brings back."""
    out = tmp_path / "r.jsonl"
    what = ("--paths", "host,rma-host", "--sizes", "8,4M", *ALONE, "--no-evidence", "--launches", "3")
    command = ("pingpong", "--mpi", mpi.mpiexec, *what)
    # Two figures of each path in launch 1, and the first of launch 2.
    done = disturbed(*command, out=out, when=after(5), act=strike(out, 1, signal.SIGKILL))
    assert done.code == 1
    (failure,) = done.failures
    assert (failure["path"], failure["launch"], failure["what"]) == ("host", 2, "death"), failure["text"]
    figures = [(entry["path"], entry["launch"], entry["bytes"]) for entry in done.entries]
    every = {(path, n, size) for path in ("host", "rma-host") for n in (1, 2, 3) for size in (8, 4 << 20)}
    assert every - {*figures} == {("host", 2, 4 << 20)}
    table = " ".join(done.out.split())
    assert ", launch 2 of 3: " in table and "2 launches only: host at 4 MiB" in table

    again = wirespeed(*command, "--resume", out=out).ok()
    assert len(again.entries) == len(done.entries) + 1
    assert (again.entries[-1]["path"], again.entries[-1]["launch"]) == ("host", 2)
    table = " ".join(again.out.split())
    assert "3 launches" in table and "launches only" not in table
    shown = wirespeed("show", out)
    assert "2 launches only" not in shown.out and shown.out.count("3 launches") == again.out.count(
        "3 launches"
    )


@pytest.mark.slow
def test_more_launches_are_added(tmp_path: Path) -> None:
    """Protects what was measured: a file of one launch becomes one of two."""
    out = tmp_path / "r.jsonl"
    assert wirespeed("pingpong", "--paths", "host", *FAST, out=out).code == 0
    more = wirespeed("pingpong", "--paths", "host", *FAST, "--launches", "2", "--resume", out=out).ok()
    assert [entry["launch"] for entry in more.entries] == [1, 1, 2, 2]
    assert "2 launches" in more.out


@pytest.mark.slow
def test_beside_another_pattern_too(measure: Measure) -> None:
    """Protects --with: alone and beside the other pattern, launch by launch."""
    done = measure("pingpong --paths host", *FAST, "--launches 2 --with stream:host:64K").ok()
    assert [entry["launch"] for entry in done.entries] == [1, 1, 2, 2] * 2
    assert done.out.count("2 launches, 20") == 2


@pytest.mark.parametrize(("mpi", "command"), [("openmpi", "ring"), ("mpich", "pingpong")], indirect=["mpi"])
def test_inside_a_launcher_it_is_refused(mpi: InstalledMpi, command: str, measure: Measure) -> None:
    """Protects from one launch that passes for three: that job cannot start processes."""
    done = measure(command, *FAST, "--launches 3", inside=mpi)
    assert done.code == 2
    (line,) = [line for line in done.err.splitlines() if line.startswith("wirespeed: ")]
    assert "--launches 3 starts new processes" in line and "leave it out" in line
    assert not measure.out.exists()
