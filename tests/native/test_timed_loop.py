"""The timed loop: no sample before an iteration's end, and clocks that contradict each other are told."""

from __future__ import annotations

from pathlib import Path

from support.builds import program
from support.command import captured

HERE = Path(__file__).parent


def test_the_timed_loop(native: Path, builds: Path) -> None:
    """Protects every figure: stamps are made up, and what the loop makes of them is compared."""
    sources = (HERE / "timed_loop.cpp", native / "measure/timed_loop.cpp", native / "measure/clock.cpp")
    built = program(builds, "timed_loop", "-I", native, *sources)
    done = captured([built])
    assert (done.returncode, done.stdout) == (0, "")
