"""Parts of the persistent kernel, by its own text on the CPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def play(cxx: str, native: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("play") / "play"
    flags = ["-std=c++20", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover", "-I", str(native)]
    sources = [str(Path(__file__).parent / "play.cpp"), str(native / "kernels/cpu.cpp")]
    subprocess.run([cxx, *flags, *sources, "-lpthread", "-o", str(built)], check=True)
    return built


def test_a_sender_reads_credit_only_when_it_must(play: Path) -> None:
    """Protects the short messages of any program but a pair: the word is on the way of each message else."""
    done = subprocess.run([play, "credit"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ranks_meet_whatever_their_order_of_peers(play: Path) -> None:
    """Protects the start of a launch from a circle of ranks, each of which waits for the next one."""
    done = subprocess.run([play, "meet"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
