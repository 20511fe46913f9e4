"""Ranks are killed, stopped and cut off, files go away: the culprit is named, and what was measured stays."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import Done, Measure, Record, ranks_of, read, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.strikes import ALONE, PATIENCE, SLOW, after, is_struck, strike, struck, wait_for_turns

from wirespeed.errors import ExitCode
from wirespeed.job import shm_cleanup
from wirespeed.units import format_size

pytestmark = pytest.mark.slow(after=1)


# Each MPI, and each rank twice; tests/hosts has MPICH's rank 0.
@pytest.mark.parametrize(
    ("mpi", "rank", "entries"),
    [("openmpi", 0, 1), ("mpich", 1, 3), ("impi", 1, 1), ("debian", 0, 3)],
    indirect=["mpi"],
)
def test_a_killed_rank(mpi: InstalledMpi, rank: int, entries: int, measure: Measure) -> None:
    """Protects every entry already written, the name of the rank that died, and the other paths.

    All three share their processes: those before keep their figures, those after begin in new processes.
    """
    paths = ("host", "staged", "staged-pipelined")
    words = ("pingpong --device emulated --paths", ",".join(paths), "--sizes 8,4M", *ALONE)
    done = struck(measure, *words, mpi=mpi, rank=rank, number=signal.SIGKILL, figures=entries)
    assert done.code == 1
    path_struck = paths[entries // 2]
    (failure,) = done.failures
    is_struck(failure, signal.SIGKILL, rank)
    assert failure["path"] == path_struck and f"rank {rank} on " in failure["text"]
    for path in paths:
        measured = [entry["bytes"] for entry in done.entries if entry["path"] == path]
        assert measured[:1] == [8] and (path == path_struck or measured == [8, 1 << 22])
    assert done.records[-1]["kind"] == "end"


# MPICH's stopped ranks are in test_peer_faults.py.
@pytest.mark.parametrize("mpi", ["openmpi", *map(slow_case, ("mpich", "impi", "debian"))], indirect=True)
def test_a_stopped_rank(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the end of a hang: the rank, its host, its call and the stacks are in the record."""
    words = ("pingpong --device emulated --paths host,staged", *PATIENCE, *SLOW)
    done = struck(measure, *words, mpi=mpi, number=signal.SIGSTOP)
    assert done.code == 1
    (failure,) = done.failures
    is_struck(failure, signal.SIGSTOP)
    assert "is stopped (SIGSTOP)" in failure["text"]
    stacks = {stack["rank"]: stack for stack in failure["stacks"]}
    assert any("MPI" in line or "libmpi" in line for line in stacks[0]["native"]), stacks[0]
    assert any("path_run.py" in line for line in stacks[0]["python"])
    assert {entry["path"] for entry in done.entries} == {"host", "staged"}


@pytest.mark.slow
def test_after_a_hang_the_next_size_is_tried(measure: Measure) -> None:
    """Protects the larger sizes of a path that hangs at one: they are measured in new processes."""
    words = ("pingpong --paths host --sizes 64,4M,16M,32M --loops 100", *PATIENCE)
    done = struck(measure, *words, number=signal.SIGSTOP, delay=0.0, rounds=2)
    assert done.code == 1
    (failure,) = done.failures
    size = failure["bytes"]
    assert failure["what"] == "hang" and size in (4 << 20, 16 << 20), failure["text"]
    assert f"host hung at {format_size(size)}; " in done.err and " is tried in new processes" in done.err
    measured = {entry["bytes"] for entry in done.entries}
    assert measured == {64, 4 << 20, 16 << 20, 32 << 20} - {size}
    said = " ".join(done.out.split())
    assert "host: one column, 2 launches (the ranks were started anew after a fault)" in said


@pytest.mark.slow
def test_an_iteration_may_last_longer_than_a_hang(tmp_path: Path) -> None:
    """Protects a ring of a thousand steps: an iteration that goes on is no hang, however long it takes."""
    done = wirespeed(
        *("ring", "--device", "emulated", "--paths", "staged", "--sizes", "8", "--steps", "50"),
        *("--loops", "1", "--warmup", "0", "--timeout", "1", "--no-evidence"),
        environment={"WIRESPEED_EMULATED": "work=0.04"},
        out=tmp_path / "r.jsonl",
    ).ok()
    (entry,) = done.entries
    assert entry["seconds"]["median"] > 1.5 and not done.failures


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_a_stopped_launcher(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the ranks from the blame: they go on, and end in vain."""

    def stop(process: subprocess.Popen[str]) -> None:
        (launcher,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(launcher), signal.SIGSTOP)

    words = ("pingpong --paths host", *PATIENCE, *SLOW)
    # A launcher's sockets need a short name.
    with tempfile.TemporaryDirectory(prefix="ws", dir="/tmp") as folder:
        done = measure.disturbed(*words, mpi=mpi, when=after(1), act=stop, environment={"TMPDIR": folder})
        assert not (left := list(Path(folder).rglob("*"))), (left, done.failures)
    (failure,) = done.failures
    assert (failure["what"], failure["rank"]) == ("hang", None), failure["text"]
    assert failure["text"].startswith("the launcher ")
    assert "is stopped (SIGSTOP)" in failure["text"]
    assert done.records[-1]["kind"] == "end"


def test_ctrl_c(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the file and the process table from an impatient user."""

    def interrupt(process: subprocess.Popen[str]) -> None:
        process.send_signal(signal.SIGINT)

    done = measure.disturbed("pingpong", *SLOW, mpi=mpi, when=after(1), act=interrupt)
    assert done.code == 130
    assert done.entries
    assert done.records[-1]["kind"] == "end" and done.records[-1]["status"] == "interrupted"


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, slow_case(signal.SIGTERM)])
def test_a_signal_keeps_the_figures_under_way(mpi: InstalledMpi, measure: Measure, number: int) -> None:
    """Protects minutes of measuring: sizes take turns, so that none is done before all nearly are."""
    sizes = [8 << index for index in range(12)]

    def interrupt(process: subprocess.Popen[str]) -> None:
        wait_for_turns(measure.out, sizes)
        process.send_signal(number)

    def began(records: list[Record]) -> bool:
        return bool(ranks_of(records))

    words = "pingpong --paths host --max-time 60 --sizes 8:16K"
    done = measure.disturbed(words, mpi=mpi, when=began, act=interrupt)
    assert done.code == 130 and done.records[-1]["status"] == "interrupted"
    assert sorted(entry["bytes"] for entry in done.entries) == sizes
    assert all(entry["checked"]["batches"] for entry in done.entries)
    assert "interrupted" in {entry["stopped"] for entry in done.entries}


@pytest.mark.slow
def test_resume_goes_on(tmp_path: Path) -> None:
    """Protects --resume: what is in the file is not measured again."""
    out = tmp_path / "r.jsonl"
    wirespeed("pingpong", "--sizes", "8,64", "--max-time", "0.02", out=out).ok()
    second = wirespeed("pingpong", "--sizes", "8,64,1K", "--max-time", "0.02", "--resume", out=out).ok()
    assert [entry["bytes"] for entry in second.entries] == [8, 64, 1024]
    third = wirespeed("pingpong", "--sizes", "8", "--max-time", "0.02", out=out)
    assert third.code == 4 and "--resume" in third.err


@pytest.mark.parametrize(
    "act", [Path.unlink, slow_case(lambda file: os.truncate(file, 0))], ids=["removed", "emptied"]
)
@pytest.mark.parametrize("launched", [False, True])
def test_a_run_whose_file_is_lost(
    act: Callable[[Path], object], launched: bool, mpi: InstalledMpi, measure: Measure
) -> None:
    """Protects from exit code 0, and from the name of a file that is not there."""

    def lose(_: object) -> None:
        act(measure.out)

    words = ("pingpong --paths host --device cpu", *SLOW)
    started = {"inside": mpi} if launched else {"mpi": mpi}
    done = measure.disturbed(*words, when=after(1), act=lose, **started)
    if launched:
        # A launcher may kill the other ranks: their pages are the next run's to remove.
        time.sleep(2.5)
        shm_cleanup.sweep(2.0)
    lines = [line for line in done.err.splitlines() if line.startswith("wirespeed: ")]
    # A launcher may return a code of its own.
    assert done.code == ExitCode.CANNOT_WRITE or (launched and done.code), done.code
    assert len(lines) == 1, done.err
    found = re.search(r"what was measured is in (\S+):", lines[0])
    assert found and "results: " not in done.err
    records = read(Path(found[1]))
    assert [record["bytes"] for record in records if record["kind"] == "entry"][:2] == [8, 65536]
    assert not [record for record in records if record["kind"] == "failure"]
    assert (records[0]["kind"], records[-1]["kind"], records[-1]["status"]) == ("run", "end", "interrupted")


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_rank_killed_while_bytes_are_counted(mpi: InstalledMpi, measure: Measure) -> None:
    """Protects the figures, the next path, and the reader: the line says that only the counting is lost."""

    def counting(records: list[Record]) -> bool:
        return any(record["kind"] == "wires" for record in records)

    done = measure.disturbed(
        "pingpong --device emulated --paths host,staged --sizes 8,16M,64M --max-time 0.02",
        mpi=mpi,
        when=counting,
        act=strike(measure.out, 1, signal.SIGKILL, delay=0.0),
        environment={"WIRESPEED_NO_EVIDENCE": ""},
    )
    assert done.code == 1
    (failure,) = done.failures
    is_struck(failure, signal.SIGKILL)
    assert failure["text"].startswith("after all figures: rank 1 on ")
    assert len(done.entries) == 6
    assert {one["path"] for one in done.of("evidence")} >= {"staged"}
    assert "after all figures: rank 1" in " ".join(done.out.split())


HOOK = """
import importlib.util, os, signal, sys
from importlib.abc import MetaPathFinder

class Struck(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "wirespeed.rank.path.path_run":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            strike(module)
        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Struck())
"""
AFTER_HOST = """
def strike(module):
    run = module.PathRunner.run
    def struck(self, name, *more):
        run(self, name, *more)
        if name == "host" and self._comm.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    module.PathRunner.run = struck
"""
AT_32_KIB = """
def strike(_):
    module = sys.modules["wirespeed.rank.path.size_run"]
    measure = module.SizeRun.measure
    def struck(self):
        if self._size == 1 << 15 and self._context.comm.rank == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        return (yield from measure(self))
    module.SizeRun.measure = struck
"""


def ran(mpi: InstalledMpi, folder: Path, strike: str, sizes: str, *more: str) -> Done:
    (folder / "sitecustomize.py").write_text(HOOK + strike)
    done = wirespeed(
        *("pingpong", "--mpi", mpi.mpiexec, "--paths", "host,host-shared", "--sizes", sizes),
        *("--max-time", "0.02", *more),
        out=folder / "r.jsonl",
        environment={"PYTHONPATH": str(folder)},
    )
    assert done.code == 1
    return done


def measured(done: Done, path: str) -> list[int]:
    return [entry["bytes"] for entry in done.entries if entry["path"] == path]


@pytest.mark.slow
@pytest.mark.parametrize("evidence", [(), ("--no-evidence",)])
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_death_at_the_end_of_a_path(mpi: InstalledMpi, evidence: tuple[str, ...], tmp_path: Path) -> None:
    """Protects the next path from the blame, and its figures: it begins in new processes."""
    done = ran(mpi, tmp_path, AFTER_HOST, "8,64K", *evidence)
    (failure,) = done.failures
    assert failure["path"] == "host" and failure["text"].startswith("after all figures: rank 1 on ")
    assert measured(done, "host") == measured(done, "host-shared") == [8, 1 << 16]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_size_that_always_crashes(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects smaller sizes that took turns with it: they are measured once more, in new processes."""
    done = ran(mpi, tmp_path, AT_32_KIB, "8,64,512,4K,32K,1M")
    found = [(failure["path"], failure["bytes"]) for failure in done.failures]
    assert found == [("host", 1 << 15), ("host-shared", 1 << 15)]
    assert measured(done, "host") == measured(done, "host-shared") == [8, 64, 512, 4096]
