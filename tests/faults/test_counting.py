"""What breaks while bytes are counted costs no figure: all of them are in the file by then."""

from __future__ import annotations

import signal

import pytest
from support.command import Measure, Record
from support.mpis import InstalledMpi
from support.strikes import is_struck, strike


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
