"""OpenSHMEM beside MPI in one process: every byte, every place, and MPI as it was before."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from conformance.test_onesided import everything_right, installed, irregular
from support.command import disturbed, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.strikes import PATIENCE, SLOW, after, strike

pytestmark = pytest.mark.slow

FAST = ("--max-time", "0.02")


@pytest.fixture
def debian() -> InstalledMpi:
    """The only one here that brings OpenSHMEM along."""
    mpi = installed("debian")
    if not (mpi.library.parent / "liboshmem.so.40").exists():
        pytest.skip("Debian's Open MPI without liboshmem.so.40")
    return mpi


@pytest.mark.slow(after=1)
def test_every_byte_arrives(debian: InstalledMpi, tmp_path: Path) -> None:
    """Protects puts of every size, and the paths that come after in the same run."""
    done = wirespeed(
        *("pingpong", "--paths", "oshmem", "--mpi", debian.mpiexec),
        *("--sizes", "0,1,7,8,4097,64K,1M,64M", *FAST),
        out=tmp_path / "r.jsonl",
    )
    assert done.code == 0, done.err
    assert [entry["bytes"] for entry in done.entries] == [0, 1, 7, 8, 4097, 1 << 16, 1 << 20, 1 << 26]
    for entry in done.entries:
        assert entry["checked"]["iterations"] >= 1
        assert (
            entry["checked"]["bytes"]
            == (entry["checked"]["iterations"] + entry["checked"]["batches"]) * entry["bytes"]
        )


def test_unaligned_buffers(debian: InstalledMpi, tmp_path: Path) -> None:
    """Protects odd places in the heap."""
    done = wirespeed(
        *("pingpong", "--paths", "oshmem", "--mpi", debian.mpiexec),
        *("--sizes", "1,8,4097,1M", "--loops", "50", "--test", "offset=3"),
        out=tmp_path / "r.jsonl",
    )
    assert done.code == 0, done.err
    assert [entry["details"] for entry in done.entries] == [{"ready_notice": False}] * 4


def test_irregular_patterns(debian: InstalledMpi) -> None:
    """Protects places at the peer, several transfers a step, and in place what must not come early."""
    everything_right(irregular(debian, "oshmem", "", "pageable", "host"))


@pytest.mark.parametrize("fault", ["drop-byte", "drop-iteration", "repeat-iteration"])
def test_a_lie_is_found_out(debian: InstalledMpi, fault: str, tmp_path: Path) -> None:
    """Protects the check on symmetric memory, too: nothing wrong is measured."""
    done = wirespeed(
        *("pingpong", "--paths", "oshmem", "--mpi", debian.mpiexec, *FAST),
        *("--sizes", "1,7,4097,64K", "--test", f"fault={fault}"),
        out=tmp_path / "r.jsonl",
    )
    assert done.code != 0
    assert not done.entries
    assert "wrong data" in done.failures[0]["text"]


@pytest.mark.parametrize(("number", "what"), [(signal.SIGKILL, "death"), slow_case(signal.SIGSTOP, "hang")])
def test_a_rank_that_is_struck(debian: InstalledMpi, number: int, what: str, tmp_path: Path) -> None:
    """Protects the name of the rank that died or hangs, though OpenSHMEM takes over signals."""
    out = tmp_path / "r.jsonl"
    done = disturbed(
        *("pingpong", "--paths", "oshmem,host", "--mpi", debian.mpiexec, *PATIENCE, *SLOW),
        out=out,
        when=after(1),
        act=strike(out, 1, number),
    )
    done.no_stack_trace()
    failure = next(failure for failure in done.failures if failure["path"] == "oshmem")
    assert (failure["what"], failure["rank"]) == (what, 1), failure["text"]
    assert {entry["path"] for entry in done.entries} == {"oshmem", "host"}


def test_mpi_afterwards_in_the_same_process(debian: InstalledMpi, tmp_path: Path) -> None:
    """Protects other paths, and the process's end, from an OpenSHMEM that would end MPI with itself."""
    done = wirespeed(
        *("pingpong", "--paths", "oshmem,host", "--sizes", "8,64K", *FAST),
        out=tmp_path / "r.jsonl",
        before=tuple(debian.command(2)),
        environment=debian.variables,
    )
    assert done.code == 0, done.err
    assert {entry["path"] for entry in done.entries} == {"oshmem", "host"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("openmpi", "this Open MPI was built without OpenSHMEM"),
        ("mpich", "the ranks run under another MPI"),
    ],
)
def test_where_there_is_none(name: str, why: str, tmp_path: Path) -> None:
    """Protects the one line that says why, without loading another MPI's library into the process."""
    done = wirespeed(
        *("pingpong", "--paths", "oshmem", "--sizes", "8", *FAST, "--mpi", installed(name).mpiexec),
        out=tmp_path / "r.jsonl",
    )
    done.no_stack_trace()
    (failure,) = done.failures
    assert failure["what"] == "unavailable" and why in failure["text"], failure
