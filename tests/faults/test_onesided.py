"""A rank struck in the middle of one-sided transfers is named, and the other paths are measured."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.command import disturbed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.strikes import PATIENCE, SLOW, after, strike


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mpi", "path", "number"),
    [
        ("mpich", "rma-host", signal.SIGKILL),
        slow_case("openmpi", "rma-host-get", signal.SIGSTOP),
        slow_case("impi", "rma-host-get", signal.SIGKILL),
        slow_case("debian", "rma-host", signal.SIGSTOP),
    ],
    indirect=["mpi"],
)
def test_a_rank_that_is_struck(mpi: InstalledMpi, path: str, number: int, tmp_path: Path) -> None:
    """Protects the name of the rank that died or hangs in the middle of puts and gets."""
    out = tmp_path / "r.jsonl"
    done = disturbed(
        *("pingpong", "--mpi", mpi.mpiexec, "--paths", f"{path},host", *PATIENCE, *SLOW),
        out=out,
        when=after(1),
        act=strike(out, 1, number),
    )
    assert done.code == 1
    failure = next(failure for failure in done.failures if failure["path"] == path)
    assert failure["what"] == ("death" if number == signal.SIGKILL else "hang"), failure["text"]
    assert failure["rank"] == 1, failure["text"]
    assert {entry["path"] for entry in done.entries} == {path, "host"}
