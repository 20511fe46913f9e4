"""The timed loop: no sample before an iteration's end, and clocks that contradict each other are told."""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def test_the_timed_loop(cxx: str, native: Path, tmp_path: Path) -> None:
    """Protects every figure: stamps are made up, and what the loop makes of them is compared."""
    built = tmp_path / "timed_loop"
    sources = [HERE / "timed_loop.cpp", native / "measure/timed_loop.cpp", native / "measure/clock.cpp"]
    command = [cxx, "-std=c++20", "-I", str(native), *map(str, sources), "-o", str(built)]
    subprocess.run(command, check=True)
    done = subprocess.run([built], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
