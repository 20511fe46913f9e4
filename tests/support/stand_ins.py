"""Builds stand-ins of vendors' libraries; the environment that makes wirespeed open them."""

from __future__ import annotations

import subprocess
from pathlib import Path

SUPPORT = Path(__file__).parent
NATIVE = SUPPORT.parents[1] / "native"
FAKES = SUPPORT.parent / "native"


def _build(target: Path, *sources: Path) -> None:
    flags = ["-std=c++20", "-O2", "-shared", "-fPIC", "-I", str(NATIVE)]
    command = ["g++", *flags, "-o", str(target), *map(str, sources), "-ldl", "-lrt"]
    subprocess.run(command, check=True, capture_output=True, text=True)


def fake_nccl(folder: Path, name: str = "nccl") -> dict[str, str]:
    """An NCCL (or RCCL) over shared memory; works on emulated GPUs and on those of a fake driver."""
    library = folder / f"lib{name}.so.2"
    _build(library, SUPPORT / "fake_nccl.cpp")
    return {f"WIRESPEED_LIBRARY_{name.upper()}": str(library)}


def fake_driver(folder: Path, kind: str) -> dict[str, str]:
    """A CUDA or HIP driver over host memory, with streams that do nothing until they are looked at."""
    library = folder / f"lib{kind}.so"
    kernels = (NATIVE / "kernels/cpu.cpp", NATIVE / "kernels/kernels.cpp")
    _build(library, FAKES / f"fake_{kind}.cpp", *kernels)
    return {f"WIRESPEED_LIBRARY_{kind.upper()}": str(library)}
