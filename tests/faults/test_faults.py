"""Ranks are killed, stopped and cut off; the culprit is named, and nothing measured is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from support.command import disturbed, ranks_of, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.strikes import ALONE, PATIENCE, SLOW, after, strike, wait_for_turns

from wirespeed.units import format_size

pytestmark = pytest.mark.slow(after=1)


# Each MPI, and each rank twice; tests/hosts has MPICH's rank 0.
@pytest.mark.parametrize(
    ("mpi", "rank", "entries"),
    [("openmpi", 0, 1), ("mpich", 1, 3), ("impi", 1, 1), ("debian", 0, 3)],
    indirect=["mpi"],
)
def test_a_killed_rank(mpi: InstalledMpi, rank: int, entries: int, tmp_path: Path) -> None:
    """Protects every entry already written, the name of the rank that died, and the other paths.

    All three share their processes: those before keep their figures, those after begin in new processes.
    """
    out, paths = tmp_path / "r.jsonl", ("host", "staged", "staged-pipelined")
    done = disturbed(
        "pingpong",
        "--mpi",
        mpi.mpiexec,
        "--device",
        "emulated",
        "--paths",
        ",".join(paths),
        *("--sizes", "8,4M", *ALONE),
        out=out,
        when=after(entries),
        act=strike(out, rank, signal.SIGKILL),
    )
    assert done.code == 1
    struck = paths[entries // 2]
    (failure,) = done.failures
    assert (failure["what"], failure["path"]) == ("death", struck), failure["text"]
    assert failure["rank"] == rank, failure["text"]
    assert f"rank {rank} on " in failure["text"]
    for path in paths:
        measured = [entry["bytes"] for entry in done.entries if entry["path"] == path]
        assert measured[:1] == [8] and (path == struck or measured == [8, 1 << 22])
    assert done.records[-1]["kind"] == "end"


# MPICH's stopped ranks are in test_peer_faults.py.
@pytest.mark.parametrize("mpi", ["openmpi", *map(slow_case, ("mpich", "impi", "debian"))], indirect=True)
def test_a_stopped_rank(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the end of a hang: the rank, its host, its call and the stacks are in the record."""
    out = tmp_path / "r.jsonl"
    done = disturbed(
        "pingpong",
        "--mpi",
        mpi.mpiexec,
        "--device",
        "emulated",
        "--paths",
        "host,staged",
        *PATIENCE,
        *SLOW,
        out=out,
        when=after(1),
        act=strike(out, 1, signal.SIGSTOP),
    )
    assert done.code == 1
    (failure,) = done.failures
    assert failure["what"] == "hang" and failure["rank"] == 1, failure["text"]
    assert "is stopped (SIGSTOP)" in failure["text"]
    stacks = {stack["rank"]: stack for stack in failure["stacks"]}
    assert any("MPI" in line or "libmpi" in line for line in stacks[0]["native"]), stacks[0]
    assert any("path_run.py" in line for line in stacks[0]["python"])
    assert {entry["path"] for entry in done.entries} == {"host", "staged"}


@pytest.mark.slow
def test_after_a_hang_the_next_size_is_tried(tmp_path: Path) -> None:
    """Protects the larger sizes of a path that hangs at one: they are measured in new processes."""
    out = tmp_path / "r.jsonl"
    sizes, act = ("--sizes", "64,4M,16M,32M", "--loops", "100"), strike(out, 1, signal.SIGSTOP, 0.0, rounds=2)
    done = disturbed("pingpong", "--paths", "host", *PATIENCE, *sizes, out=out, when=after(1), act=act)
    assert done.code == 1
    (failure,) = done.failures
    struck = failure["bytes"]
    assert failure["what"] == "hang" and struck in (4 << 20, 16 << 20), failure["text"]
    assert f"host hung at {format_size(struck)}; " in done.err and " is tried in new processes" in done.err
    measured = {entry["bytes"] for entry in done.entries}
    assert measured == {64, 4 << 20, 16 << 20, 32 << 20} - {struck}
    said = " ".join(done.out.split())
    assert "host: one column, 2 launches (the ranks were started anew after a fault)" in said


def test_an_iteration_may_last_longer_than_a_hang(tmp_path: Path) -> None:
    """Protects a ring of a thousand steps: an iteration that goes on is no hang, however long it takes."""
    done = wirespeed(
        *("ring", "--device", "emulated", "--paths", "staged", "--sizes", "8", "--steps", "100"),
        *("--loops", "1", "--warmup", "0", "--timeout", "2", "--no-evidence"),
        environment={"WIRESPEED_EMULATED": "work=0.04"},
        out=tmp_path / "r.jsonl",
    ).ok()
    (entry,) = done.entries
    assert entry["seconds"]["median"] > 2 and not done.failures


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_a_stopped_launcher(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the ranks from the blame: they go on, and end in vain."""

    def stop(process: subprocess.Popen[str]) -> None:
        (launcher,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(launcher), signal.SIGSTOP)

    out = tmp_path / "r.jsonl"
    options = ("--mpi", mpi.mpiexec, "--paths", "host", *PATIENCE, *SLOW)
    # A launcher's sockets need a short name.
    with tempfile.TemporaryDirectory(prefix="ws", dir="/tmp") as folder:
        own = {"TMPDIR": folder}
        done = disturbed("pingpong", *options, out=out, when=after(1), act=stop, environment=own)
        assert not (left := list(Path(folder).rglob("*"))), (left, done.failures)
    (failure,) = done.failures
    assert (failure["what"], failure["rank"]) == ("hang", None), failure["text"]
    assert failure["text"].startswith("the launcher ")
    assert "is stopped (SIGSTOP)" in failure["text"]
    assert done.records[-1]["kind"] == "end"


def test_ctrl_c(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the file and the process table from an impatient user."""
    out = tmp_path / "r.jsonl"
    done = disturbed(
        "pingpong",
        "--mpi",
        mpi.mpiexec,
        *SLOW,
        out=out,
        when=after(1),
        act=lambda process: process.send_signal(signal.SIGINT),
    )
    assert done.code == 130
    assert done.entries
    assert done.records[-1]["kind"] == "end" and done.records[-1]["status"] == "interrupted"


@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, slow_case(signal.SIGTERM)])
def test_a_signal_keeps_the_figures_under_way(mpi: InstalledMpi, tmp_path: Path, number: int) -> None:
    """Protects minutes of measuring: sizes take turns, so that none is done before all nearly are."""
    out, sizes = tmp_path / "r.jsonl", [8 << index for index in range(12)]

    def interrupt(process: subprocess.Popen[str]) -> None:
        wait_for_turns(out, sizes[-1])
        process.send_signal(number)

    options = ("--mpi", mpi.mpiexec, "--paths", "host", "--max-time", "60", "--sizes", "8:16K")
    done = disturbed(
        "pingpong", *options, out=out, when=lambda records: bool(ranks_of(records)), act=interrupt
    )
    assert done.code == 130 and done.records[-1]["status"] == "interrupted"
    assert sorted(entry["bytes"] for entry in done.entries) == sizes
    assert all(entry["checked"]["batches"] for entry in done.entries)
    assert "interrupted" in {entry["stopped"] for entry in done.entries}


def test_resume_goes_on(tmp_path: Path) -> None:
    """Protects --resume: what is in the file is not measured again."""
    out = tmp_path / "r.jsonl"
    wirespeed("pingpong", "--sizes", "8,64", "--max-time", "0.02", out=out).ok()
    second = wirespeed("pingpong", "--sizes", "8,64,1K", "--max-time", "0.02", "--resume", out=out).ok()
    assert [entry["bytes"] for entry in second.entries] == [8, 64, 1024]
    third = wirespeed("pingpong", "--sizes", "8", "--max-time", "0.02", out=out)
    assert third.code == 4 and "--resume" in third.err
