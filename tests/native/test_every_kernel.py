"""The script that GPUs and their sanitizers run launches every kernel that one GPU can run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import every_kernel
from support.command import captured
from support.mpis import InstalledMpi


@pytest.mark.slow
def test_none_is_left_out(mpi: InstalledMpi, cpu_kernels: dict[str, int], tmp_path: Path) -> None:
    """Protects a new kernel from being launched on no GPU, and seen by no sanitizer."""
    file = tmp_path / "launches"
    environment = {**mpi.environment(), "WIRESPEED_EMULATED": f"count=1,threads=64,launches={file}"}
    for part in every_kernel.ONE_GPU:
        script, *words = every_kernel.command("emulated", part, shared=True)
        count = every_kernel.RANKS[part]
        command = mpi.command(count, sys.executable, Path(every_kernel.__file__).with_name(script), *words)
        captured(command, env=environment, timeout=280, ok=True)
    assert {*cpu_kernels} == {*file.read_text().split()}
