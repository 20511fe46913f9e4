"""Health of a host around each path: ranks on the GPUs of a fake driver, whose NVML tells of new errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import Done, wirespeed
from support.mpis import InstalledMpi
from support.stand_ins import fake_driver, fake_nvml

from wirespeed.report.facts.markers import meanings

MARKED = re.compile(r"#\d")
SIZES = ("--sizes", "8,64K", "--max-time", "0.02")
# What a host counts has nothing to do with its MPI.
pytestmark = pytest.mark.parametrize("mpi", ["mpich"], indirect=True)


def measure(builds: Path, tmp: Path, mpi: InstalledMpi, paths: str, *options: str, **nvml: str) -> Done:
    """A ping-pong on fake GPUs. `nvml`: what FAKE_NVML_* say (tests/support/fake_nvml.cpp)."""
    environment = {**fake_driver(builds, "cuda"), **fake_nvml(builds), "WIRESPEED_NO_EVIDENCE": ""}
    environment |= {f"FAKE_NVML_{name.upper()}": value for name, value in nvml.items()}
    words = ("pingpong", "--paths", paths, "--device", "cuda", "--mpi", str(mpi.mpiexec), *SIZES, *options)
    done = wirespeed(*words, out=tmp / "r.jsonl", environment=environment)
    assert len(done.entries) == 2 * len(paths.split(",")), done.out + done.err
    return done


@pytest.mark.slow
def test_new_errors_and_throttling_mark_the_figures(builds: Path, tmp_path: Path, mpi: InstalledMpi) -> None:
    """Protects figures from looking sound that were taken while links replayed and a GPU was throttled."""
    done = measure(builds, tmp_path, mpi, "staged", rises="link-0 0:2=12", reasons="5")
    (health,) = done.of("health")
    (error,) = health["errors"]
    assert (error["place"], error["what"], error["count"]) == ("GPU 0 link 2", "NVLink replay errors", 12)
    (held,) = health["throttled"]
    assert (held["place"], held["reason"], held["before"]) == ("GPU 0", "its power cap", True)
    assert health["path"] == "staged" and "NVLink recovery errors" in health["counted"]
    assert health["seconds"] > 0 and health["reading_s"] > 0
    assert [record["kind"] for record in done.records].index("health") > max(
        number for number, record in enumerate(done.records) if record["kind"] == "entry"
    ), "it comes after the figures, so that none is lost by it"
    assert "staged: new NVLink replay errors: 12 on GPU 0 link 2" in done.out
    held_back = "the clocks of GPU 0 were held back by its power cap, when the path began and when it ended"
    assert held_back in " ".join(done.out.split())
    assert len(MARKED.findall(done.out.split("best:")[0])) == 2, "each figure of the table"
    assert meanings("#") in done.out


@pytest.mark.slow
def test_a_healthy_host_is_silent(builds: Path, tmp_path: Path, mpi: InstalledMpi) -> None:
    """Protects the table of a good machine, and what is said of counters that a GPU does not have."""
    lacks = "nvmlDeviceGetTotalEccErrors,nvmlDeviceGetRemappedRows"
    done = measure(builds, tmp_path, mpi, "host,staged", lacks=lacks)
    healths = done.of("health")
    assert [one["path"] for one in healths] == ["host", "staged"]
    for one in healths:
        assert one["errors"] == one["throttled"] == []
        assert "corrected ECC errors: Not Supported" in one["lacks"] and "PCIe replays" in one["counted"]
        assert [clock["after"]["sm"] for clock in one["clocks"]] == [1755, 1755]
    assert not MARKED.findall(done.out)


def test_what_links_correct_is_no_fault(builds: Path, tmp_path: Path, mpi: InstalledMpi) -> None:
    """Protects the mark's worth: lanes of healthy links have errors, and --explain alone tells of them."""
    rises = "link-3 0:2=30,link-4 1:0=5"
    done = measure(builds, tmp_path, mpi, "staged", "--explain", rises=rises)
    (health,) = done.of("health")
    assert [(one["place"], one["count"]) for one in health["corrected"]] == [
        ("GPU 0 link 2", 30),
        ("GPU 1 link 0", 5),
    ]
    assert health["errors"] == [] and not MARKED.findall(done.out)
    assert "staged: links corrected 35 errors by themselves" in done.out


def test_without_evidence_nothing_is_read(builds: Path, tmp_path: Path, mpi: InstalledMpi) -> None:
    """Protects the promise of --no-evidence."""
    done = measure(builds, tmp_path, mpi, "staged", "--no-evidence", rises="link-0 0:2=12")
    assert done.of("health") == [] and not MARKED.findall(done.out)
