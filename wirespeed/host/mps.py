"""State of NVIDIA's Multi-Process Service, by which processes share a GPU: asked for, never started.

Source: NVIDIA, "Multi-Process Service", https://docs.nvidia.com/deploy/mps/.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

STATES = ("running", "elsewhere", "unseen", "none")
"""A control daemon and the pipe folder that this process would use; a daemon with another folder; a folder
whose daemon cannot be seen, as from inside a container; neither."""
PIPES = "/tmp/nvidia-mps"
"""Pipe folder unless CUDA_MPS_PIPE_DIRECTORY names another one."""
_PROCESSES = ("nvidia-cuda-mps-control", "nvidia-cuda-mps-server")


def state(environment: Mapping[str, str] = os.environ, proc: Path = Path("/proc")) -> str:
    """One of STATES."""
    pipes = (Path(environment.get("CUDA_MPS_PIPE_DIRECTORY") or PIPES) / "control").exists()
    if _any_process(proc):
        return "running" if pipes else "elsewhere"
    return "unseen" if pipes else "none"


def _any_process(proc: Path) -> bool:
    for folder in proc.glob("[0-9]*"):
        # A process may end while it is looked at.
        with suppress(OSError):
            program = (folder / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
            if Path(program).name in _PROCESSES:
                return True
    return False
