"""CPUs whose clock advances in long steps, as an Arm counter of 25 MHz does: 40 ns."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.builds import program
from support.command import Done, Measure

SOURCE = Path(__file__).parents[1] / "support" / "coarse_clock.cpp"
FAST = ("--max-time", "0.05", "--no-evidence")


@pytest.mark.usefixtures("quiet_machine")
@pytest.mark.parametrize("step", [1000, 40, 10000], ids="{} ns".format)
@pytest.mark.parametrize(
    "words",
    [
        ("pairs", "--ranks", "3", "--paths", "host-shared,host-tcp", "--sizes", "8"),
        ("pairs", "--ranks", "3", "--paths", "ipc-write,gpu", "--sizes", "8", "--device", "emulated"),
        ("rma", "--paths", "rma-host", "--operation", "put", "--sizes", "8"),
    ],
    ids=["pairs", "pairs of GPUs", "rma"],
)
def test_ranks_without_a_part_have_no_samples(
    words: tuple[str, ...], step: int, builds: Path, measure: Measure
) -> None:
    """Protects figures from a rank that has nothing to do, and for which the clock stands still."""
    library = program(builds, "coarse_clock.so", "-shared", "-fPIC", SOURCE)
    environment = {"LD_PRELOAD": str(library), "CLOCK_STEP": str(step), "WIRESPEED_EMULATED": "count=3"}
    done: Done = measure(*words, *FAST, environment=environment)
    assert (done.code, done.failures) == (0, []), done.err
    assert done.entries and all(entry["seconds"]["median"] > 0 for entry in done.entries)
