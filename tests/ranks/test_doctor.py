"""The doctor with real MPIs: one that is not GPU-aware, one that is, and one that hangs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import captured, read, wirespeed
from support.hanging_mpi import hanging_prefix
from support.mpis import InstalledMpi
from support.shim import aware

from wirespeed.job.plan import Plan


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_an_mpi_that_is_not_gpu_aware(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the doctor from the crash that it looks for: pages of emulated GPUs fault when touched."""
    out = tmp_path / "d.jsonl"
    done = wirespeed(
        "doctor", "--device", "emulated", "--mpi", mpi.mpiexec, out=out, environment=mpi.variables
    ).ok()
    (record,) = read(out)
    fact = record["facts"]["mpis"][0]
    assert fact["tried"] in ("crash", "error", "death"), fact
    assert fact["says"] is False, fact
    assert "MPIX_" in fact["says_text"]
    keys = [finding["key"] for finding in record["findings"]]
    assert keys[0] == "mpi-not-aware"
    assert "is not GPU-aware: it " in done.out


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_an_mpi_that_is_gpu_aware(mpi: InstalledMpi, builds: Path, tmp_path: Path) -> None:
    """What counts is what happens: this one says no, and takes device pointers all the same."""
    prefix = aware(builds, mpi)
    done = wirespeed(
        *("doctor", "--device", "emulated", "--mpi", prefix, "--json"), environment=mpi.variables
    ).ok()
    record = json.loads(done.out)
    assert record["facts"]["mpis"][0]["tried"] == "works"
    assert not [finding for finding in record["findings"] if finding["key"].startswith("mpi-")]


def test_an_environment_that_attacks(tmp_path: Path) -> None:
    """Protects `wirespeed doctor --fix | bash`: no line of a variable is a line of the script."""
    attack = {"UCX_TLS": "tcp\ntouch pwned #", "NCCL_PROTO": "`touch pwned`\r\n$(touch pwned)\udcff"}
    done = wirespeed("doctor", "--fix", "--look-only", environment=attack, cwd=tmp_path).ok()
    assert "unset UCX_TLS" in done.out.splitlines()
    ran = captured(["bash"], input=done.out, cwd=tmp_path, ok=True)
    assert (ran.stdout, ran.stderr) == ("", "")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_after_a_hang(mpi: InstalledMpi, tmp_path: Path) -> None:
    """It really hangs once more, and the remedies of the table really reach the ranks and are compared."""
    helps = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi"}
    prefix = hanging_prefix(tmp_path / "mpi", mpi.mpiexec, mpi.library, helps)
    plan = Plan(paths=("host",), sizes=(8,), device="cpu", mpi=str(prefix), timeout=2.0)
    failure = {"kind": "failure", "run": "r", "path": "host", "bytes": 8, "what": "hang", "call": "MPI_Recv"}
    records = ({"kind": "run", "run": "r", "plan": plan.to_dict()}, failure)
    hung = tmp_path / "hung.jsonl"
    hung.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))
    words = ("doctor", "--after-hang", hung, "--try", "--json")
    refused = wirespeed(*words, environment=mpi.variables)
    assert refused.code == 2 and "which is none of this machine's own: give --mpi yourself" in refused.err
    done = wirespeed(*words, "--mpi", prefix, environment=mpi.variables).ok()
    (finding,) = json.loads(done.out)["findings"]
    assert finding["title"] == "host hung in MPI_Recv at 8 B"
    assert "once more as it was: hung: " in finding["evidence"][1]
    assert [option["outcome"] for option in finding["options"]] == ["works", "works"]
    seconds = [option["seconds"] for option in finding["options"]]
    assert seconds == sorted(seconds)
