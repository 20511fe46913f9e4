"""Ways in which one rank moves a whole list of blocks: each block arrives, and nothing else is touched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import Done, wirespeed
from support.mpis import InstalledMpi
from support.selection import slow_case

CARRIERS = {
    "blocks": "ipc-write,ipc-write-batch,ipc-gather,ipc-read,gpu",
    "offload": "h2d-pinned,h2d-batch,h2d-kernel,d2h-pinned,d2h-batch,d2h-kernel,h2d-pageable,d2d,h2h",
}
FIXED = ("--device", "emulated", "--loops", "2", "--warmup", "0", "--no-evidence")


def measured(pattern: str, mpi: InstalledMpi, out: Path, *words: str) -> Done:
    where = ("--mpi", str(mpi.mpiexec), "--paths", CARRIERS[pattern])
    return wirespeed(pattern, *where, *FIXED, *words, out=out)


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("shape", ["random", slow_case("few multiprocessors"), slow_case("layers")])
@pytest.mark.parametrize("pattern", ["blocks", "offload"])
def test_every_block_arrives(pattern: str, shape: str, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects odd sizes at odd places, pieces of long blocks, and several lists, of each way."""
    words: tuple[str, ...] = ("--count", "70", "--block", "1,13,4097,70000", "--test", "offset=1")
    if shape == "few multiprocessors":
        words += ("--multiprocessors", "2")
    if shape == "layers":
        words = ("--layout", "strided", "--kv", "qwen2.5-7b:tp=4:page=1", "--layers")
    done = measured(pattern, mpi, tmp_path / "r", *words).ok()
    (run,) = done.of("run")
    assert run["plan"]["ranks"] == 2, "one for each GPU"
    paths = CARRIERS[pattern].split(",")
    assert {one["path"] for one in done.entries} == set(paths)
    assert len(done.entries) == len(paths) * (1 if shape == "layers" else 4)
    for entry in done.entries:
        assert entry["checked"]["batches"] == entry["checked"]["of_batches"] == 2
        assert entry["baseline"]["seconds"]["median"] > 0


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("pattern", ["blocks", slow_case("offload")])
def test_planted_faults_are_found(pattern: str, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects the check: a block in the place of another, a byte between blocks, a byte that is lost."""
    faults = {
        "misplaced-block": "of block (0|6) of 7",
        "stray-byte": "outside of all 7 blocks, was changed",
        "drop-byte": "of block [0-6] of 7",
    }
    for fault, said in faults.items():
        words = ("--count", "7", "--block", "13", "--test", f"fault={fault}")
        done = measured(pattern, mpi, tmp_path / fault, *words)
        assert done.code == 1 and not done.entries
        assert {failure["path"] for failure in done.failures} == set(CARRIERS[pattern].split(","))
        assert all(re.search(said, failure["text"]) for failure in done.failures), done.failures


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_a_list_that_changed_is_measured_again(mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects --resume from the figures of other places."""
    file, out = tmp_path / "mine.txt", tmp_path / "r.jsonl"
    words = ("blocks", "--list", file, "--mpi", str(mpi.mpiexec), "--device", "cpu", "--paths", "host")
    for text, count in (("0 0\n4K 8K\n", 1), ("4K 8K # last\n0 0\n", 2), ("4K 8K\n0 0\n", 2)):
        file.write_text(text)
        done = wirespeed(*words, "--loops", "2", "--no-evidence", "--resume", out=out)
        assert done.code == 0 and len(done.entries) == count, done.err
