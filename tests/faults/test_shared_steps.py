"""Paths share processes, and sizes take turns: what breaks costs its own path, and larger sizes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Done, wirespeed
from support.mpis import InstalledMpi

pytestmark = pytest.mark.slow(after=1)

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


def run(mpi: InstalledMpi, folder: Path, strike: str, sizes: str, *more: str) -> Done:
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


@pytest.mark.parametrize("evidence", [(), ("--no-evidence",)])
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_death_at_the_end_of_a_path(mpi: InstalledMpi, evidence: tuple[str, ...], tmp_path: Path) -> None:
    """Protects the next path from the blame, and its figures: it begins in new processes."""
    done = run(mpi, tmp_path, AFTER_HOST, "8,64K", *evidence)
    (failure,) = done.failures
    assert failure["path"] == "host" and failure["text"].startswith("after all figures: rank 1 on ")
    assert measured(done, "host") == measured(done, "host-shared") == [8, 1 << 16]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_size_that_always_crashes(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects smaller sizes that took turns with it: they are measured once more, in new processes."""
    done = run(mpi, tmp_path, AT_32_KIB, "8,64,512,4K,32K,1M")
    found = [(failure["path"], failure["bytes"]) for failure in done.failures]
    assert found == [("host", 1 << 15), ("host-shared", 1 << 15)]
    assert measured(done, "host") == measured(done, "host-shared") == [8, 64, 512, 4096]
