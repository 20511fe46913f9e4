"""Rounds with sums by the device between their steps, against a known truth: no step may go uncounted.

A sleep never ends early, and all rounds lie within the time that their size took: both hold on any machine.
"""

from __future__ import annotations

import pytest
from support.command import Measure, Record

SIZE, STEPS = 1 << 20, 6
RATE = 5e7
"""21 ms a copy: the sums between them, which nothing slows down, take a small part of that."""
STEP_S = {"ipc-write": SIZE / RATE, "ipc-read": SIZE / RATE, "staged": SIZE / RATE + SIZE / (2 * RATE)}
"""What the copies of one step take: from GPU to GPU, or to the host and then from the host."""


def ring(measure: Measure, *limits: str) -> dict[str, Record]:
    """The entries of a ring of two ranks, by path, whose emulated GPUs copy at the rates above."""
    done = measure(
        *(f"ring --ranks 2 --steps {STEPS} --device emulated --paths", ",".join(STEP_S)),
        *(f"--sizes {SIZE} --warmup 0", *limits),
        environment={"WIRESPEED_EMULATED": f"count=2,peer={RATE},d2h={RATE},h2d={2 * RATE}"},
    ).ok()
    assert len(done.entries) == len(STEP_S)
    return {entry["path"]: entry for entry in done.entries}


def test_a_round_takes_all_its_steps(measure: Measure) -> None:
    """Protects a ring's figure from samples that begin too late, end too early or leave steps out."""
    for path, entry in ring(measure, "--max-time", "1").items():
        assert entry["seconds"]["min"] >= STEPS * STEP_S[path]
        assert entry["iterations_per_sample"] == 1 and entry["samples"] >= 3
        assert entry["samples"] * entry["seconds"]["mean"] <= entry["elapsed_s"]
        (step,) = entry["derived"]
        assert step["name"] == "a step"
        assert step["median"] == pytest.approx(entry["seconds"]["median"] / STEPS)


@pytest.mark.slow
def test_a_sample_of_several_rounds_is_the_time_of_one(measure: Measure) -> None:
    """Protects figures of a fixed count: a sample is divided by its rounds, and none of these is left out."""
    loops = 6
    for path, entry in ring(measure, "--loops", str(loops)).items():
        assert (entry["iterations"], entry["samples"]) == (loops, 1)
        assert entry["seconds"]["median"] >= STEPS * STEP_S[path]
        assert loops * entry["seconds"]["median"] <= entry["elapsed_s"]
