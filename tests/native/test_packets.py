"""Payload and flag in the same packet: every length at every alignment, by the kernels' text on the CPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_every_length_at_every_alignment(sanitizer: str, cxx: str, native: Path, tmp_path: Path) -> None:
    """Protects short messages of `gpu`: no byte beside the message is written, no packet read half."""
    built = tmp_path / "packets"
    # The kernels follow payload that packets have carried here: the thread sanitizer sees that order too.
    flags = ["-std=c++20", "-O1", f"-fsanitize={sanitizer}", "-fno-sanitize-recover", "-I", str(native)]
    own = str(Path(__file__).parent / "packets.cpp")
    subprocess.run([cxx, *flags, own, "-lpthread", "-o", str(built)], check=True)
    done = subprocess.run([built], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{41 * 17} messages\n"
