"""Rounds with sums by the device between their steps, against a known truth: no step may go uncounted."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import busy
from support.command import Record, wirespeed

SIZE, STEPS = 4 << 20, 6
RATE = 2e8
"""21 ms a copy: the sums between them, which nothing slows down, take a small part of that."""
STEP_S = {"ipc-write": SIZE / RATE, "ipc-read": SIZE / RATE, "staged": SIZE / RATE + SIZE / (2 * RATE)}
"""What the copies of one step take: from GPU to GPU, or to the host and then from the host."""


def ring(path: str, tmp_path: Path, *limits: str) -> Record:
    """The entry of a ring of two ranks, whose emulated GPUs copy at the rates above."""
    done = wirespeed(
        *("ring", "--ranks", "2", "--steps", str(STEPS), "--device", "emulated", "--paths", path),
        *("--sizes", str(SIZE), "--warmup", "0", *limits),
        out=tmp_path / "r.jsonl",
        environment={"WIRESPEED_EMULATED": f"count=2,peer={RATE},d2h={RATE},h2d={2 * RATE}"},
    )
    assert done.code == 0, done.err
    (entry,) = done.entries
    return entry


@pytest.mark.alone
@pytest.mark.parametrize("path", STEP_S)
def test_a_round_takes_all_its_steps(path: str, tmp_path: Path) -> None:
    """Protects a ring's figure from samples that begin too late, end too early or leave steps out."""
    load = busy.Load()
    entry = ring(path, tmp_path, "--max-time", "0.5")
    declared = STEPS * STEP_S[path]
    # A sleep never ends early.
    assert entry["seconds"]["min"] >= declared
    assert entry["iterations_per_sample"] == 1 and entry["samples"] >= 3
    (step,) = entry["derived"]
    assert step["name"] == "a step" and step["median"] == pytest.approx(entry["seconds"]["median"] / STEPS)
    load.claim(entry["seconds"]["median"] <= 1.25 * declared, (declared, entry["seconds"]))


def test_a_sample_of_several_rounds_is_the_time_of_one(tmp_path: Path) -> None:
    """Protects figures of a fixed count: a sample is divided by its rounds, and none of these is left out."""
    loops = 6
    entry = ring("ipc-write", tmp_path, "--loops", str(loops))
    declared = STEPS * STEP_S["ipc-write"]
    assert (entry["iterations"], entry["samples"]) == (loops, 1)
    assert entry["seconds"]["median"] >= declared
    # All rounds lie within the time that the size took, however busy the machine was.
    assert loops * entry["seconds"]["median"] <= entry["elapsed_s"]
