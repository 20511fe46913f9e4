"""What breaks while bytes are counted costs no figure: all of them are in the file by then."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.command import Record, disturbed, ranks_of, whole_lines
from support.mpis import InstalledMpi


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_rank_killed_while_bytes_are_counted(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the figures, the next path, and the reader: the line says that only the counting is lost."""
    out = tmp_path / "r.jsonl"

    def counting(records: list[Record]) -> bool:
        return any(record["kind"] == "wires" for record in records)

    def strike(process: subprocess.Popen[str]) -> None:
        os.kill(ranks_of(whole_lines(out))[1], signal.SIGKILL)

    done = disturbed(
        *("pingpong", "--mpi", mpi.mpiexec, "--device", "emulated", "--paths", "host,staged"),
        *("--sizes", "8,16M,64M", "--max-time", "0.02"),
        out=out,
        when=counting,
        act=strike,
        environment={"WIRESPEED_NO_EVIDENCE": ""},
    )
    assert done.code == 1
    (failure,) = done.failures
    assert failure["what"] == "death" and failure["rank"] == 1
    assert failure["text"].startswith("after all figures: rank 1 on ")
    assert len(done.entries) == 6
    assert {one["path"] for one in done.of("evidence")} >= {"staged"}
    assert "after all figures: rank 1" in " ".join(done.out.split())
