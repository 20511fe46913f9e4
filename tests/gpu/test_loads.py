"""One load from another GPU's memory, over real GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu.conftest import DEVICE, sharing
from support.command import Done, wirespeed
from support.selection import slow_case

SIZES = {"64K": 1 << 16, "2M": 2 << 20, "256M": 256 << 20}
LOADS = ("rma", "--operation", "load", "--device", DEVICE)


def loads(prefix: Path, out: Path, *words: str) -> Done:
    return wirespeed(*LOADS, "--mpi", prefix, *words, out=out, environment={"WIRESPEED_NO_EVIDENCE": ""})


@pytest.mark.nvidia
def test_a_load_from_each_memory(prefix: Path, tmp_path: Path) -> None:
    """Protects the figure: each end right, the way to the other GPU in it, the first-level cache not."""
    done = loads(prefix, tmp_path / "r.jsonl", "--sizes", ",".join(SIZES))
    assert done.code == 0 and not done.failures, done.err + done.out
    found = {(entry["path"], entry["bytes"]): entry for entry in done.entries}
    assert set(found) == {(path, size) for path in ("gpu-load", "gpu-load-own") for size in SIZES.values()}
    for (path, size), entry in found.items():
        assert entry["checked"]["iterations"] >= min(size // 128, 4096), (path, size)
        # From samples of many loads: a single one would be as long as a step or two of the clock.
        assert entry["iterations_per_sample"] > 1, (path, size)
    for size in SIZES.values():
        assert found["gpu-load", size]["seconds"]["low"] > found["gpu-load-own", size]["seconds"]["high"]
    # 64 KiB lie in the owner's second-level cache, 256 MiB do not.
    small, large = SIZES["64K"], SIZES["256M"]
    for path in ("gpu-load", "gpu-load-own"):
        assert found[path, large]["seconds"]["low"] > found[path, small]["seconds"]["high"], path


@pytest.mark.nvidia
@pytest.mark.slow
def test_the_wire_of_a_load(prefix: Path, tmp_path: Path) -> None:
    """Protects the verdict: where counters can be read, they show that loads cross the wire."""
    done = loads(prefix, tmp_path / "r.jsonl", "--sizes", "2M")
    evidence = done.of("evidence")
    assert [record["path"] for record in evidence] == ["gpu-load"]
    assert evidence[0]["suspicious"] is None, evidence[0]["text"]


@pytest.mark.gpus(1)
@pytest.mark.parametrize("path", ["gpu-load", slow_case("gpu-load-own")])
def test_a_wrong_link_is_found_out(path: str, prefix: Path, tmp_path: Path) -> None:
    words = ("--paths", path, "--sizes", "64K", "--test", "wrong-link=5", *sharing())
    done = loads(prefix, tmp_path / "r.jsonl", *words)
    assert not done.entries
    assert [failure["what"] for failure in done.failures] == ["mismatch"], done.failures
