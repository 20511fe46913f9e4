"""What tests compile, compiled once for all workers of a session."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def compiler() -> str:
    """The C++ compiler; installing wirespeed has taken one."""
    return os.environ.get("CXX") or shutil.which("g++") or "c++"


def once(folder: Path, build: Callable[[Path], object]) -> Path:
    """The folder, filled by `build` unless it was before; another worker waits, and takes what is there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder.with_name(f"{folder.name}.done")
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            build(folder)
            done.touch()
    return folder
