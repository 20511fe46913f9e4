"""Programs on real ranks: what the record says, one rank alone, and ranks that end in mid program."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path

import pytest
from support.command import Measure, disturbed, ranks_of, whole_lines, wirespeed
from support.jacobi_reference import noise, relaxed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.shim import aware

pytestmark = pytest.mark.slow(after=1)

SMALL = ("jacobi", "--size", "96x40", "--steps", "8", "--max-time", "0.05")


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_one_rank_and_two(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects efficiency: one rank computes alone, once, and two are compared with it in the same file."""
    done = measure(*SMALL, "--ranks 1,2 --device emulated --paths staged,ipc-write", mpi=mpi).ok()
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == [
        ("compute", 96 * 40 * 4),
        ("staged", 96 * 40 * 4),
        ("ipc-write", 96 * 40 * 4),
    ]
    alone, *others = (entry["program"] for entry in done.entries)
    assert alone["grid"] == [96, 40] and {tuple(one["grid"]) for one in others} == {(192, 40)}
    for entry in done.entries:
        program = entry["program"]
        assert program["steps_per_iteration"] == 4 and program["copied_bytes"] >= 96 * 40 * 4
        assert program["compute"]["median"] > 0 and program["copy"]["median"] > 0
        assert entry["iterations"] * 4 >= 8
        checked = entry["checked"]
        assert checked["conserved"] == ["the sum of u"]
        assert 1 <= checked["batches"] <= checked["of_batches"]
        assert checked["rerun_steps"] % 4 == 0 < checked["rerun_steps"]
        rates = {one["name"]: one["median"] for one in entry["derived"]}
        sites = program["grid"][0] * program["grid"][1] / entry["seconds"]["median"]
        assert rates == pytest.approx({"site updates": sites, "operations": 8 * sites})
    shown = wirespeed("show", measure.out).out
    assert "compu-" in shown and "compute" in shown
    assert all(step["path"] != "compute" or len(step["ranks"]) == 1 for step in done.of("step"))


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        ("jacobi", "batch-stale"),
        ("lbm", "batch-lost"),
        *(slow_case("jacobi", fault) for fault in ("batch-damaged", "batch-lost", "batch-short")),
        *(slow_case("lbm", fault) for fault in ("batch-damaged", "batch-stale", "batch-short")),
    ],
)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
def test_a_fault_of_timed_batches_is_found(
    mpi: InstalledMpi, program: str, fault: str, builds: Path, measure: Measure
) -> None:
    """Protects figures from a lost step, or a late halo, of which checks of single iterations see nothing."""
    paths = ("gpu", "ipc-write", "staged", "aware")
    done = measure(
        program,
        "--size 64x64 --steps 8 --max-time 0.02 --ranks 2 --no-evidence --device emulated --paths",
        *(",".join(paths), "--mpi", aware(builds, mpi), "--test", f"fault={fault}"),
    )
    assert done.code == 1 and not done.entries, done.out + done.err
    assert sorted(failure["path"] for failure in done.failures) == sorted(paths), done.failures
    for failure in done.failures:
        assert failure["what"] == "mismatch"
        assert "is not what a rerun over set-up traffic makes, after a batch of " in failure["text"]


@pytest.mark.slow
def test_overlap_and_its_absence_are_two_runs_of_one_file(tmp_path: Path) -> None:
    """Protects the comparison of both: neither may replace the other's figure."""
    file = tmp_path / "r.jsonl"
    done = wirespeed(*SMALL, "--overlap", "yes,no", "--paths", "host", "--ranks", "2", out=file).ok()
    overlaps = [dict(run["plan"]["options"])["overlap"] for run in done.of("run")]
    assert overlaps == ["yes", "no"] and len(done.entries) == 2


@pytest.mark.slow
def test_cpus_have_smaller_defaults(measure: Measure) -> None:
    """Protects a first try without a GPU from minutes of waiting; what was measured is on record."""
    done = measure("jacobi --ranks 1").ok()
    (entry,) = done.entries
    assert (entry["path"], entry["program"]["grid"]) == ("compute-host", [1024, 1024])
    options = dict(done.of("run")[0]["plan"]["options"])
    assert (options["size"], options["steps"]) == ("1024x1024", 200)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "device"), [("host", "cpu"), slow_case("staged,ipc-write,gpu", "emulated")])
def test_until_the_norm_is_small(path: str, device: str, measure: Measure, tmp_path: Path) -> None:
    """Protects "while not converged": each path ends after the same steps, with numpy's norm."""
    words = ("jacobi", "--size", "32x16", "--columns", "1", "--ranks", "2", "--paths", path)
    quick = ("--device", device, "--max-time", "0.02", "--no-evidence", "--steps", "400", "--until", "1e-3")
    done = measure(*words, *quick).ok()
    found = [entry["program"]["converged"] for entry in done.entries]
    _, norms = relaxed(noise(32, 32, 0, "f4", coarse=1), 400, periodic=True)
    roots = [math.sqrt(total / (32 * 32)) for total in norms]
    # Every fourth norm is looked at, when the field is four steps further.
    steps = next(number + 5 for number, root in enumerate(roots) if root <= 1e-3 and number % 4 == 3)
    assert len(found) == len(path.split(",")) and 16 < steps < 400
    for each in found:
        assert (each["steps"], each["reached"], each["until"]) == (steps, True, 1e-3)
        assert each["norm"] == pytest.approx(roots[steps - 5], rel=1e-4)
        assert 0 < each["seconds"]["low"] <= each["seconds"]["median"] <= each["seconds"]["high"]
    assert f"{path.split(',')[0]} until the norm is 0.001: {steps} steps in" in " ".join(done.out.split())
    short = wirespeed(*words, *quick[:-4], "--steps", "8", "--until", "1e-9", out=tmp_path / "short.jsonl")
    assert "8 steps in" in short.out and "all that --steps allows: not reached" in " ".join(short.out.split())


def test_a_grid_beyond_the_memory(tmp_path: Path) -> None:
    """Protects the machine: nothing is allocated that the memory does not hold."""
    done = wirespeed("jacobi", "--size", "4000000x4000000", "--ranks", "2", "--paths", "host", cwd=tmp_path)
    assert done.code == 2 and done.err.count("\n") == 1, done.err
    assert "and there is free memory for" in done.err


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_rank_that_ends_in_mid_program(mpi: InstalledMpi, number: signal.Signals, tmp_path: Path) -> None:
    """Protects the name of the rank, and the figures of the paths before."""
    out = tmp_path / "r.jsonl"
    done = disturbed(
        *("jacobi", "--size", "64x64", "--ranks", "2", "--device", "emulated", "--paths", "staged"),
        *("--steps", "10000000", "--timeout", "5", "--no-evidence", "--mpi", mpi.mpiexec),
        out=out,
        when=lambda records: any(record["kind"] == "step" for record in records),
        act=lambda process: os.kill(ranks_of(whole_lines(out))[1], number),
    )
    assert done.code == 1
    assert done.failures[0]["what"] == ("death" if number == signal.SIGKILL else "hang")
    assert "rank 1 on " in done.failures[0]["text"]
