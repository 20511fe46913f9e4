"""One load from another GPU's memory: a thread follows a chain of links, and where they lead is compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Done, Measure, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.stand_ins import fake_driver
from support.tools import need_compiler

from wirespeed.errors import ExitCode

pytestmark = pytest.mark.slow(after=1)

PATHS = ("gpu-load", "gpu-load-own")
LINKS = {1: 2, 1000: 7, 64 << 10: 512, 1 << 20: 8192}
"""Whole lines of 128 bytes, two at least."""


def loads(mpi: InstalledMpi, out: Path, *words: str) -> Done:
    device = ("--device", "emulated", "--mpi", str(mpi.mpiexec), "--max-time", "0.02")
    counted = {"WIRESPEED_NO_EVIDENCE": ""}
    return wirespeed("rma", "--operation", "load", *device, *words, out=out, environment=counted)


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"], indirect=True)
def test_loads_from_both_memories(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the figure: the time of one load, of a chain as long as SIZE, and no bandwidth."""
    sizes = ",".join(map(str, LINKS))
    done = loads(mpi, tmp_path / "r.jsonl", "--sizes", sizes)
    assert done.code == 0 and not done.failures, done.err + done.out
    assert [(entry["path"], entry["bytes"]) for entry in done.entries] == [
        (path, size) for path in PATHS for size in LINKS
    ]
    for entry in done.entries:
        assert entry["details"] == {"links": LINKS[entry["bytes"]]}
        # At least once round before the samples.
        assert entry["checked"]["iterations"] >= min(LINKS[entry["bytes"]], 4096)
        assert entry["checked"]["bytes"] == 8 * entry["checked"]["iterations"]
        assert entry["bandwidth_bytes"] == 0 and entry["bytes_per_second"]["median"] == 0
        # Of one load: all of them lie within the time that the size took.
        # On a machine whose speed changes an interval may reach 0.
        assert entry["iterations"] * entry["seconds"]["low"] <= entry["elapsed_s"]
        assert entry["seconds"]["median"] > 0
    assert "GB/s" not in done.out and " ns" in done.out
    # What stays in the GPU's own memory crosses no wire.
    assert {record["path"] for record in done.of("evidence")} == {"gpu-load"}
    for record in done.of("evidence"):
        assert record["payload_bytes"] == 8 * record["iterations"]


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_sample_of_several_launches(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects --loops beyond the loads of one launch, and those before them: the end is still right."""
    words = ("--paths", "gpu-load", "--sizes", "64K", "--loops", "300001", "--warmup", "200003")
    done = loads(mpi, tmp_path / "r.jsonl", *words).ok()
    (entry,) = done.entries
    assert entry["iterations"] == 300001
    assert 0 < entry["iterations"] * entry["seconds"]["median"] <= entry["elapsed_s"]


@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
@pytest.mark.parametrize("path", [PATHS[0], slow_case(PATHS[1])])
def test_a_wrong_link_is_found_out(mpi: InstalledMpi, path: str, tmp_path: Path) -> None:
    """Protects from a figure of another chain: one link that leaves the next one out is found before it."""
    done = loads(mpi, tmp_path / "r.jsonl", "--paths", path, "--sizes", "64K", "--test", "wrong-link=5")
    assert done.code == 1 and not done.entries
    (failure,) = done.failures
    assert (failure["what"], failure["rank"]) == ("mismatch", 0)
    assert "wrong data: 256 loads lead to link" in failure["text"]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_a_wrong_link_that_timed_loads_come_to_is_found_out(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects chains too long to be followed once round beforehand: the end of timed loads is compared."""
    # A link of the long chain alone, and none that its checked loads come to.
    words = ("--paths", "gpu-load", "--sizes", "64K,4M", "--test", "wrong-link=30000", "--loops", "32768")
    done = loads(mpi, tmp_path / "r.jsonl", *words)
    # Where the CPUs are busy, the figure of 64 KiB may not be believed.
    assert done.code in (1, ExitCode.IMPOSSIBLE)
    assert [entry["bytes"] for entry in done.entries] == [64 << 10]
    (failure,) = done.failures
    assert failure["bytes"] == 4 << 20 and "wrong data: " in failure["text"]
    assert "4096 loads" not in failure["text"]


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["mpich"], indirect=True)
def test_loads_over_a_vendors_driver(mpi: InstalledMpi, builds: Path, measure: Measure) -> None:
    """Protects AMD's GPUs, of which no test has one: memory opened and kernels launched by HIP's calls."""
    done = measure(
        "rma --operation load --device hip --sizes 64K --max-time 0.02",
        mpi=mpi,
        environment=fake_driver(builds, "hip"),
    )
    need_compiler(done.failures)
    # The stand-in's kernels run on this CPU: where that is busy, their ends are seen too late to be believed.
    assert done.code in (0, ExitCode.IMPOSSIBLE), done.err + done.out
    assert [(entry["path"], entry["details"]) for entry in done.entries] == [
        (path, {"links": 512}) for path in PATHS
    ]
