"""Programs of the system that some tests need: where they are, and why a test must do without."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
"""An ordinary user's leaves out where Debian keeps tc, and the daemons of Slurm."""


def missing(tools: Mapping[str, str]) -> str | None:
    """What is not installed, and how to get it; None: all is there. `tools`: program -> Debian's package."""
    absent = {tool: package for tool, package in tools.items() if shutil.which(tool, path=PATH) is None}
    packages = " ".join(dict.fromkeys(absent.values()))
    return f"no {', '.join(absent)} (apt install {packages})" if absent else None


@cache
def why_no_mount() -> str | None:
    """Why a test may not mount a file system of its own; None where it may."""
    if os.geteuid() != 0:
        return "only root mounts file systems"
    if why := missing({"unshare": "util-linux", "mount": "mount"}):
        return why
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"no file system can be mounted here: {done.stderr.strip()}" if done.returncode else None


def llvm_offloading() -> Path | None:
    """A libomptarget of LLVM's whose devices are the CPU; None: there is none (apt install libomp-14-dev).

    LLVM_OFFLOADING in the environment names one. That of LLVM 19 sees no device before a program registers.
    """
    if given := os.environ.get("LLVM_OFFLOADING"):
        return Path(given)
    found = sorted(Path("/usr/lib").glob("llvm-*/lib/libomptarget.so"))
    return next((file for file in found if "llvm-19" not in file.parts), None)


def why_no_gcc_offloading() -> str | None:
    """Why GCC's OpenMP and OpenACC cannot use GPUs; None: they can, where a driver is."""
    try:
        ctypes.CDLL("libgomp.so.1")
        ctypes.CDLL("libgomp-plugin-nvptx.so.1")
    except OSError as error:
        return f"{error} (apt install libgomp-plugin-nvptx1)"
    return None


def need_compiler(said: object) -> None:
    """Skips where nothing can compile a fake driver's kernels, as is said then."""
    if "rtc not found" in str(said):
        pytest.skip("no run-time compiler (pip install nvidia-cuda-nvrtc)")
